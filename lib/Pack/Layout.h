// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where each value of a stored weight matrix lies. The one definition for the pack writer, the kernel generators, the
/// interpreter and `moe-pack`. Main source: docs/pack-format.md ("Layout families").
#ifndef LIB_PACK_LAYOUT_H
#define LIB_PACK_LAYOUT_H

#include "lib/Quant/Encoding.h"
#include "lib/Target/Isa.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace moec {

/// Place of one value: its first byte. Of i4 and i6 the low 4 bits lie there from bit `shift` on (0 or 4); of i6 the
/// high 2 bits lie in byte `highOffset` from bit `highShift` on (0, 2, 4 or 6).
struct CodeLocation {
  int64_t byteOffset = 0;
  int shift = 0;
  int64_t highOffset = 0;
  int highShift = 0;
};

/// The stored form of a matrix [rows, cols] in one encoding and family. A value type; all functions are const and
/// cheap. Rows are padded to whole row tiles with zeros (code 0, scale 0). Tiles lie one behind the other, so that a
/// range of tiles is a range of bytes.
class Layout {
public:
  /// Errors: what `checkEncoding` refuses, no rows, or a size beyond 2^62 bytes; `what` names the tensor.
  static llvm::Expected<Layout> create(LayoutFamily family, int64_t rows, int64_t cols, Encoding encoding,
                                       llvm::StringRef what);

  LayoutFamily family() const { return layoutFamily; }
  int64_t rows() const { return numRows; }
  int64_t cols() const { return numCols; }
  const Encoding &encoding() const { return rowEncoding; }

  /// Rows of a tile: 16 for floats and for the x86 family, 8 for integers of the arm64 family, 1 for a single row of
  /// floats, such as the gate of a shared expert.
  int64_t rowTile() const;
  int64_t numRowTiles() const { return (numRows + rowTile() - 1) / rowTile(); }
  int64_t numGroups() const { return rowEncoding.numGroups(numCols); }
  /// Bytes of one block: the codes of (row tile, group), and behind them the scales, then the minima. For floats: bytes
  /// of one column of a row tile.
  int64_t blockBytes() const;
  /// Bytes of the codes or floats of a block.
  int64_t codeBytes() const;
  /// Bytes of one row tile.
  int64_t tileBytes() const;
  /// Bytes of the matrix, rows padded.
  int64_t totalBytes() const { return numRowTiles() * tileBytes(); }

  /// What is added to a code of `row` to store it: 128 (i8), 32 (i6) or 8 (i4) in the x86 family, whose instructions
  /// take unsigned bytes; 8 for i4 in the low halves of bytes of the arm64 family (rows 0 .. 3 of a tile); 0 elsewhere.
  /// The integer product is sum(stored * x) - codeBias(row) * sum(x).
  int codeBias(int64_t row = 0) const;

  /// Shapes: row < padded rows, k < cols.
  CodeLocation locate(int64_t row, int64_t k) const;
  /// First byte of the f16 scale of (row, group). Integer encodings only.
  int64_t scaleOffset(int64_t row, int64_t group) const;
  /// The same of the minimum; encodings with minima only.
  int64_t minimumOffset(int64_t row, int64_t group) const;

  /// Reads one row of a whole stored matrix `bytes` [totalBytes()]: `codes` [cols], `scales`
  /// [encoding().numScales(cols)].
  void unpackRow(llvm::ArrayRef<uint8_t> bytes, int64_t row, llvm::MutableArrayRef<int8_t> codes,
                 llvm::MutableArrayRef<uint16_t> scales) const;
  /// The same for floats: `values` [cols].
  void unpackRow(llvm::ArrayRef<uint8_t> bytes, int64_t row, llvm::MutableArrayRef<float> values) const;

private:
  Layout(LayoutFamily family, int64_t rows, int64_t cols, Encoding encoding)
      : layoutFamily(family), numRows(rows), numCols(cols), rowEncoding(encoding) {}

  bool isArm64() const { return layoutFamily == LayoutFamily::Arm64; }
  /// Columns of a block: a group, or one column of floats.
  int64_t columnsOfBlock() const { return rowEncoding.isInteger() ? rowEncoding.group : 1; }

  LayoutFamily layoutFamily;
  int64_t numRows, numCols;
  Encoding rowEncoding;
};

} // namespace moec

#endif
