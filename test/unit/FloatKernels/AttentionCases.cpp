// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rope with append, and attention, equal plain loops; attention does not depend on how tokens are cut into calls, nor
/// on what lies in memory behind the last position, and agrees with double arithmetic.
#include "test/unit/FloatKernels/Catalog.h"
#include "test/unit/FloatKernels/Expected.h"
#include "test/unit/FloatKernels/KvRegion.h"
#include "test/unit/FloatKernels/Runner.h"

namespace {

void runRope(const char *name, KernelFunction kernel, int64_t heads, const KvShape &shape, int64_t rotaryDim,
             bool headNorms) {
  Runner runner(name);
  Random random(6);
  int64_t d = shape.keyDim, half = rotaryDim / 2;
  std::vector<float> cosine = random.values(kContext * half), sine = random.values(kContext * half);
  std::vector<float> qNorm = random.values(d), kNorm = random.values(d);
  Region region(shape), expectedRegion(shape);
  for (int64_t position : {0, 61, 1208}) {
    std::vector<float> q = random.values(kMaxTokens * heads * d), k = random.values(kMaxTokens * shape.kvHeads * d);
    std::vector<float> v = random.values(kMaxTokens * shape.kvHeads * shape.valueDim), expectedQ = q, expectedK = k;
    for (int64_t t = 0; t < kMaxTokens; ++t) {
      auto finish = [&](float *x, const float *w) {
        if (headNorms)
          expectedNorm(x, w, x, d, 1e-6f, false);
        expectedRotation(x, &cosine[(position + t) * half], &sine[(position + t) * half], rotaryDim);
      };
      for (int64_t h = 0; h < heads; ++h)
        finish(&expectedQ[(t * heads + h) * d], qNorm.data());
      for (int64_t h = 0; h < shape.kvHeads; ++h) {
        finish(&expectedK[(t * shape.kvHeads + h) * d], kNorm.data());
        expectedRegion.append(&expectedK[(t * shape.kvHeads + h) * d], &v[(t * shape.kvHeads + h) * shape.valueDim], h,
                              position + t);
      }
    }
    if (headNorms)
      call(kernel, kMaxTokens, position, 0, kMaxTokens, q.data(), k.data(), v.data(), qNorm.data(), kNorm.data(),
           cosine.data(), sine.data(), region.bytes.data());
    else
      call(kernel, kMaxTokens, position, 0, kMaxTokens, q.data(), k.data(), v.data(), cosine.data(), sine.data(),
           region.bytes.data());
    runner.expectSame("q", q, expectedQ);
    runner.expectSame("kv", region.bytes, expectedRegion.bytes);
  }
}

/// o of one span, with its maximum and total.
struct Partial {
  float largest = -INFINITY, total = 0.0f;
  std::vector<float> o;
};

void addBlock(const Region &region, const float *q, int64_t head, int64_t begin, int64_t end, float scale,
              Partial &span) {
  const KvShape &shape = region.shape;
  float scores[64], largest = span.largest, partials[16] = {};
  for (int64_t p = begin; p < end; ++p) {
    float s = 0.0f;
    for (int64_t i = 0; i < shape.keyDim; ++i)
      s = std::fma(q[i], region.get(region.keyAt(head, i, p)), s);
    if (shape.elementBytes == 1)
      s = s * region.scale(shape.keyScales(), head, p);
    scores[p - begin] = s * scale;
    largest = scores[p - begin] > largest ? scores[p - begin] : largest;
  }
  float correction = expectedExp(span.largest - largest);
  for (float &o : span.o)
    o = o * correction;
  for (int64_t p = begin; p < end; ++p) {
    float weight = expectedExp(scores[p - begin] - largest);
    partials[(p - begin) % 16] = partials[(p - begin) % 16] + weight;
    if (shape.elementBytes == 1)
      weight = weight * region.scale(shape.valueScales(), head, p);
    for (int64_t i = 0; i < shape.valueDim; ++i)
      span.o[i] = std::fma(weight, region.get(region.valueAt(head, i, p)), span.o[i]);
  }
  span.total = std::fma(span.total, correction, treeSum(partials));
  span.largest = largest;
}

std::vector<float> expectedAttention(const Region &region, const float *q, int64_t head, int64_t valid, float scale) {
  Partial all{-INFINITY, 0.0f, std::vector<float>((size_t)region.shape.valueDim)};
  for (int64_t first = 0; first < valid; first += 512) {
    Partial span{-INFINITY, 0.0f, std::vector<float>(all.o.size())};
    for (int64_t begin = first; begin < std::min(first + 512, valid); begin += 64)
      addBlock(region, q, head, begin, std::min(begin + 64, valid), scale, span);
    float largest = span.largest > all.largest ? span.largest : all.largest;
    float before = expectedExp(all.largest - largest), now = expectedExp(span.largest - largest);
    for (size_t i = 0; i < all.o.size(); ++i)
      all.o[i] = std::fma(span.o[i], now, all.o[i] * before);
    all.total = std::fma(span.total, now, all.total * before);
    all.largest = largest;
  }
  for (float &o : all.o)
    o = o / all.total;
  return all.o;
}

/// Element 0 of the output in double arithmetic.
double exactAttention(const Region &region, const float *q, int64_t head, int64_t valid, float scale) {
  const KvShape &shape = region.shape;
  double total = 0, o = 0;
  for (int64_t p = 0; p < valid; ++p) {
    double s = 0;
    for (int64_t i = 0; i < shape.keyDim; ++i)
      s += (double)q[i] * region.get(region.keyAt(head, i, p)) * region.scale(shape.keyScales(), head, p);
    double weight = std::exp(s * scale);
    total += weight;
    o += weight * region.get(region.valueAt(head, 0, p)) * region.scale(shape.valueScales(), head, p);
  }
  return o / total;
}

void runAttention(const char *name, KernelFunction kernel, int64_t heads, const KvShape &shape) {
  Runner runner(name);
  Random random(7);
  float scale = 1.0f / std::sqrt((float)shape.keyDim);
  int64_t filled = 0;
  Region region(shape);
  for (int64_t position : {0, 61, 123, 508, 1017, 1208}) {
    for (; filled < position + kMaxTokens; ++filled)
      for (int64_t h = 0; h < shape.kvHeads; ++h) {
        std::vector<float> k = random.values(shape.keyDim, 3.0f), v = random.values(shape.valueDim);
        region.append(k.data(), v.data(), h, filled);
      }
    std::vector<float> q = random.values(kMaxTokens * heads * shape.keyDim, 3.0f);
    std::vector<float> o((size_t)(kMaxTokens * heads * shape.valueDim), -1.0f), single = o, expected;
    for (int64_t t = 0; t < kMaxTokens; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        const float *row = &q[(t * heads + h) * shape.keyDim];
        int64_t kvHead = h / (heads / shape.kvHeads);
        std::vector<float> part = expectedAttention(region, row, kvHead, position + t + 1, scale);
        runner.expectNear("o", part[0], exactAttention(region, row, kvHead, position + t + 1, scale), 1e-5);
        expected.insert(expected.end(), part.begin(), part.end());
      }
    int64_t tiles = kMaxTokens * heads;
    call(kernel, kMaxTokens, position, 3, tiles, q.data(), region.bytes.data(), o.data());
    call(kernel, kMaxTokens, position, 0, 3, q.data(), region.bytes.data(), o.data());
    runner.expectSame("o", o, expected);
    for (int64_t t = 0; t < kMaxTokens; ++t)
      call(kernel, 1, position + t, 0, heads, &q[t * heads * shape.keyDim], region.bytes.data(),
           &single[t * heads * shape.valueDim]);
    runner.expectSame("o token by token", single, expected);
  }
}

} // namespace

#define DECLARE(name, ...) extern "C" void name();
ROPE_KERNELS(DECLARE)
ATTENTION_KERNELS(DECLARE)

void runRopeCases() {
#define ROPE(name, heads, kvHeads, keyDim, valueDim, kind, layerOffset, rotaryDim, headNorms)                          \
  runRope(#name, name, heads, {kvHeads, keyDim, valueDim, element::kind, layerOffset}, rotaryDim, headNorms);
  ROPE_KERNELS(ROPE)
}

void runAttentionCases() {
#define ATTENTION(name, heads, kvHeads, keyDim, valueDim, kind, layerOffset)                                           \
  runAttention(#name, name, heads, {kvHeads, keyDim, valueDim, element::kind, layerOffset});
  ATTENTION_KERNELS(ATTENTION)
}
