// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rounds rows of weights to integer codes and back. Every byte of a pack follows from these functions, so they use
/// plain IEEE operations only and give the same result on every machine. Main source: docs/pack-format.md
/// ("Encodings").
#ifndef LIB_QUANT_QUANTIZE_H
#define LIB_QUANT_QUANTIZE_H

#include "lib/Quant/Encoding.h"

#include "llvm/ADT/ArrayRef.h"

namespace moec {

/// Quantizes one row by groups: scale = f16(max|w| / maxCode), code = clamp(roundeven(w / f32(scale))).
///
/// Shapes: values [K], codes [K], scales [K / group] as f16 bits; K % group == 0. A group whose scale rounds to 0 has
/// codes 0. `tensor` and `row` stand in messages.
/// Threads: re-entrant. Errors: a value that is not finite (with its column); a scale beyond the largest f16.
llvm::Error quantizeRow(llvm::ArrayRef<float> values, const Encoding &encoding, llvm::StringRef tensor, int64_t row,
                        llvm::MutableArrayRef<int8_t> codes, llvm::MutableArrayRef<uint16_t> scales);

/// The check that `quantizeRow` makes, for rows that stay f32.
llvm::Error checkFinite(llvm::ArrayRef<float> values, llvm::StringRef tensor, int64_t row);

/// values[k] = codes[k] * f32(scales[k / group]).
void dequantizeRow(llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales, const Encoding &encoding,
                   llvm::MutableArrayRef<float> values);

} // namespace moec

#endif
