// SPDX-License-Identifier: Apache-2.0
/// \file
/// The scalar functions and reductions of the numerics contract. Compiled without contraction.
#include "lib/Reference/Numerics.h"

#include "lib/Plan/KvLayout.h"
#include "lib/Plan/RopeTable.h"
#include "lib/Support/Half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace moec {

float expandedExp(float x) {
  // Range and polynomial as in passes/lower/kernels: e^x = 2^n * e^r, r in [-ln 2 / 2, ln 2 / 2], coefficients of the
  // Cephes library's expf; ln 2 is taken away in two parts, the first exact in few bits.
  constexpr float kLow = -87.33654f, kHigh = 88.37626f;
  constexpr float kPolynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                   4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  float cut = x >= kLow ? x : kLow; // NaN goes to the low end
  cut = cut <= kHigh ? cut : kHigh;
  float n = std::nearbyint(cut * 1.44269504f);
  float r = std::fma(n, -0.693359375f, cut);
  r = std::fma(n, 2.12194440e-4f, r);
  float y = kPolynomial[0];
  for (float coefficient : llvm::ArrayRef(kPolynomial).drop_front())
    y = std::fma(y, r, coefficient);
  y = std::fma(y, r * r, r) + 1.0f;
  float scaled = y * std::bit_cast<float>(static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23);
  return x >= kLow ? scaled : 0.0f;
}

float silu(float x) { return x / (1.0f + expandedExp(-x)); }

float sigmoid(float x) { return 1.0f / (1.0f + expandedExp(-x)); }

float softplus(float x) {
  float u = expandedExp(-std::fabs(x)), s = u / (u + 2.0f), square = s * s, sum = 1.0f / 15.0f;
  for (float divisor = 13.0f; divisor >= 3.0f; divisor -= 2.0f)
    sum = std::fma(sum, square, 1.0f / divisor);
  return (x < 0.0f ? 0.0f : x) + std::fma((s + s) * square, sum, s + s); // NaN stays
}

float treeSum(float (&partials)[16]) {
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i)
      partials[i] = partials[i] + partials[i + width];
  return partials[0];
}

static float sumOfSquares(llvm::ArrayRef<float> x) {
  float partials[16] = {};
  for (size_t i = 0; i < x.size(); ++i)
    partials[i % 16] = std::fma(x[i], x[i], partials[i % 16]);
  return treeSum(partials);
}

float lengthFactor(llvm::ArrayRef<float> x, float eps) { return 1.0f / std::sqrt(sumOfSquares(x) + eps); }

float normFactor(llvm::ArrayRef<float> x, float eps) {
  return 1.0f / std::sqrt(sumOfSquares(x) / static_cast<float>(x.size()) + eps);
}

void rmsNorm(llvm::ArrayRef<float> x, llvm::ArrayRef<float> w, float eps, bool unitOffset,
             llvm::MutableArrayRef<float> out) {
  float factor = normFactor(x, eps);
  for (size_t i = 0; i < x.size(); ++i)
    out[i] = (x[i] * factor) * (unitOffset ? w[i] + 1.0f : w[i]);
}

float quantizeGroup(llvm::ArrayRef<float> x, llvm::MutableArrayRef<int8_t> codes) {
  float largest = 0.0f;
  for (float value : x)
    largest = std::fabs(value) > largest ? std::fabs(value) : largest;
  bool isZero = largest < 1e-30f;
  float inverse = isZero ? 0.0f : 127.0f / largest;
  for (size_t i = 0; i < x.size(); ++i) {
    float rounded = std::nearbyint(x[i] * inverse);
    codes[i] = rounded >= -127.0f ? static_cast<int8_t>(std::min(rounded, 127.0f)) : int8_t(-127);
  }
  return isZero ? 0.0f : largest / 127.0f;
}

float quantizeNibbles(llvm::ArrayRef<float> x, llvm::MutableArrayRef<int8_t> codes) {
  float largest = 0.0f;
  for (float value : x)
    largest = std::fabs(value) > largest ? std::fabs(value) : largest;
  float wanted = largest / kKvLargestNibble;
  float scale = f16ToF32(f32ToF16(wanted <= 65504.0f ? wanted : 65504.0f));
  float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
  for (size_t i = 0; i < x.size(); ++i) {
    float rounded = std::nearbyint(x[i] * inverse);
    codes[i] = rounded >= -kKvLargestNibble ? static_cast<int8_t>(std::min(rounded, kKvLargestNibble)) : int8_t(-7);
  }
  return scale;
}

void hadamard(llvm::MutableArrayRef<float> x, int64_t block) {
  for (int64_t distance = 1; distance < block; distance *= 2)
    for (size_t i = 0; i < x.size(); ++i)
      if (!(i & distance)) {
        float a = x[i], b = x[i + distance];
        x[i] = a + b;
        x[i + distance] = a - b;
      }
  float factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(block)));
  for (float &value : x)
    value = value * factor;
}

Rotation rotationAt(int64_t position, llvm::ArrayRef<double> frequencies) {
  Rotation rotation{std::vector<float>(frequencies.size()), std::vector<float>(frequencies.size())};
  ropeRow(position, frequencies, /*isSine=*/false, rotation.cosines);
  ropeRow(position, frequencies, /*isSine=*/true, rotation.sines);
  return rotation;
}

void rotate(llvm::MutableArrayRef<float> head, const Rotation &rotation, bool interleaved) {
  size_t half = rotation.cosines.size();
  for (size_t i = 0; i < half; ++i) {
    float &a = head[interleaved ? 2 * i : i], &b = head[interleaved ? 2 * i + 1 : i + half];
    float first = a * rotation.cosines[i] - b * rotation.sines[i];
    float second = b * rotation.cosines[i] + a * rotation.sines[i];
    a = first;
    b = second;
  }
}

} // namespace moec
