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

/// Quantizes one row by groups. Without a minimum scale = f16(max|w| / maxCode), code = clamp(roundeven(w /
/// f32(scale))). With one, of lo = min w and hi = max w: minimum = f16((lo + hi) / 2 + (hi - lo) / (2 * numSteps)), the
/// place of code 0; scale = f16(max((f32(minimum) - lo) / -minCode, (hi - f32(minimum)) / maxCode)), so that no value
/// lies beyond the codes however the minimum was rounded; code = clamp(roundeven((w - f32(minimum)) / f32(scale))).
///
/// Shapes: values [K], codes [K], scales [encoding.numScales(K)] as f16 bits; K % group == 0. A group whose scale
/// rounds to 0 has codes 0. `tensor` and `row` stand in messages. Threads: re-entrant. Errors: a value that is not
/// finite (with its column); a scale or minimum beyond the largest f16.
llvm::Error quantizeRow(llvm::ArrayRef<float> values, const Encoding &encoding, llvm::StringRef tensor, int64_t row,
                        llvm::MutableArrayRef<int8_t> codes, llvm::MutableArrayRef<uint16_t> scales);

/// The check that `quantizeRow` makes, for rows that stay floats: finite, and for f16 not beyond 65504 when rounded.
llvm::Error checkFloats(llvm::ArrayRef<float> values, const Encoding &encoding, llvm::StringRef tensor, int64_t row);

/// The check for scales and minima that come from a file: all finite. Shapes as `quantizeRow`.
llvm::Error checkScales(llvm::ArrayRef<uint16_t> scales, const Encoding &encoding, llvm::StringRef tensor, int64_t row);

/// One value as f32 or f16 (rounded to nearest even), little-endian, at `out`, and back.
void packFloat(float value, const Encoding &encoding, uint8_t *out);
float unpackFloat(const uint8_t *bytes, const Encoding &encoding);

/// values[k] = codes[k] * f32(scales[k / group]) + f32(minimum of the group). The product is exact, so it does not
/// matter whether the two steps round once or twice.
void dequantizeRow(llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales, const Encoding &encoding,
                   llvm::MutableArrayRef<float> values);

} // namespace moec

#endif
