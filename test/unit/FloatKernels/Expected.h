// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plain loops that follow the order of operations of docs/architecture.md; kernels must give the same bytes. Compiled
/// without contraction. Main source: passes/lower/kernels/FloatKernels.h.
#ifndef TEST_UNIT_FLOATKERNELS_EXPECTED_H
#define TEST_UNIT_FLOATKERNELS_EXPECTED_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

inline uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

inline float floatOf(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// f32 to f16, nearest even; finite inputs in the range of f16.
inline uint16_t halfOf(float x) {
  uint32_t bits = bitsOf(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude < 0x38800000u) { // below the smallest normal half: count steps of 2^-24
    float steps = std::nearbyint(floatOf(magnitude) * 16777216.0f);
    return (uint16_t)(sign | (uint32_t)steps);
  }
  uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return (uint16_t)(sign | ((rounded - 0x38000000u) >> 13));
}

inline float ofHalf(uint16_t half) {
  uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  if (magnitude < 0x400u)
    return floatOf(sign | bitsOf((float)magnitude / 16777216.0f));
  return floatOf(sign | ((magnitude << 13) + 0x38000000u));
}

inline float expectedExp(float x) {
  const float low = -87.33654f, high = 88.37626f;
  float cut = x >= low ? x : low;
  cut = cut <= high ? cut : high;
  float n = std::nearbyint(cut * 1.44269504f);
  float r = std::fma(n, -0.693359375f, cut);
  r = std::fma(n, 2.12194440e-4f, r);
  const float polynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                              4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  float y = polynomial[0];
  for (int i = 1; i < 6; ++i)
    y = std::fma(y, r, polynomial[i]);
  y = std::fma(y, r * r, r) + 1.0f;
  float scaled = y * floatOf((uint32_t)((int32_t)n + 127) << 23);
  return x >= low ? scaled : 0.0f;
}

inline float expectedSigmoid(float x) { return 1.0f / (1.0f + expectedExp(-x)); }
inline float expectedSilu(float x) { return x / (1.0f + expectedExp(-x)); }

/// Sum of 16 partials: 8-4-2-1.
inline float treeSum(float partials[16]) {
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i)
      partials[i] = partials[i] + partials[i + width];
  return partials[0];
}

inline float expectedNormFactor(const float *x, int64_t count, float epsilon) {
  float partials[16] = {};
  for (int64_t i = 0; i < count; ++i)
    partials[i % 16] = std::fma(x[i], x[i], partials[i % 16]);
  return 1.0f / std::sqrt(treeSum(partials) / (float)count + epsilon);
}

inline void expectedNorm(const float *x, const float *w, float *y, int64_t count, float epsilon, bool unitOffset) {
  float factor = expectedNormFactor(x, count, epsilon);
  for (int64_t i = 0; i < count; ++i)
    y[i] = x[i] * factor * (unitOffset ? w[i] + 1.0f : w[i]);
}

inline float largestMagnitude(const float *x, int64_t count) {
  float largest = 0.0f;
  for (int64_t i = 0; i < count; ++i)
    largest = std::fabs(x[i]) > largest ? std::fabs(x[i]) : largest;
  return largest;
}

/// Codes at `stride`; gives back the scale.
inline float expectedCodes(const float *x, int8_t *codes, int64_t stride, int64_t count) {
  float largest = largestMagnitude(x, count);
  float inverse = largest < 1e-30f ? 0.0f : 127.0f / largest;
  for (int64_t i = 0; i < count; ++i) {
    float rounded = std::nearbyint(x[i] * inverse);
    codes[i * stride] = rounded >= -127.0f ? (int8_t)std::min(rounded, 127.0f) : (int8_t)-127;
  }
  return largest < 1e-30f ? 0.0f : largest / 127.0f;
}

inline void expectedQuantize(const float *x, int8_t *codes, float *scales, int32_t *sums, int64_t count,
                             int64_t group) {
  for (int64_t g = 0; g < count / group; ++g) {
    scales[g] = expectedCodes(x + g * group, codes + g * group, 1, group);
    sums[g] = 0;
    for (int64_t i = 0; i < group; ++i)
      sums[g] += codes[g * group + i];
  }
}

/// Scale of i4 codes, which go to codes[0 .. count).
inline uint16_t expectedNibbles(const float *x, int8_t *codes, int64_t count) {
  float wanted = largestMagnitude(x, count) / 7.0f;
  uint16_t half = halfOf(wanted <= 65504.0f ? wanted : 65504.0f);
  float scale = ofHalf(half), inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
  for (int64_t i = 0; i < count; ++i) {
    float rounded = std::nearbyint(x[i] * inverse);
    codes[i] = rounded >= -7.0f ? (int8_t)std::min(rounded, 7.0f) : (int8_t)-7;
  }
  return half;
}

/// Normalized Hadamard transform of each run of the largest power of two that divides `count`.
inline std::vector<float> expectedHadamard(const float *x, int64_t count) {
  std::vector<float> y(x, x + count);
  int64_t block = count & -count;
  for (int64_t h = 1; h < block; h *= 2)
    for (int64_t i = 0; i < count; ++i)
      if (i / h % 2 == 0) {
        float a = y[i], b = y[i + h];
        y[i] = a + b;
        y[i + h] = a - b;
      }
  for (float &value : y)
    value = value * (float)(1.0 / std::sqrt((double)block));
  return y;
}

inline void expectedRotation(float *x, const float *cosine, const float *sine, int64_t rotaryDim) {
  int64_t half = rotaryDim / 2;
  for (int64_t i = 0; i < half; ++i) {
    float a = x[i], b = x[i + half];
    x[i] = a * cosine[i] - b * sine[i];
    x[i + half] = b * cosine[i] + a * sine[i];
  }
}

#endif
