// SPDX-License-Identifier: Apache-2.0
/// \file
/// A checked Hugging Face checkpoint folder or gguf file: config, sampling defaults, and where every tensor stands. No
/// weights are read. Part of the import step.
#ifndef LIB_IMPORT_CHECKPOINT_H
#define LIB_IMPORT_CHECKPOINT_H

#include "lib/Import/GenerationConfig.h"
#include "lib/Import/ModelConfig.h"
#include "lib/Import/TensorTable.h"
#include "lib/Support/Hash.h"
#include "lib/Synth/RandomCheckpoint.h"

#include <memory>

namespace moec {

/// A file of the checkpoint.
struct CheckpointFile {
  std::string name; // inside the folder
  std::string path;
  uint64_t sizeBytes;
  std::string kind; // empty: a file; else what generates it: "random:7" (weights), "bytes" (tokenizer)
};

/// What `Checkpoint::random` makes of a config.
struct RandomModel {
  std::string name;       // stands for the folder's name
  std::string config;     // text of config.json
  std::string configName; // stands in messages
  std::string generation; // text of generation_config.json; empty: none
  std::string tokenizer;  // path of tokenizer.json; empty: the generated tokenizer of bytes
  uint64_t seed = 0;
  std::optional<uint32_t> zipfThousandths; // absent: plain weights; see Routing
  RandomType type = RandomType::BF16;
  uint64_t shardBytes = kDefaultShardBytes;
  unsigned numThreads = 0; // of hashing; 0: all cores
  /// Of a gguf file: what messages call a field, and what the file calls it (GgufModel.h).
  std::vector<std::pair<std::string, std::string>> keys;
  bool isHashed = true; // false: the hashes are zero, for plans that are not compiled
};

/// Threads: `fileHash` remembers what it computed and belongs to one thread; the rest is read only.
class Checkpoint {
public:
  /// Opens and checks everything but the values of the weights and the tokenizer. `folder` may be a gguf file.
  ///
  /// Errors: see CheckpointFolder.h, ModelConfig.h, GenerationConfig.h, Safetensors.h, TensorTable.h; a missing shard;
  ///         an index that contradicts its shards; a tensor in two shards; no tokenizer.json; with `isStrict` the first
  ///         of the warnings.
  static llvm::Expected<Checkpoint> open(llvm::StringRef folder, bool isStrict = false);

  /// The checkpoint that `moec synth` would write, without files: its weights are generated when they are read.
  ///
  /// Errors: the config or the generation config is refused; a vocabulary below 256 without a tokenizer; sizes beyond
  ///         kMaxRandomBytes or kMaxRandomTensors.
  static llvm::Expected<Checkpoint> random(const RandomModel &model);

  const std::string &folder() const { return root; }
  const ModelConfig &config() const { return modelConfig; }
  const GenerationConfig &generation() const { return generationConfig; }
  /// The generated weight files; null for a checkpoint of files.
  const RandomCheckpoint *generated() const { return randomFiles.get(); }
  /// What is odd, and what was made of it; each continues "warning: ".
  llvm::ArrayRef<std::string> warnings() const { return warningList; }
  /// What is there and not read, as it should be.
  llvm::ArrayRef<std::string> notes() const { return noteList; }

  /// config.json, generation_config.json (if there), tokenizer.json, the index (if used), then the weight files.
  llvm::ArrayRef<CheckpointFile> files() const { return fileList; }
  /// XXH3-128 of a file; computed at the first call, for all generated files at once.
  llvm::Expected<Digest128> fileHash(uint32_t fileIndex) const;

  /// All tensors, sorted by name.
  llvm::ArrayRef<CheckpointTensor> tensors() const { return tensorList; }
  const CheckpointTensor *find(llvm::StringRef name) const { return findTensor(tensorList, name); }

private:
  static constexpr const char *kGenerationFile = "generation_config.json";

  explicit Checkpoint(llvm::StringRef folder) : root(folder.str()) {}

  static llvm::Expected<Checkpoint> openGguf(llvm::StringRef path, bool isStrict);
  std::string pathOf(llvm::StringRef name) const;
  llvm::Expected<uint32_t> addFile(llvm::StringRef name);
  llvm::Expected<Json> readJson(llvm::StringRef name);
  llvm::Error setConfig(llvm::StringRef name, llvm::Expected<Json> json);
  llvm::Error setGeneration(llvm::Expected<Json> json, llvm::StringRef name = kGenerationFile);
  llvm::Error readConfigs(llvm::ArrayRef<std::string> names);
  llvm::Error parseConfigs(const RandomModel &model);
  llvm::Error addTokenizer(const RandomModel &model);
  void addRandomFiles(const RandomModel &model);
  void hashRandomFiles() const;
  llvm::Error readWeights(llvm::ArrayRef<std::string> names);
  llvm::Error addWeightFile(llvm::StringRef name);
  llvm::Error readShards(llvm::ArrayRef<std::string> names);
  llvm::Error sortTensors();
  llvm::Error resolveTiedHead();
  /// The last checks of every kind of checkpoint: tensors against config, and warnings with `isStrict`.
  llvm::Error checkAll(bool isStrict);
  llvm::Expected<bool> haveSameBytes(const CheckpointTensor &a, const CheckpointTensor &b) const;

  std::string root;
  ModelConfig modelConfig;
  GenerationConfig generationConfig;
  std::vector<CheckpointFile> fileList;
  mutable std::vector<std::optional<Digest128>> hashes;
  std::shared_ptr<const RandomCheckpoint> randomFiles;
  unsigned hashThreads = 0;
  std::vector<CheckpointTensor> tensorList;
  std::vector<std::string> warningList, noteList;
};

} // namespace moec
#endif
