// SPDX-License-Identifier: Apache-2.0
/// \file
/// The address function of the layout families and the reading of rows.
#include "lib/Pack/Layout.h"

#include "lib/Quant/Quantize.h"

#include "llvm/Support/Endian.h"

#include <cassert>
#include <cinttypes>

using llvm::support::endian::read16le;

namespace moec {

llvm::Expected<Layout> Layout::create(LayoutFamily family, int64_t rows, int64_t cols, Encoding encoding,
                                      llvm::StringRef what) {
  if (llvm::Error error = checkEncoding(encoding, cols, what))
    return std::move(error);
  // 16 padding rows and 4 bytes a value keep the products of such shapes below 2^62.
  constexpr int64_t kMaxValues = int64_t(1) << 56;
  if (rows <= 0 || rows > kMaxValues || cols > kMaxValues / (rows + 16))
    return llvm::createStringError("'%s' has shape %" PRId64 " x %" PRId64 ", expected between 1 and 2^56 values",
                                   what.str().c_str(), rows, cols);
  return Layout(family, rows, cols, encoding);
}

int64_t Layout::rowTile() const {
  if (!rowEncoding.isInteger())
    return numRows == 1 ? 1 : 16;
  return isArm64() ? 8 : 16;
}

int64_t Layout::codeBytes() const { return rowTile() * columnsOfBlock() * rowEncoding.bits() / 8; }

int64_t Layout::blockBytes() const {
  int64_t scales = rowEncoding.isInteger() ? rowTile() * 2 : 0;
  return codeBytes() + scales * (rowEncoding.minimum ? 2 : 1);
}

int64_t Layout::tileBytes() const { return blockBytes() * (numCols / columnsOfBlock()); }

int Layout::codeBias(int64_t row) const {
  bool isLowHalf = rowEncoding.bits() == 4 && row % rowTile() < 4;
  return rowEncoding.isInteger() && (!isArm64() || isLowHalf) ? 1 << (rowEncoding.bits() - 1) : 0;
}

CodeLocation Layout::locate(int64_t row, int64_t k) const {
  assert(row >= 0 && row < numRowTiles() * rowTile() && k >= 0 && k < numCols && "outside of the matrix");
  int64_t tile = row / rowTile(), r = row % rowTile();
  int64_t block = tile * tileBytes() + k / columnsOfBlock() * blockBytes();
  if (!rowEncoding.isInteger())
    return {block + r * (rowEncoding.bits() / 8), 0, 0, 0};
  // Each 32 columns stand by themselves: units of 8 columns (arm64) or 4 (x86), a vector for each unit and row pair
  // (arm64) or unit (x86).
  int64_t slice = block + k % rowEncoding.group / 32 * rowTile() * 4 * rowEncoding.bits(), j = k % 32;
  if (isArm64() && rowEncoding.bits() == 4) // two rows share a byte
    return {slice + (r % 4 / 2 * 4 + j / 8) * 16 + r % 2 * 8 + j % 8, int(r / 4) * 4, 0, 0};
  int64_t unitColumns = isArm64() ? 8 : 4, unit = j / unitColumns, vector = isArm64() ? 16 : 64;
  int64_t perUnit = rowTile() * unitColumns; // bytes of a unit in 8 bits
  int64_t inUnit = isArm64() ? r / 2 * vector + r % 2 * 8 + j % 8 : r * 4 + j % 4;
  if (rowEncoding.bits() == 8)
    return {slice + unit * perUnit + inUnit, 0, 0, 0};
  CodeLocation at{slice + unit / 2 * perUnit + inUnit, int(unit % 2) * 4, 0, 0};
  if (rowEncoding.bits() == 6) {
    at.highOffset = slice + rowTile() * 16 + unit / 4 * perUnit + inUnit;
    at.highShift = int(unit % 4) * 2;
  }
  return at;
}

int64_t Layout::scaleOffset(int64_t row, int64_t group) const {
  assert(rowEncoding.isInteger() && group >= 0 && group < numGroups() && "only integer encodings have scales");
  int64_t tile = row / rowTile();
  return tile * tileBytes() + group * blockBytes() + codeBytes() + row % rowTile() * 2;
}

int64_t Layout::minimumOffset(int64_t row, int64_t group) const {
  assert(rowEncoding.minimum && "the encoding has no minima");
  return scaleOffset(row, group) + rowTile() * 2;
}

void Layout::unpackRow(llvm::ArrayRef<uint8_t> bytes, int64_t row, llvm::MutableArrayRef<int8_t> codes,
                       llvm::MutableArrayRef<uint16_t> scales) const {
  assert(rowEncoding.isInteger() && "floats have no codes");
  assert(int64_t(codes.size()) == numCols && int64_t(scales.size()) == rowEncoding.numScales(numCols) &&
         "wrong buffers");
  int bias = codeBias(row), bits = rowEncoding.bits(), sign = 1 << (bits - 1);
  for (int64_t k = 0; k < numCols; ++k) {
    CodeLocation at = locate(row, k);
    int stored = bits == 8 ? bytes[at.byteOffset] : bytes[at.byteOffset] >> at.shift & 0xf;
    if (bits == 6)
      stored |= (bytes[at.highOffset] >> at.highShift & 3) << 4;
    codes[k] = static_cast<int8_t>(bias ? stored - bias : (stored ^ sign) - sign);
  }
  for (int64_t g = 0; g < numGroups(); ++g) {
    scales[g] = read16le(bytes.data() + scaleOffset(row, g));
    if (rowEncoding.minimum)
      scales[numGroups() + g] = read16le(bytes.data() + minimumOffset(row, g));
  }
}

void Layout::unpackRow(llvm::ArrayRef<uint8_t> bytes, int64_t row, llvm::MutableArrayRef<float> values) const {
  assert(!rowEncoding.isInteger() && int64_t(values.size()) == numCols && "wrong buffer");
  for (int64_t k = 0; k < numCols; ++k)
    values[k] = unpackFloat(bytes.data() + locate(row, k).byteOffset, rowEncoding);
}

} // namespace moec
