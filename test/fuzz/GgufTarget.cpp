// SPDX-License-Identifier: Apache-2.0
/// \file
/// The gguf reader on arbitrary files: header, translation, and the values of its weights.
#include "test/fuzz/Targets.h"

#include "lib/Import/GgufModel.h"
#include "lib/Import/GgufTokenizer.h"
#include "lib/Import/WeightReader.h"

namespace moec::fuzz {

/// As many tokens as the seeds have.
static constexpr uint32_t kVocabSize = 320;

void fuzzGguf(Bytes input) {
  llvm::StringRef content(reinterpret_cast<const char *>(input.data()), input.size());
  std::string path = writeScratch("model.gguf", content);
  llvm::Expected<GgufFile> file = GgufFile::open(path, "model.gguf");
  if (!file)
    return expectMessage(file.takeError());
  uint64_t end = 0;
  for (const GgufTensor &tensor : file->tensors()) {
    expect(tensor.offsetBytes >= end && tensor.sizeBytes <= input.size() &&
               tensor.offsetBytes <= input.size() - tensor.sizeBytes,
           "a tensor lies outside of its file or in another tensor");
    end = tensor.offsetBytes + tensor.sizeBytes;
    if (tensor.shape.size() != 2 || tensor.sizeBytes == 0)
      continue;
    uint64_t rows = tensor.shape[0], columns = tensor.shape[1];
    std::vector<float> row(columns);
    WeightSource source{&file->file(), tensor.type, tensor.offsetBytes, rows, columns};
    expect(!readWeightRows(source, rows - 1, 1, row), "the last row of a weight cannot be read");
  }
  if (llvm::Expected<TokenizerParts> parts = ggufTokenizerParts(*file, "model.gguf", kVocabSize); !parts)
    expectMessage(parts.takeError());
  else if (llvm::Expected<TokenizerModel> tokenizer = makeTokenizerModel(*parts); !tokenizer)
    expectMessage(tokenizer.takeError());
  else if (auto blob = writeTokenizerBlob(*tokenizer); !blob)
    expectMessage(blob.takeError());
  llvm::Expected<GgufModel> model = translateGguf(*file, "model.gguf");
  if (!model)
    return expectMessage(model.takeError());
  auto config = parseModelConfig(JsonCursor("model.gguf", model->config));
  if (!config)
    expectMessage(config.takeError());
}

} // namespace moec::fuzz
