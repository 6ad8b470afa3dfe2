// SPDX-License-Identifier: Apache-2.0
/// \file
/// The header of a gguf file: its metadata, which tensors it holds and where. Part of the import step. Main source:
/// ggml's `docs/gguf.md`, versions 2 and 3.
#ifndef LIB_IMPORT_GGUF_H
#define LIB_IMPORT_GGUF_H

#include "lib/Import/TensorType.h"
#include "lib/Support/Files.h"
#include "lib/Support/Json.h"

#include <vector>

namespace moec {

/// Where a tensor's elements stand: row-major, little-endian. The shape has the slowest dimension first, as everywhere
/// here; the file has it the other way round.
struct GgufTensor {
  std::string name;
  TensorType type; // isWeightType
  std::vector<uint64_t> shape;
  uint64_t offsetBytes; // from the start of the file
  uint64_t sizeBytes;
};

/// One gguf file with a checked header. The data are not read.
class GgufFile {
public:
  /// Reads and checks the header; `name` stands in messages.
  ///
  /// Memory: the metadata, at most a multiple of kMaxGgufElements.
  /// Errors: no gguf file, another version, big-endian; a truncated file (bytes found and needed); a count, a length,
  ///         an alignment, a type or a dimension out of its limits; a key or tensor twice; tensors that overlap, lie
  ///         outside or are not in whole blocks; a tensor of a type that is not read, with the types that are.
  static llvm::Expected<GgufFile> open(llvm::StringRef path, llvm::StringRef name);

  const RandomAccessFile &file() const { return data; }
  /// All keys in the order of the file: an object of numbers, booleans, texts and arrays of them.
  const Json &metadata() const { return keys; }
  /// In the order of their offsets.
  const std::vector<GgufTensor> &tensors() const { return tensorList; }

private:
  GgufFile(RandomAccessFile file, Json keys, std::vector<GgufTensor> tensors)
      : data(std::move(file)), keys(std::move(keys)), tensorList(std::move(tensors)) {}

  RandomAccessFile data;
  Json keys;
  std::vector<GgufTensor> tensorList;
};

/// Several times what published models have: they catch damaged files before anything is allocated.
constexpr uint64_t kMaxGgufKeys = 1 << 14;
constexpr uint64_t kMaxGgufTensors = 1 << 20;
constexpr uint64_t kMaxGgufElements = 1 << 22; // of all arrays
constexpr uint64_t kMaxGgufTextBytes = 1 << 24;
constexpr uint64_t kMaxGgufNameBytes = 1 << 10;

} // namespace moec
#endif
