// SPDX-License-Identifier: Apache-2.0
/// \file
/// Packing of table rows.
#include "lib/Pack/RowFormat.h"

#include "lib/Quant/Quantize.h"
#include "lib/Support/Clones.h"

#include "llvm/Support/Endian.h"

#include <cassert>
#include <cstring>

namespace moec {

uint64_t rowCodeBytes(int64_t cols, const Encoding &encoding) {
  return static_cast<uint64_t>(cols) * encoding.bits() / 8;
}

uint64_t rowPayloadBytes(int64_t cols, const Encoding &encoding) {
  uint64_t bytes = rowCodeBytes(cols, encoding) + 2 * encoding.numScales(cols);
  return (bytes + 3) & ~uint64_t(3);
}

/// Byte of the high 2 bits of code k behind the low halves; they lie from bit k % 32 / 8 * 2 on.
static size_t highByte(size_t k, size_t cols) { return cols / 2 + k / 32 * 8 + k % 8; }

MOEC_CLONES static void packCodes(const int8_t *codes, size_t count, int bits, uint8_t *out) {
  if (bits == 8) {
    std::memcpy(out, codes, count);
    return;
  }
  for (size_t byte = 0; byte < count / 2; ++byte)
    out[byte] = static_cast<uint8_t>((codes[2 * byte] & 0xf) | codes[2 * byte + 1] << 4);
  for (size_t k = 0; k < count && bits == 6; ++k)
    out[highByte(k, count)] |= (codes[k] >> 4 & 3) << (k % 32 / 8 * 2);
}

void packRow(llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales, const Encoding &encoding,
             llvm::MutableArrayRef<uint8_t> out) {
  assert(out.size() == rowPayloadBytes(codes.size(), encoding) && "wrong buffer");
  std::memset(out.data(), 0, out.size());
  packCodes(codes.data(), codes.size(), encoding.bits(), out.data());
  uint8_t *scaleBytes = out.data() + rowCodeBytes(codes.size(), encoding);
  for (size_t g = 0; g < scales.size(); ++g)
    llvm::support::endian::write16le(scaleBytes + 2 * g, scales[g]);
}

void packRow(llvm::ArrayRef<float> values, const Encoding &encoding, llvm::MutableArrayRef<uint8_t> out) {
  assert(out.size() == rowPayloadBytes(values.size(), encoding) && "wrong buffer");
  std::memset(out.data(), 0, out.size());
  for (size_t k = 0; k < values.size(); ++k)
    packFloat(values[k], encoding, out.data() + k * (encoding.bits() / 8));
}

void unpackRow(llvm::ArrayRef<uint8_t> row, const Encoding &encoding, llvm::MutableArrayRef<int8_t> codes,
               llvm::MutableArrayRef<uint16_t> scales) {
  assert(row.size() == rowPayloadBytes(codes.size(), encoding) && "wrong buffer");
  int sign = 1 << (encoding.bits() - 1);
  for (size_t k = 0; k < codes.size(); ++k) {
    int stored = encoding.bits() == 8 ? row[k] : row[k / 2] >> (k % 2 * 4) & 0xf;
    if (encoding.bits() == 6)
      stored |= (row[highByte(k, codes.size())] >> (k % 32 / 8 * 2) & 3) << 4;
    codes[k] = static_cast<int8_t>((stored ^ sign) - sign);
  }
  const uint8_t *scaleBytes = row.data() + rowCodeBytes(codes.size(), encoding);
  for (size_t g = 0; g < scales.size(); ++g)
    scales[g] = llvm::support::endian::read16le(scaleBytes + 2 * g);
}

void unpackRow(llvm::ArrayRef<uint8_t> row, const Encoding &encoding, llvm::MutableArrayRef<float> values) {
  assert(row.size() == rowPayloadBytes(values.size(), encoding) && "wrong buffer");
  for (size_t k = 0; k < values.size(); ++k)
    values[k] = unpackFloat(row.data() + k * (encoding.bits() / 8), encoding);
}

} // namespace moec
