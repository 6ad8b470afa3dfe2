// SPDX-License-Identifier: Apache-2.0
/// \file
/// The safetensors files of a random checkpoint, as bytes that can be asked for: which file holds which tensor, its
/// header, and its content in pieces. Whether they are written or only hashed, they are the same files.
/// Main source: docs/synthetic-models.md; the format section of the safetensors README.
#ifndef LIB_SYNTH_RANDOMCHECKPOINT_H
#define LIB_SYNTH_RANDOMCHECKPOINT_H

#include "lib/Support/Hash.h"
#include "lib/Synth/RandomTensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace moec {

/// A shard holds at most this many bytes of tensors, or one tensor that is larger.
inline constexpr uint64_t kDefaultShardBytes = 4'000'000'000;
/// Many times what any published model has; headers and index stay within what readers accept.
inline constexpr size_t kMaxRandomTensors = 200'000;

/// Several times what any published model has: catches damaged configs before hours are spent on them.
inline constexpr uint64_t kMaxRandomBytes = uint64_t(1) << 43;

struct RandomCheckpointTensor {
  std::string name;
  std::vector<uint64_t> shape; ///< one to three dimensions
  uint32_t file = 0;
  uint64_t offsetBytes = 0; ///< from the start of the file
  uint64_t sizeBytes = 0;

  RandomTensor values(const RandomKind &kind) const;
};

struct RandomCheckpointFile {
  std::string name; ///< model.safetensors or model-00001-of-00016.safetensors
  size_t firstTensor = 0, endTensor = 0;
  uint64_t headerBytes = 0; ///< where the tensors begin
  uint64_t sizeBytes = 0;
};

/// Threads: everything is const and re-entrant once planned.
class RandomCheckpoint {
public:
  /// Gives every tensor its place; files are filled in the order of `tensors`.
  /// Errors: no tensors or more than kMaxRandomTensors, a shape of other than one to three dimensions or with a 0, more
  ///         than kMaxRandomBytes bytes, more than 99999 files.
  static llvm::Expected<RandomCheckpoint> plan(RandomKind kind, RandomType type, uint64_t shardBytes,
                                               std::vector<RandomCheckpointTensor> tensors);

  const RandomKind &kind() const { return kindOfAll; }
  RandomType type() const { return valueType; }
  llvm::ArrayRef<RandomCheckpointFile> files() const { return fileList; }
  llvm::ArrayRef<RandomCheckpointTensor> tensors() const { return tensorList; }
  /// Of all files without the index.
  uint64_t totalBytes() const;
  /// model.safetensors.index.json; empty with one file.
  std::string indexJson() const;

  /// Hands the bytes of a file to `sink`, from start to end, in pieces of at most 1 MiB and one for the header.
  llvm::Error stream(size_t file, llvm::function_ref<llvm::Error(llvm::ArrayRef<uint8_t>)> sink) const;
  /// XXH3-128 of every file, on up to `numThreads` threads (0: all cores). Cost: about a second for each 10^9 values
  /// and thread.
  std::vector<Digest128> hashes(unsigned numThreads) const;

private:
  RandomCheckpoint(RandomKind kind, RandomType type) : kindOfAll(kind), valueType(type) {}
  std::string header(const RandomCheckpointFile &file) const;

  RandomKind kindOfAll;
  RandomType valueType;
  std::vector<RandomCheckpointTensor> tensorList;
  std::vector<RandomCheckpointFile> fileList;
};

} // namespace moec

#endif
