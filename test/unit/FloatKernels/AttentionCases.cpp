// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rope with append, and attention, equal plain loops, with and without a window; attention does not depend on how
/// tokens are cut into calls, nor on what lies in memory where a token does not look, and agrees with double
/// arithmetic.
#include "test/unit/FloatKernels/Catalog.h"
#include "test/unit/FloatKernels/Expected.h"
#include "test/unit/FloatKernels/KvRegion.h"
#include "test/unit/FloatKernels/Runner.h"

namespace {

void runRope(const char *name, KernelFunction kernel, int64_t heads, const KvShape &shape, int64_t rotaryDim,
             bool headNorms, bool unitOffset) {
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
          expectedNorm(x, w, x, d, 1e-6f, unitOffset);
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
           cosine.data(), sine.data(), &region.window, region.bytes.data());
    else
      call(kernel, kMaxTokens, position, 0, kMaxTokens, q.data(), k.data(), v.data(), cosine.data(), sine.data(),
           &region.window, region.bytes.data());
    runner.expectSame("q", q, expectedQ);
    runner.expectSame("kv", region.bytes, expectedRegion.bytes);
  }
}

/// o of one span, with its maximum and total.
struct Partial {
  float largest = -INFINITY, total = 0.0f;
  std::vector<float> o;
};

/// Adds what the codes of the weights of a block give for the columns [first, first + count).
void addCodedValues(const Region &region, int64_t head, int64_t begin, const std::vector<int64_t> &seen,
                    const float *weights, int64_t first, int64_t count, Partial &span) {
  std::vector<float> scaled;
  float largest = 0.0f;
  for (int64_t p : seen) {
    scaled.push_back(weights[p - begin] * region.scale(region.valueScaleAt(head, first, p)));
    largest = scaled.back() > largest ? scaled.back() : largest;
  }
  float inverse = largest < 1e-30f ? 0.0f : 127.0f / largest, scale = largest < 1e-30f ? 0.0f : largest / 127.0f;
  for (int64_t i = first; i < first + count; ++i) {
    int64_t sum = 0;
    for (size_t j = 0; j < seen.size(); ++j)
      sum += (int64_t)std::nearbyint(scaled[j] * inverse) * (int64_t)region.value(head, i, seen[j]);
    span.o[i] = std::fma((float)sum, scale, span.o[i]);
  }
}

/// Adds the positions of [begin, begin + 64) that a token at `position` sees; false if there is none. The query has
/// codes where the cache has; their scale is in `scale`.
bool addBlock(const Region &region, const float *q, int64_t head, int64_t begin, int64_t position, float scale,
              Partial &span) {
  const KvShape &shape = region.shape;
  float scores[64], weights[64], largest = span.largest, partials[16] = {};
  std::vector<int64_t> seen;
  for (int64_t p = begin; p < begin + 64; ++p)
    if (region.sees(position, p))
      seen.push_back(p);
  if (seen.empty())
    return false;
  for (int64_t p : seen) {
    float s = 0.0f;
    for (int64_t i = 0; i < shape.keyDim; ++i)
      s = std::fma(q[i], region.key(head, i, p), s);
    scores[p - begin] = s * (region.hasScales() ? region.scale(region.keyScaleAt(head, p)) * scale : scale);
    largest = scores[p - begin] > largest ? scores[p - begin] : largest;
  }
  float correction = expectedExp(span.largest - largest);
  for (float &o : span.o)
    o = o * correction;
  for (int64_t p : seen) {
    weights[p - begin] = expectedExp(scores[p - begin] - largest);
    partials[(p - begin) % 16] = partials[(p - begin) % 16] + weights[p - begin];
    for (int64_t i = 0; i < shape.valueDim && !region.isCoded(); ++i)
      span.o[i] = std::fma(weights[p - begin], region.value(head, i, p), span.o[i]);
  }
  int64_t group = region.isPacked() ? 32 : shape.valueDim;
  for (int64_t first = 0; region.isCoded() && first < shape.valueDim; first += group)
    addCodedValues(region, head, begin, seen, weights, first, std::min(group, shape.valueDim - first), span);
  span.total = std::fma(span.total, correction, treeSum(partials));
  span.largest = largest;
  return true;
}

/// The query as the cache needs it.
std::vector<float> queryFor(const Region &region, const float *q) {
  return region.isPacked() ? expectedHadamard(q, region.shape.keyDim) : std::vector<float>(q, q + region.shape.keyDim);
}

std::vector<float> expectedAttention(const Region &region, const float *q, int64_t head, int64_t position,
                                     float scale) {
  std::vector<float> query = queryFor(region, q);
  if (region.isCoded()) {
    std::vector<int8_t> codes(query.size());
    scale = expectedCodes(query.data(), codes.data(), 1, region.shape.keyDim) * scale;
    query.assign(codes.begin(), codes.end());
  }
  Partial all{-INFINITY, 0.0f, std::vector<float>((size_t)region.shape.valueDim)};
  for (int64_t first = 0; first <= position; first += 512) {
    Partial span{-INFINITY, 0.0f, std::vector<float>(all.o.size())};
    bool seesAny = false;
    for (int64_t begin = first; begin < first + 512; begin += 64)
      seesAny |= addBlock(region, query.data(), head, begin, position, scale, span);
    if (!seesAny)
      continue;
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
double exactAttention(const Region &region, const float *q, int64_t head, int64_t position, float scale) {
  const KvShape &shape = region.shape;
  std::vector<float> query = queryFor(region, q);
  double total = 0, o = 0;
  for (int64_t p = 0; p <= position; ++p) {
    if (!region.sees(position, p))
      continue;
    double s = 0;
    for (int64_t i = 0; i < shape.keyDim; ++i)
      s += (double)query[i] * region.key(head, i, p) * region.scale(region.keyScaleAt(head, p));
    double weight = std::exp(s * scale);
    total += weight;
    o += weight * region.value(head, 0, p) * region.scale(region.valueScaleAt(head, 0, p));
  }
  return o / total;
}

/// The kernel that merges spans itself, and those that leave them and merge them.
struct AttentionKernels {
  KernelFunction whole, split, merge;
};

/// What queries, keys and values are made of.
enum class Form { random, largest, zeros, outlier, denormal };

std::vector<float> valuesOf(Form form, Random &random, int64_t count, float scale) {
  std::vector<float> x = random.values(count, scale);
  for (float &value : x)
    value = form == Form::largest    ? std::copysign(scale, value)
            : form == Form::denormal ? value * 1e-39f
            : form == Form::outlier  ? value * 1e-3f
                                     : value;
  if (form == Form::outlier)
    x[random.next() % x.size()] = 900.0f;
  if (form == Form::zeros && random.next() % 2)
    std::fill(x.begin(), x.end(), 0.0f);
  return x;
}

void runAttention(Runner &runner, const AttentionKernels &kernels, int64_t heads, Region &region, Form form) {
  const KvShape &shape = region.shape;
  Random random(7);
  float scale = 1.0f / std::sqrt((float)shape.keyDim);
  int64_t filled = 0;
  for (int64_t position : {0, 61, 123, 508, 1017, 1208}) {
    for (; filled < position + kMaxTokens; ++filled)
      for (int64_t h = 0; h < shape.kvHeads; ++h) {
        std::vector<float> k = valuesOf(form, random, shape.keyDim, 3.0f);
        std::vector<float> v = valuesOf(form, random, shape.valueDim, 1.0f);
        region.append(k.data(), v.data(), h, filled);
      }
    // Wide heads cost more and show less.
    bool isWide = shape.keyDim > 32;
    if ((isWide && position != 61 && position != 1208) || (form != Form::random && position > 508))
      continue;
    int64_t numTokens = isWide ? 2 : kMaxTokens;
    std::vector<float> q;
    for (int64_t row = 0; row < numTokens * heads; ++row) {
      std::vector<float> x = valuesOf(form, random, shape.keyDim, 3.0f);
      q.insert(q.end(), x.begin(), x.end());
    }
    std::vector<float> o((size_t)(numTokens * heads * shape.valueDim), -1.0f), single = o, expected;
    for (int64_t t = 0; t < numTokens; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        const float *row = &q[(t * heads + h) * shape.keyDim];
        int64_t kvHead = h / (heads / shape.kvHeads);
        std::vector<float> part = expectedAttention(region, row, kvHead, position + t, scale);
        // Codes of queries and weights have 7 bits and a sign.
        double tolerance = region.isCoded() ? 0.02 : 1e-5;
        if (t == 0 && form == Form::random)
          runner.expectNear("o", part[0], exactAttention(region, row, kvHead, position + t, scale), tolerance);
        expected.insert(expected.end(), part.begin(), part.end());
      }
    int64_t units = attentionUnits(heads, shape.kvHeads), tiles = numTokens * units;
    call(kernels.whole, numTokens, position, 1, tiles, q.data(), region.bytes.data(), &region.window, o.data());
    call(kernels.whole, numTokens, position, 0, 1, q.data(), region.bytes.data(), &region.window, o.data());
    runner.expectSame("o", o, expected);
    for (int64_t t = 0; t < numTokens; ++t)
      call(kernels.whole, 1, position + t, 0, units, &q[t * heads * shape.keyDim], region.bytes.data(), &region.window,
           &single[t * heads * shape.valueDim]);
    runner.expectSame("o token by token", single, expected);
    std::vector<float> sums((size_t)(kMaxSpans * heads * shape.valueLanes())), stats((size_t)(kMaxSpans * 2 * heads));
    for (int64_t t = 0; t < numTokens; ++t) {
      int64_t splits = kSplits * units, at = position + t, rowOfQ = t * heads * shape.keyDim;
      for (int64_t tile = splits; tile-- > 0;)
        call(kernels.split, 1, at, tile, tile + 1, &q[rowOfQ], region.bytes.data(), &region.window, sums.data(),
             stats.data());
      call(kernels.merge, 1, at, 0, 1, sums.data(), stats.data(), &region.window, &single[t * heads * shape.valueDim]);
    }
    runner.expectSame("o of spans", single, expected);
  }
}

void runAttentionKernel(const char *name, const AttentionKernels &kernels, int64_t heads, const KvShape &shape) {
  Runner runner(name);
  // {window, sinks}: none; smaller than a block; sinks in a block that leaves the window, and beyond one; sinks in the
  // first span and a window in two others.
  const uint32_t windows[][2] = {{0, 0}, {1, 0}, {50, 0}, {100, 4}, {64, 70}, {600, 65}};
  for (auto [window, sinks] : windows) {
    if (window && shape.keyDim > 32)
      break;
    Region region(shape);
    region.window = moert_make_kv_window(kContext, window, sinks, kMaxTokens);
    runAttention(runner, kernels, heads, region, Form::random);
  }
  for (Form form : {Form::largest, Form::zeros, Form::outlier, Form::denormal}) {
    Region region(shape);
    runAttention(runner, kernels, heads, region, form);
  }
}

} // namespace

#define DECLARE(name, ...) extern "C" void name();
ROPE_KERNELS(DECLARE)
#define DECLARE_ATTENTION(name, ...) extern "C" void name(), name##_split(), name##_merge();
ATTENTION_KERNELS(DECLARE_ATTENTION)

void runRopeCases() {
#define ROPE(name, heads, kvHeads, keyDim, valueDim, kind, layerOffset, rotaryDim, headNorms, unitOffset)              \
  runRope(#name, name, heads, {kvHeads, keyDim, valueDim, element::kind, layerOffset}, rotaryDim, headNorms,           \
          unitOffset);
  ROPE_KERNELS(ROPE)
}

void runAttentionCases() {
#define ATTENTION(name, heads, kvHeads, keyDim, valueDim, kind, layerOffset)                                           \
  runAttentionKernel(#name, {name, name##_split, name##_merge}, heads,                                                 \
                     {kvHeads, keyDim, valueDim, element::kind, layerOffset});
  ATTENTION_KERNELS(ATTENTION)
}
