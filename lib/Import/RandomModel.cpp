// SPDX-License-Identifier: Apache-2.0
/// \file
/// A checkpoint from its config alone: the files that `moec synth` would write, generated when they are read.
#include "lib/Import/Checkpoint.h"

#include "lib/Import/GgufModel.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Synth/ByteTokenizer.h"

#include "llvm/ADT/STLExtras.h"

using llvm::Error;
using llvm::Expected;

namespace moec {

Error Checkpoint::parseConfigs(const RandomModel &model) {
  bool isGguf = !model.keys.empty();
  std::string generationName = isGguf ? model.configName : kGenerationFile;
  Error error = setConfig(model.configName, parseJson(model.config, model.configName));
  if (!error && !model.generation.empty())
    error = setGeneration(parseJson(model.generation, generationName), generationName);
  return error && isGguf ? inGgufTerms(std::move(error), model.configName, model.keys) : std::move(error);
}

Error Checkpoint::addTokenizer(const RandomModel &model) {
  if (model.tokenizer.empty()) {
    Expected<std::string> text = byteTokenizerJson(modelConfig.vocabSize);
    if (!text)
      return fault(model.configName + ": " + llvm::toString(text.takeError()));
    fileList.push_back({"tokenizer.json", "tokenizer.json", text->size(), kByteTokenizerKind});
    hashes.push_back(hash128(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(text->data()), text->size())));
    return Error::success();
  }
  Expected<RandomAccessFile> file = RandomAccessFile::open(model.tokenizer);
  if (!file)
    return file.takeError();
  fileList.push_back({"tokenizer.json", model.tokenizer, file->sizeBytes(), ""});
  hashes.emplace_back();
  return Error::success();
}

void Checkpoint::addRandomFiles(const RandomModel &model) {
  uint32_t firstFile = static_cast<uint32_t>(fileList.size());
  std::string kind = randomKind(randomFiles->kind());
  for (const RandomCheckpointFile &file : randomFiles->files()) {
    fileList.push_back({file.name, kind + "/" + file.name, file.sizeBytes, kind});
    hashes.push_back(model.isHashed ? std::nullopt : std::optional(Digest128()));
  }
  TensorType type = model.type == RandomType::F32   ? TensorType::F32
                    : model.type == RandomType::F16 ? TensorType::F16
                                                    : TensorType::BF16;
  for (const RandomCheckpointTensor &tensor : randomFiles->tensors())
    tensorList.push_back(
        {tensor.name, type, tensor.shape, firstFile + tensor.file, tensor.offsetBytes, tensor.sizeBytes});
  llvm::sort(tensorList, [](const CheckpointTensor &a, const CheckpointTensor &b) { return a.name < b.name; });
  hashThreads = model.numThreads;
}

void Checkpoint::hashRandomFiles() const {
  std::vector<Digest128> digests = randomFiles->hashes(hashThreads);
  auto next = digests.begin();
  for (auto [file, hash] : llvm::zip_equal(fileList, hashes))
    if (parseRandomKind(file.kind))
      hash = *next++;
}

Expected<Checkpoint> Checkpoint::random(const RandomModel &model) {
  Checkpoint checkpoint(model.name);
  if (Error error = checkpoint.parseConfigs(model))
    return std::move(error);
  if (Error error = checkpoint.addTokenizer(model))
    return std::move(error);
  RandomKind kind(model.seed, checkpoint.modelConfig.isZeroCentred);
  if (model.zipfThousandths) {
    if (checkpoint.modelConfig.numExperts == 0)
      return fault(model.configName + " has no experts, so --routing " + zipfText(*model.zipfThousandths) +
                   " has no meaning; leave it out");
    kind.routing = {*model.zipfThousandths, static_cast<uint32_t>(checkpoint.modelConfig.topK)};
  }
  std::vector<RandomCheckpointTensor> tensors;
  if (Error error = forEachExpectedTensor(
          checkpoint.modelConfig, [&](llvm::StringRef name, llvm::ArrayRef<uint64_t> shape) -> Error {
            if (tensors.size() == kMaxRandomTensors)
              return fault(model.configName + " describes more than " + llvm::Twine(kMaxRandomTensors) + " tensors");
            tensors.push_back({name.str(), shape.vec(), 0, 0, 0});
            return Error::success();
          }))
    return std::move(error);
  Expected<RandomCheckpoint> planned = RandomCheckpoint::plan(kind, model.type, model.shardBytes, std::move(tensors));
  if (!planned)
    return fault(model.configName + ": " + llvm::toString(planned.takeError()));
  checkpoint.randomFiles = std::make_shared<const RandomCheckpoint>(std::move(*planned));
  checkpoint.addRandomFiles(model);
  return std::move(checkpoint);
}

} // namespace moec
