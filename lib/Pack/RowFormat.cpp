// SPDX-License-Identifier: Apache-2.0
/// \file
/// Packing of table rows.
#include "lib/Pack/RowFormat.h"

#include "llvm/Support/Endian.h"

#include <cassert>
#include <cstring>

namespace moec {

static uint64_t codeBytesOf(uint64_t cols, const Encoding &encoding) { return cols * encoding.bits() / 8; }

uint64_t rowPayloadBytes(int64_t cols, const Encoding &encoding) {
  uint64_t bytes = codeBytesOf(static_cast<uint64_t>(cols), encoding) + 2 * encoding.numGroups(cols);
  return (bytes + 3) & ~uint64_t(3);
}

void packRow(llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales, const Encoding &encoding,
             llvm::MutableArrayRef<uint8_t> out) {
  assert(out.size() == rowPayloadBytes(codes.size(), encoding) && "wrong buffer");
  std::memset(out.data(), 0, out.size());
  for (size_t k = 0; k < codes.size(); ++k)
    if (encoding.kind == EncodingKind::i4)
      out[k / 2] |= (codes[k] & 0xf) << (k % 2 * 4);
    else
      out[k] = static_cast<uint8_t>(codes[k]);
  uint8_t *scaleBytes = out.data() + codeBytesOf(codes.size(), encoding);
  for (size_t g = 0; g < scales.size(); ++g)
    llvm::support::endian::write16le(scaleBytes + 2 * g, scales[g]);
}

void unpackRow(llvm::ArrayRef<uint8_t> row, const Encoding &encoding, llvm::MutableArrayRef<int8_t> codes,
               llvm::MutableArrayRef<uint16_t> scales) {
  assert(row.size() == rowPayloadBytes(codes.size(), encoding) && "wrong buffer");
  for (size_t k = 0; k < codes.size(); ++k)
    codes[k] = encoding.kind == EncodingKind::i4 ? static_cast<int8_t>(((row[k / 2] >> (k % 2 * 4) & 0xf) ^ 8) - 8)
                                                 : static_cast<int8_t>(row[k]);
  const uint8_t *scaleBytes = row.data() + codeBytesOf(codes.size(), encoding);
  for (size_t g = 0; g < scales.size(); ++g)
    scales[g] = llvm::support::endian::read16le(scaleBytes + 2 * g);
}

} // namespace moec
