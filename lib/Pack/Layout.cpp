// SPDX-License-Identifier: Apache-2.0
/// \file
/// The address function of the layout families and the packing of row tiles.
#include "lib/Pack/Layout.h"

#include "llvm/Support/Endian.h"

#include <algorithm>
#include <cassert>
#include <cinttypes>
#include <cstring>

using llvm::support::endian::read16le;
using llvm::support::endian::write16le;

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

int64_t Layout::rowTile() const { return rowEncoding.isInteger() && isArm64() ? 8 : 16; }

int64_t Layout::blockBytes() const {
  if (!rowEncoding.isInteger())
    return rowTile() * 4;
  return rowTile() * rowEncoding.group * rowEncoding.bits() / 8 + rowTile() * 2;
}

int64_t Layout::tileBytes() const { return blockBytes() * (rowEncoding.isInteger() ? numGroups() : numCols); }

int Layout::codeBias() const {
  if (!rowEncoding.isInteger() || isArm64())
    return 0;
  return rowEncoding.kind == EncodingKind::i8 ? 128 : 8;
}

CodeLocation Layout::locate(int64_t row, int64_t k) const {
  assert(row >= 0 && row < numRowTiles() * rowTile() && k >= 0 && k < numCols && "outside of the matrix");
  int64_t tile = row / rowTile(), r = row % rowTile();
  if (!rowEncoding.isInteger())
    return {tile * tileBytes() + k * 64 + r * 4, 0};
  int64_t block = tile * tileBytes() + k / rowEncoding.group * blockBytes(), j = k % rowEncoding.group;
  bool isI4 = rowEncoding.kind == EncodingKind::i4;
  if (isArm64()) {
    int64_t chunk = j / 8, pair = r / 2, inPair = r % 2 * 8 + j % 8;
    return isI4 ? CodeLocation{block + (chunk / 2 * 4 + pair) * 16 + inPair, int(chunk % 2)}
                : CodeLocation{block + (chunk * 4 + pair) * 16 + inPair, 0};
  }
  int64_t word = j / 4, inWord = r * 4 + j % 4;
  return isI4 ? CodeLocation{block + word / 2 * 64 + inWord, int(word % 2)}
              : CodeLocation{block + word * 64 + inWord, 0};
}

int64_t Layout::scaleOffset(int64_t row, int64_t group) const {
  assert(rowEncoding.isInteger() && group >= 0 && group < numGroups() && "only integer encodings have scales");
  int64_t tile = row / rowTile();
  return tile * tileBytes() + (group + 1) * blockBytes() - rowTile() * 2 + row % rowTile() * 2;
}

int64_t Layout::rowsInTile(int64_t tile) const { return std::min(rowTile(), numRows - tile * rowTile()); }

void Layout::packTile(int64_t tile, llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales,
                      llvm::MutableArrayRef<uint8_t> out) const {
  int64_t numGiven = rowsInTile(tile), groups = numGroups();
  assert(rowEncoding.isInteger() && int64_t(out.size()) == tileBytes() && "wrong buffer");
  assert(int64_t(codes.size()) == numGiven * numCols && int64_t(scales.size()) == numGiven * groups && "wrong rows");
  int bias = codeBias();
  bool isI4 = rowEncoding.kind == EncodingKind::i4;
  // In tile 0 offsets are relative to the tile. Runs of consecutive k lie in consecutive bytes: 8 on arm64, 4 on x86.
  int64_t run = isArm64() ? 8 : 4;
  std::memset(out.data(), 0, out.size());
  for (int64_t r = 0; r < rowTile(); ++r) {
    bool isPadding = r >= numGiven;
    for (int64_t k = 0; k < numCols; k += run) {
      CodeLocation at = locate(r, k);
      const int8_t *source = isPadding ? nullptr : codes.data() + r * numCols + k;
      for (int64_t i = 0; i < run; ++i) {
        int stored = (source ? source[i] : 0) + bias;
        out[at.byteOffset + i] |= isI4 ? (stored & 0xf) << (4 * at.nibble) : stored & 0xff;
      }
    }
    for (int64_t g = 0; g < groups && !isPadding; ++g)
      write16le(out.data() + scaleOffset(r, g), scales[r * groups + g]);
  }
}

void Layout::packTile(int64_t tile, llvm::ArrayRef<float> values, llvm::MutableArrayRef<uint8_t> out) const {
  int64_t numGiven = rowsInTile(tile);
  assert(!rowEncoding.isInteger() && int64_t(out.size()) == tileBytes() && "wrong buffer");
  assert(int64_t(values.size()) == numGiven * numCols && "wrong rows");
  std::memset(out.data(), 0, out.size());
  for (int64_t k = 0; k < numCols; ++k)
    for (int64_t r = 0; r < numGiven; ++r)
      std::memcpy(out.data() + k * 64 + r * 4, &values[r * numCols + k], 4);
}

void Layout::unpackRow(llvm::ArrayRef<uint8_t> bytes, int64_t row, llvm::MutableArrayRef<int8_t> codes,
                       llvm::MutableArrayRef<uint16_t> scales) const {
  assert(rowEncoding.isInteger() && "f32 has no codes");
  assert(int64_t(codes.size()) == numCols && int64_t(scales.size()) == numGroups() && "wrong buffers");
  int bias = codeBias();
  for (int64_t k = 0; k < numCols; ++k) {
    CodeLocation at = locate(row, k);
    int stored = bytes[at.byteOffset];
    if (rowEncoding.kind == EncodingKind::i4) {
      stored = stored >> (4 * at.nibble) & 0xf;
      codes[k] = static_cast<int8_t>(bias ? stored - bias : (stored ^ 8) - 8);
    } else {
      codes[k] = static_cast<int8_t>(bias ? stored - bias : static_cast<int8_t>(stored));
    }
  }
  for (int64_t g = 0; g < numGroups(); ++g)
    scales[g] = read16le(bytes.data() + scaleOffset(row, g));
}

void Layout::unpackRow(llvm::ArrayRef<uint8_t> bytes, int64_t row, llvm::MutableArrayRef<float> values) const {
  assert(!rowEncoding.isInteger() && int64_t(values.size()) == numCols && "wrong buffer");
  for (int64_t k = 0; k < numCols; ++k)
    std::memcpy(&values[k], bytes.data() + locate(row, k).byteOffset, 4);
}

} // namespace moec
