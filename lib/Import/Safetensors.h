// SPDX-License-Identifier: Apache-2.0
/// \file
/// The header of a safetensors file: which tensors it holds and where. Part of the import step. Main source: the format
/// section of the safetensors README.
#ifndef LIB_IMPORT_SAFETENSORS_H
#define LIB_IMPORT_SAFETENSORS_H

#include "lib/Import/TensorType.h"
#include "lib/Support/Files.h"

#include <vector>

namespace moec {

/// Where a tensor's elements stand in its file: row-major, little-endian, without gaps.
struct SafetensorsEntry {
  std::string name;
  TensorType type;
  std::vector<uint64_t> shape;
  uint64_t offsetBytes; // from the start of the file
  uint64_t sizeBytes;
};

/// One safetensors file with a checked header. The data are not read.
class SafetensorsFile {
public:
  /// Reads and checks the header; `name` stands in messages.
  ///
  /// Errors: a Git LFS pointer; a truncated file (bytes found and needed); a header that is too long, no JSON, or has
  ///         an unknown type, a shape that contradicts its offsets, overlaps, gaps, a name twice, bytes behind the end.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path, llvm::StringRef name);

  const RandomAccessFile &file() const { return data; }
  /// In the order of their offsets.
  const std::vector<SafetensorsEntry> &entries() const { return tensors; }

private:
  SafetensorsFile(RandomAccessFile file, std::vector<SafetensorsEntry> entries)
      : data(std::move(file)), tensors(std::move(entries)) {}

  RandomAccessFile data;
  std::vector<SafetensorsEntry> tensors;
};

/// An error if the file is what Git leaves in place of a file kept in LFS: it names `name` and the real size.
llvm::Error refuseLfsPointer(const RandomAccessFile &file, llvm::StringRef name);

/// The largest header that is read, as in the reference implementation.
constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

} // namespace moec
#endif
