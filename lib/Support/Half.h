// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversions between float32, float16 and bfloat16, bit for bit the same on every machine.
#ifndef LIB_SUPPORT_HALF_H
#define LIB_SUPPORT_HALF_H

#include <bit>
#include <cstdint>

namespace moec {

/// Rounds to nearest even; beyond the largest float16 the result is infinity; NaN stays NaN (quiet).
inline uint16_t f32ToF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return static_cast<uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x1FF));
  // 65520 is half-way between 65504, the largest float16, and the next step; it rounds to infinity.
  if (magnitude >= 0x477FF000)
    return static_cast<uint16_t>(sign | 0x7C00);
  uint32_t kept, rest, half;
  if (magnitude >= 0x38800000) { // at least 2^-14: a normal float16
    uint32_t rebased = magnitude - 0x38000000;
    kept = rebased >> 13;
    rest = rebased & 0x1FFF;
    half = 0x1000;
  } else {
    uint32_t exponent = magnitude >> 23;
    if (exponent < 102) // below 2^-25: rounds to zero
      return sign;
    uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    uint32_t shift = 126 - exponent; // the unit of a denormal is 2^-24
    kept = mantissa >> shift;
    rest = mantissa & ((1u << shift) - 1);
    half = 1u << (shift - 1);
  }
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  return static_cast<uint16_t>(sign | kept);
}

/// Exact.
inline float f16ToF32(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = (half >> 10) & 0x1F;
  uint32_t mantissa = half & 0x3FF;
  if (exponent == 0x1F)
    return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0)
    return std::bit_cast<float>(sign);
  uint32_t shift = static_cast<uint32_t>(std::countl_zero(mantissa)) - 21;
  return std::bit_cast<float>(sign | (113 - shift) << 23 | ((mantissa << shift) & 0x3FF) << 13);
}

/// Exact.
inline float bf16ToF32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

} // namespace moec
#endif
