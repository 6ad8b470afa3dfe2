// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a pack says about its tensors: the text table that stands behind the directory.
/// Main source: docs/pack-format.md ("Tensor table").
#ifndef LIB_PACK_TENSORTABLE_H
#define LIB_PACK_TENSORTABLE_H

#include "lib/Quant/Encoding.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace moec {

/// How a tensor's values lie in its record.
enum class TensorStorage : uint8_t {
  Matrix, ///< in row tiles of the layout family
  Raw,    ///< f32, row-major: vectors and generated tables
  Rows    ///< a row table
};

struct TensorEntry {
  std::string name;
  TensorStorage storage = TensorStorage::Raw;
  Encoding encoding;
  int64_t rows = 0, cols = 0;
  uint32_t record = 0;
  uint64_t offset = 0; ///< in its record, bytes
};

/// Bytes of the line behind the table: "checksum ", 16 digits, newline. XXH3-64 of the table's lines and the part
/// table.
inline constexpr uint64_t kTableChecksumBytes = 26;
std::string writeTableChecksum(llvm::StringRef tensorTable, llvm::ArrayRef<uint8_t> partTable);

/// One line a tensor: name, storage (matrix, raw, rows), encoding, rows, columns, record, offset in the record. Bytes
/// of the name that are no printable ASCII, and '%', are written as %XX.
std::string writeTensorTable(llvm::ArrayRef<TensorEntry> tensors);
/// `text` is without the checksum line. Errors: a line that is not of that form, with its number; `file` stands in
/// front.
llvm::Expected<std::vector<TensorEntry>> parseTensorTable(llvm::StringRef text, llvm::StringRef file);

} // namespace moec

#endif
