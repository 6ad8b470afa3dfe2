// SPDX-License-Identifier: Apache-2.0
/// \file
/// The loops of quantization over groups. Maxima are taken of bit patterns and no loop leaves early, so that the
/// compiler turns them into vector code of whatever level they are inlined into. Included by Quantize.cpp and its test.
/// Main source: lib/Quant/Quantize.h.
#ifndef LIB_QUANT_QUANTIZELOOPS_H
#define LIB_QUANT_QUANTIZELOOPS_H

#include "lib/Quant/Encoding.h"
#include "lib/Support/Clones.h"
#include "lib/Support/Half.h"

#include <algorithm>
#include <bit>

namespace moec::loops {

/// Bits of infinity; a magnitude with these or more is not finite.
constexpr uint32_t kInfinity = 0x7F800000;
/// f16 bits from here on are infinity and NaN.
constexpr uint16_t kHalfInfinity = 0x7C00;

/// max|w| of a group, as bits.
MOEC_INLINE uint32_t largestMagnitude(const float *values, int64_t count) {
  uint32_t largest = 0;
  for (int64_t k = 0; k < count; ++k)
    largest = std::max(largest, std::bit_cast<uint32_t>(values[k]) & 0x7FFFFFFF);
  return largest;
}

/// Lowest and highest of finite values.
struct Extremes {
  float low, high;
};

MOEC_INLINE Extremes extremesOf(const float *values, int64_t count) {
  // Read as integers, negative floats ascend with their magnitude: turned around, all of them are in order.
  auto turn = [](int32_t bits) { return bits ^ ((bits >> 31) & 0x7FFFFFFF); };
  int32_t low = INT32_MAX, high = INT32_MIN;
  for (int64_t k = 0; k < count; ++k) {
    int32_t ordered = turn(std::bit_cast<int32_t>(values[k]));
    low = std::min(low, ordered);
    high = std::max(high, ordered);
  }
  return {std::bit_cast<float>(turn(low)), std::bit_cast<float>(turn(high))};
}

/// f16 bits of scale and minimum of one group.
struct GroupScale {
  uint16_t scale, minimum;
};

MOEC_INLINE GroupScale scaleWithMinimum(Extremes extremes, const Encoding &encoding) {
  auto [low, high] = extremes;
  float below = static_cast<float>(-encoding.minCode()), above = static_cast<float>(encoding.maxCode());
  // Code 0 lies half a step above the middle, because there is one more code below it than above.
  float step = high / (below + above) - low / (below + above);
  uint16_t minimum = f32ToF16(low / 2 + high / 2 + step / 2);
  float zero = f16ToF32(minimum);
  return {f32ToF16(std::max((zero - low) / below, (high - zero) / above)), minimum};
}

/// Codes of a group with a scale other than 0.
MOEC_INLINE void roundToCodes(const float *values, int64_t count, float scale, float zero, float minCode, float maxCode,
                              int8_t *codes) {
  // Adding 1.5 * 2^23 leaves no bits for a fraction, to nearest even; the integer then stands in the low bits.
  constexpr float kShift = 12582912.0f;
  for (int64_t k = 0; k < count; ++k) {
    float steps = std::clamp((values[k] - zero) / scale, minCode, maxCode);
    codes[k] = static_cast<int8_t>(std::bit_cast<uint32_t>(steps + kShift) - std::bit_cast<uint32_t>(kShift));
  }
}

template <int64_t kGroup>
MOEC_INLINE int64_t quantizeGroupsOf(const float *values, int64_t numGroups, const Encoding &encoding, int8_t *codes,
                                     uint16_t *scales) {
  float minCode = static_cast<float>(encoding.minCode()), maxCode = static_cast<float>(encoding.maxCode());
  for (int64_t g = 0; g < numGroups; ++g, values += kGroup, codes += kGroup) {
    uint32_t largest = largestMagnitude(values, kGroup);
    if (largest >= kInfinity)
      return g;
    GroupScale found = encoding.minimum ? scaleWithMinimum(extremesOf(values, kGroup), encoding)
                                        : GroupScale{f32ToF16(std::bit_cast<float>(largest) / maxCode), 0};
    if ((found.scale & 0x7FFF) >= kHalfInfinity || (found.minimum & 0x7FFF) >= kHalfInfinity)
      return g;
    scales[g] = found.scale;
    if (encoding.minimum)
      scales[numGroups + g] = found.minimum;
    if ((found.scale & 0x7FFF) == 0)
      std::fill_n(codes, kGroup, int8_t(0));
    else
      roundToCodes(values, kGroup, f16ToF32(found.scale), f16ToF32(found.minimum), minCode, maxCode, codes);
  }
  return numGroups;
}

/// Quantizes the groups of a row as `quantizeRow` says. Returns how many groups come before the first that has no
/// finite scale; all of them in a good row.
MOEC_INLINE int64_t quantizeGroups(const float *values, int64_t numGroups, const Encoding &encoding, int8_t *codes,
                                   uint16_t *scales) {
  switch (encoding.group) {
  case 32:
    return quantizeGroupsOf<32>(values, numGroups, encoding, codes, scales);
  case 64:
    return quantizeGroupsOf<64>(values, numGroups, encoding, codes, scales);
  default: // checkEncoding refuses everything else
    return quantizeGroupsOf<128>(values, numGroups, encoding, codes, scales);
  }
}

} // namespace moec::loops

#endif
