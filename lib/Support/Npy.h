// SPDX-License-Identifier: Apache-2.0
/// \file
/// NumPy's .npy files: writing of float32 matrices row by row, reading of small arrays. Main source: the format
/// description in NumPy's `numpy/lib/format.py`, versions 1 to 3.
#ifndef LIB_SUPPORT_NPY_H
#define LIB_SUPPORT_NPY_H

#include "lib/Support/Files.h"

#include <optional>

namespace moec {

/// Writes a float32 matrix [rows, columns] of known width, one row after the other. The file appears at `close`, with
/// the number of rows in its header; destroyed before, it leaves nothing.
class NpyWriter {
public:
  static llvm::Expected<NpyWriter> create(llvm::StringRef path, uint64_t numColumns);

  /// Error: `row` has another width; a write error.
  llvm::Error writeRow(llvm::ArrayRef<float> row);
  llvm::Error close();
  uint64_t numRows() const { return rows; }

private:
  NpyWriter(OutputFile file, uint64_t numColumns) : file(std::move(file)), columns(numColumns) {}

  OutputFile file;
  uint64_t columns;
  uint64_t rows = 0;
};

enum class NpyType { Float32, Float16, UInt8 };

/// An array in row-major order; every type is converted to float32, which is exact.
struct NpyArray {
  NpyType type;
  std::vector<uint64_t> shape;
  std::vector<float> values;
};

/// Reads a little-endian float32, float16 or uint8 array of 1 to 3 dimensions.
///
/// Errors: another type, order or number of dimensions; a header that is no .npy header; a size that is not the one
///         of the shape; the message has the path.
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);

} // namespace moec
#endif
