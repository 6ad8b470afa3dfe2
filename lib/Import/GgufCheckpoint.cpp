// SPDX-License-Identifier: Apache-2.0
/// \file
/// A checkpoint that is one gguf file.
#include "lib/Import/Checkpoint.h"

#include "lib/Import/GgufModel.h"
#include "lib/Import/GgufTokenizer.h"

#include "llvm/Support/Path.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace moec {

Expected<Checkpoint> Checkpoint::openGguf(StringRef path, bool isStrict) {
  std::string name = llvm::sys::path::filename(path).str();
  Expected<GgufFile> file = GgufFile::open(path, name);
  if (!file)
    return file.takeError();
  Expected<GgufModel> model = translateGguf(*file, name);
  if (!model)
    return model.takeError();
  // The name of the model is the last part of this.
  Checkpoint checkpoint(path.ends_with_insensitive(".gguf") ? path.drop_back(5) : path);
  // The same bytes are the weights and the tokenizer (GgufTokenizer.h).
  for (StringRef use : {StringRef(name), StringRef("tokenizer.json")}) {
    checkpoint.fileList.push_back({use.str(), path.str(), file->file().sizeBytes(), ""});
    checkpoint.hashes.emplace_back();
  }
  if (Error error = checkpoint.setConfig(name, std::move(model->config)))
    return inGgufTerms(std::move(error), name, model->keys);
  if (Error error = checkpoint.setGeneration(std::move(model->generation), name))
    return inGgufTerms(std::move(error), name, model->keys);
  checkpoint.tensorList = std::move(model->tensors);
  checkpoint.warningList = std::move(model->warnings);
  if (Error error = checkpoint.sortTensors())
    return std::move(error);
  if (Error error = checkpoint.checkAll(isStrict))
    return inGgufTerms(std::move(error), name, model->keys);
  // The link step builds the tokenizer; an error of it is found here, before anything is packed.
  auto parts = ggufTokenizerParts(*file, name, static_cast<uint32_t>(checkpoint.modelConfig.vocabSize));
  if (!parts)
    return parts.takeError();
  if (Expected<TokenizerModel> tokenizer = makeTokenizerModel(*parts); !tokenizer)
    return tokenizer.takeError();
  return std::move(checkpoint);
}

} // namespace moec
