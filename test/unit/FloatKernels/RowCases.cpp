// SPDX-License-Identifier: Apache-2.0
/// \file
/// Embedding rows, norms, activation quantization and the combination of expert outputs equal plain loops.
#include "test/unit/FloatKernels/Catalog.h"
#include "test/unit/FloatKernels/Expected.h"
#include "test/unit/FloatKernels/Runner.h"

#include <algorithm>

namespace {

constexpr int64_t kTokens = 5;

/// How a row is stored: docs/pack-format.md, "Row tables".
struct RowKind {
  int bits;
  bool minimum;
};

namespace row {
constexpr RowKind f32{32, false}, f16{16, false}, i8{8, false}, i8m{8, true}, i6{6, false}, i4{4, false}, i4m{4, true};
}

/// Stores one code and returns it.
int storeCode(uint8_t *payload, int code, RowKind kind, int64_t i, int64_t columns) {
  if (kind.bits == 8) {
    payload[i] = (uint8_t)code;
    return code;
  }
  code = kind.bits == 6 ? code % 32 : kind.minimum ? (code & 15) - 8 : code % 8;
  payload[i / 2] |= (uint8_t)((code & 15) << (i % 2 * 4));
  if (kind.bits == 6)
    payload[columns / 2 + i / 32 * 8 + i % 8] |= (uint8_t)((code >> 4 & 3) << (i % 32 / 8 * 2));
  return code;
}

void runEmbed(const char *name, KernelFunction kernel, RowKind kind, int64_t columns, int64_t rowBytes, int64_t group,
              float multiplier) {
  Runner runner(name);
  Random random(1);
  std::vector<uint8_t> rows((size_t)(kMaxTokens * rowBytes));
  std::vector<float> out((size_t)(kMaxTokens * columns)), expected = out;
  for (int64_t t = 0; t < kTokens; ++t) {
    uint8_t *payload = rows.data() + t * rowBytes;
    uint16_t scale = 0, minimum = 0;
    for (int64_t i = 0; i < columns; ++i) {
      float value = random.value(), &y = expected[t * columns + i];
      uint16_t half = halfOf(value);
      if (kind.bits > 8) {
        std::memcpy(payload + i * kind.bits / 8, kind.bits == 32 ? (const void *)&value : &half, (size_t)kind.bits / 8);
        y = kind.bits == 32 ? value : ofHalf(half);
        continue;
      }
      if (i % group == 0) {
        scale = half;
        minimum = kind.minimum ? halfOf(random.value()) : 0;
        uint8_t *scales = payload + columns * kind.bits / 8;
        std::memcpy(scales + i / group * 2, &scale, 2);
        if (kind.minimum)
          std::memcpy(scales + columns / group * 2 + i / group * 2, &minimum, 2);
      }
      int code = storeCode(payload, (int)(random.next() >> 40) % 255 - 127, kind, i, columns);
      y = (float)code * ofHalf(scale);
      if (kind.minimum)
        y = y + ofHalf(minimum);
      if (multiplier != 1.0f)
        y = y * multiplier;
    }
  }
  call(kernel, kTokens, 0, 0, 2, rows.data(), out.data());
  call(kernel, kTokens, 0, 2, kTokens, rows.data(), out.data());
  runner.expectSame("out", out, expected);
}

void runNorm(const char *name, KernelFunction kernel, int64_t columns, bool unitOffset, bool storesFloat,
             int64_t group) {
  Runner runner(name);
  Random random(2);
  std::vector<float> x = random.values(kMaxTokens * columns, 3.0f), w = random.values(columns);
  std::vector<float> y(x.size()), expected(x.size());
  for (int64_t t = 0; t < kTokens; ++t) {
    expectedNorm(&x[t * columns], w.data(), &expected[t * columns], columns, 1e-6f, unitOffset);
    double sum = 0;
    for (int64_t i = 0; i < columns; ++i)
      sum += (double)x[t * columns + i] * x[t * columns + i];
    double exact = x[t * columns] / std::sqrt(sum / columns + 1e-6) * ((double)w[0] + unitOffset);
    runner.expectNear("y", expected[t * columns], exact, 2e-6);
  }
  if (group == 0) {
    call(kernel, kTokens, 0, 0, kTokens, x.data(), w.data(), y.data());
    runner.expectSame("y", y, expected);
    return;
  }
  std::vector<int8_t> codes(x.size()), expectedCode(x.size());
  std::vector<float> scales(x.size() / group), expectedScale(scales.size());
  std::vector<int32_t> sums(scales.size()), expectedSum(scales.size());
  expectedQuantize(expected.data(), expectedCode.data(), expectedScale.data(), expectedSum.data(), kTokens * columns,
                   group);
  if (storesFloat)
    call(kernel, kTokens, 0, 0, kTokens, x.data(), w.data(), y.data(), codes.data(), scales.data(), sums.data());
  else
    call(kernel, kTokens, 0, 0, kTokens, x.data(), w.data(), codes.data(), scales.data(), sums.data());
  runner.expectSame("y", storesFloat ? y : expected, expected);
  runner.expectSame("codes", codes, expectedCode);
  runner.expectSame("scales", scales, expectedScale);
  runner.expectSame("sums", sums, expectedSum);
}

void runQuantize(const char *name, KernelFunction kernel, int64_t columns, int64_t group) {
  Runner runner(name);
  Random random(3);
  std::vector<float> x = random.values(kMaxTokens * columns, 5.0f);
  for (int64_t i = 0; i < group; ++i) {
    x[i] = 0.0f;                               // a group of zeros
    x[columns + i] = random.value(9e-31f);     // below the threshold
    x[2 * columns + i] = random.value(1e-28f); // barely above
  }
  x[3 * columns + 7] = NAN;
  x[4 * columns + 9] = INFINITY;
  std::vector<int8_t> codes(x.size()), expectedCode(x.size());
  std::vector<float> scales(x.size() / group), expectedScale(scales.size());
  std::vector<int32_t> sums(scales.size()), expectedSum(scales.size());
  expectedQuantize(x.data(), expectedCode.data(), expectedScale.data(), expectedSum.data(), kTokens * columns, group);
  call(kernel, kTokens, 0, 0, kTokens, x.data(), codes.data(), scales.data(), sums.data());
  runner.expectSame("codes", codes, expectedCode);
  runner.expectSame("scales", scales, expectedScale);
  runner.expectSame("sums", sums, expectedSum);
}

void runCombine(const char *name, KernelFunction kernel, int64_t columns, int64_t topK, int64_t used) {
  Runner runner(name);
  Random random(4);
  std::vector<float> residual = random.values(kMaxTokens * columns), y = random.values(kMaxTokens * topK * columns);
  std::vector<float> weights = random.values(kMaxTokens * topK), out(residual.size()), expected(residual.size());
  // What ranks that are not in use hold must not be read.
  for (int64_t pair = 0; pair < kMaxTokens * topK; ++pair)
    if (pair % topK >= used)
      std::fill_n(&y[pair * columns], columns, NAN);
  for (int64_t t = 0; t < kTokens; ++t)
    for (int64_t i = 0; i < columns; ++i) {
      float sum = weights[t * topK] * y[t * topK * columns + i];
      for (int64_t rank = 1; rank < used; ++rank)
        sum = std::fma(weights[t * topK + rank], y[(t * topK + rank) * columns + i], sum);
      expected[t * columns + i] = residual[t * columns + i] + sum;
    }
  call(kernel, used, 0, 0, kTokens, residual.data(), y.data(), weights.data(), out.data());
  runner.expectSame("out", out, expected);
  call(kernel, used, 0, 0, kTokens, residual.data(), y.data(), weights.data(), residual.data());
  residual.resize(kTokens * columns);
  expected.resize(kTokens * columns);
  runner.expectSame("out in place", residual, expected);
}

} // namespace

#define DECLARE(name, ...) extern "C" void name();
EMBED_KERNELS(DECLARE)
NORM_KERNELS(DECLARE)
QUANTIZE_KERNELS(DECLARE)
COMBINE_KERNELS(DECLARE)

void runRowCases() {
#define EMBED(name, encoding, ...) runEmbed(#name, name, row::encoding, __VA_ARGS__);
  EMBED_KERNELS(EMBED)
#define NORM(name, ...) runNorm(#name, name, __VA_ARGS__);
  NORM_KERNELS(NORM)
#define QUANTIZE(name, ...) runQuantize(#name, name, __VA_ARGS__);
  QUANTIZE_KERNELS(QUANTIZE)
#define COMBINE(name, columns, topK)                                                                                   \
  for (int64_t used : {topK, (topK + 1) / 2, 1})                                                                       \
    runCombine(#name, name, columns, topK, used);
  COMBINE_KERNELS(COMBINE)
}
