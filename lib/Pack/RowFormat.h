// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of a table that is read row by row and never resident (the embedding, unless it is a tied head): codes in
/// order, then f16 scales and minima. Main source: docs/pack-format.md ("Row tables").
#ifndef LIB_PACK_ROWFORMAT_H
#define LIB_PACK_ROWFORMAT_H

#include "lib/Quant/Encoding.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace moec {

/// Bytes of the XXH3-64 that follows each row in the pack.
inline constexpr uint64_t kRowChecksumBytes = 8;

/// Bytes of the codes or floats of a row. i6: the low halves as i4 has them, then the high 2 bits, 8 bytes for each 32
/// columns.
uint64_t rowCodeBytes(int64_t cols, const Encoding &encoding);
/// Bytes of the payload of a row: codes, scales, minima, zeros up to a multiple of 4. `checkEncoding` holds.
uint64_t rowPayloadBytes(int64_t cols, const Encoding &encoding);

/// Shapes: codes [K], scales [encoding.numScales(K)]; out [rowPayloadBytes].
void packRow(llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales, const Encoding &encoding,
             llvm::MutableArrayRef<uint8_t> out);
/// The same for floats that `checkFloats` has passed.
void packRow(llvm::ArrayRef<float> values, const Encoding &encoding, llvm::MutableArrayRef<uint8_t> out);
/// The inverses of `packRow`.
void unpackRow(llvm::ArrayRef<uint8_t> row, const Encoding &encoding, llvm::MutableArrayRef<int8_t> codes,
               llvm::MutableArrayRef<uint16_t> scales);
void unpackRow(llvm::ArrayRef<uint8_t> row, const Encoding &encoding, llvm::MutableArrayRef<float> values);

} // namespace moec

#endif
