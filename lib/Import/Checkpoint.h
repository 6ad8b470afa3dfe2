// SPDX-License-Identifier: Apache-2.0
/// \file
/// A checked Hugging Face checkpoint folder: config, sampling defaults, and where every tensor stands. No weights are
/// read. Part of the import step.
#ifndef LIB_IMPORT_CHECKPOINT_H
#define LIB_IMPORT_CHECKPOINT_H

#include "lib/Import/GenerationConfig.h"
#include "lib/Import/ModelConfig.h"
#include "lib/Import/TensorTable.h"
#include "lib/Support/Hash.h"

namespace moec {

/// A file of the checkpoint.
struct CheckpointFile {
  std::string name; // inside the folder
  std::string path;
  uint64_t sizeBytes;
};

/// Threads: `fileHash` remembers what it computed and belongs to one thread; the rest is read only.
class Checkpoint {
public:
  /// Opens and checks everything but the values of the weights and the tokenizer.
  ///
  /// Errors: see CheckpointFolder.h, ModelConfig.h, GenerationConfig.h, Safetensors.h, TensorTable.h; a missing shard;
  ///         an index that contradicts its shards; a tensor in two shards; no tokenizer.json.
  static llvm::Expected<Checkpoint> open(llvm::StringRef folder);

  const std::string &folder() const { return root; }
  const Qwen3MoeConfig &config() const { return modelConfig; }
  const GenerationConfig &generation() const { return generationConfig; }
  std::string tokenizerPath() const { return pathOf("tokenizer.json"); }

  /// config.json, generation_config.json (if there), tokenizer.json, the index (if used), then the weight files.
  llvm::ArrayRef<CheckpointFile> files() const { return fileList; }
  /// XXH3-128 of a file; computed at the first call.
  llvm::Expected<Digest128> fileHash(uint32_t fileIndex) const;

  /// All tensors, sorted by name.
  llvm::ArrayRef<CheckpointTensor> tensors() const { return tensorList; }
  const CheckpointTensor *find(llvm::StringRef name) const { return findTensor(tensorList, name); }

private:
  explicit Checkpoint(llvm::StringRef folder) : root(folder.str()) {}

  std::string pathOf(llvm::StringRef name) const;
  llvm::Expected<uint32_t> addFile(llvm::StringRef name);
  llvm::Expected<Json> readJson(llvm::StringRef name);
  llvm::Error readConfigs(llvm::ArrayRef<std::string> names);
  llvm::Error readWeights(llvm::ArrayRef<std::string> names);
  llvm::Error addWeightFile(llvm::StringRef name);
  llvm::Error readShards(llvm::ArrayRef<std::string> names);
  llvm::Error sortTensors();

  std::string root;
  Qwen3MoeConfig modelConfig;
  GenerationConfig generationConfig;
  std::vector<CheckpointFile> fileList;
  mutable std::vector<std::optional<Digest128>> hashes;
  std::vector<CheckpointTensor> tensorList;
};

} // namespace moec
#endif
