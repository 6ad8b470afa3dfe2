// SPDX-License-Identifier: Apache-2.0
/// \file
/// KV cache and attention of the interpreter. Compiled without contraction; every fma stands in the source.
#include "lib/Reference/KvCache.h"

#include "lib/Reference/Clones.h"
#include "lib/Reference/Numerics.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Half.h"

#include <algorithm>
#include <cmath>

namespace moec {

struct KvCache::Partial {
  float largest = -INFINITY;
  float total = 0.0f;
  std::vector<float> o;
};

/// Writes `x` as it is kept and returns its scale (1 without one).
float KvCache::store(llvm::ArrayRef<float> x, llvm::MutableArrayRef<float> out) const {
  float scale = 1.0f;
  if (kvShape.hasScales()) {
    std::vector<int8_t> codes(x.size());
    scale = kvShape.element == KvElement::i8 ? quantizeGroup(x, codes) : quantizeNibbles(x, codes);
    std::copy(codes.begin(), codes.end(), out.begin());
  } else if (kvShape.element == KvElement::f16) {
    std::transform(x.begin(), x.end(), out.begin(), [](float value) { return f16ToF32(f32ToF16(value)); });
  } else {
    std::copy(x.begin(), x.end(), out.begin());
  }
  return scale;
}

llvm::Error KvCache::append(const FloatTensor &k, const FloatTensor &v, int64_t position) {
  if (position < 0 || position > filled)
    return fault("expects a position from 0 to " + llvm::Twine(filled) + ", which the cache holds, but got " +
                 llvm::Twine(position));
  if (k.numRows() > kvShape.capacity - position)
    return fault("expects at most " + llvm::Twine(kvShape.capacity) + " positions, but got " +
                 llvm::Twine(k.numRows()) + " tokens from position " + llvm::Twine(position));
  for (int64_t t = 0; t < k.numRows(); ++t) {
    int64_t at = (position + t) % kBlock;
    for (int64_t h = 0; h < kvShape.heads; ++h) {
      if (static_cast<int64_t>(blocks[h].size()) <= (position + t) / kBlock) {
        Block fresh;
        fresh.keys.resize(kvShape.keyDim * kBlock);
        fresh.values.resize(kvShape.valueDim * kBlock);
        fresh.valueScales.resize((kvShape.valueDim + kvShape.valueGroup() - 1) / kvShape.valueGroup() * kBlock);
        blocks[h].push_back(std::move(fresh));
      }
      Block &block = blocks[h][(position + t) / kBlock];
      std::vector<float> key = k.row(t).slice(h * kvShape.keyDim, kvShape.keyDim).vec();
      if (kvShape.element == KvElement::i4)
        hadamard(key, kvRotationBlock(kvShape.keyDim));
      block.keyScales[at] = store(key, key);
      for (int64_t i = 0; i < kvShape.keyDim; ++i)
        block.keys[i * kBlock + at] = key[i];
      llvm::ArrayRef<float> value = v.row(t).slice(h * kvShape.valueDim, kvShape.valueDim);
      auto stored = llvm::MutableArrayRef(block.values).slice(at * kvShape.valueDim, kvShape.valueDim);
      for (int64_t first = 0; first < kvShape.valueDim; first += kvShape.valueGroup()) {
        int64_t count = std::min(kvShape.valueGroup(), kvShape.valueDim - first);
        block.valueScales[first / kvShape.valueGroup() * kBlock + at] =
            store(value.slice(first, count), stored.slice(first, count));
      }
    }
  }
  filled = position + k.numRows();
  return llvm::Error::success();
}

/// scores[p] = Σ_i q[i] keys[i][p], i ascending.
REFERENCE_FMA_CLONES static void scoreBlock(const float *__restrict q, const float *__restrict keys, int64_t dim,
                                            float *__restrict scores) {
  float sums[64] = {};
  for (int64_t i = 0; i < dim; ++i)
    for (int64_t p = 0; p < 64; ++p)
      sums[p] = __builtin_fmaf(q[i], keys[i * 64 + p], sums[p]);
  std::copy(sums, sums + 64, scores);
}

REFERENCE_FMA_CLONES static void addWeighted(float weight, const float *__restrict v, int64_t dim,
                                             float *__restrict o) {
  for (int64_t i = 0; i < dim; ++i)
    o[i] = __builtin_fmaf(weight, v[i], o[i]);
}

/// o = fma(Σ code * v, scale, o), where codes of the weights are at most 127. All sums are exact: below 2^24.
static void addCoded(llvm::ArrayRef<float> weights, const float *values, int64_t stride,
                     llvm::MutableArrayRef<float> o) {
  float largest = 0.0f;
  for (float weight : weights)
    largest = weight > largest ? weight : largest;
  float inverse = largest < 1e-30f ? 0.0f : 127.0f / largest, scale = largest < 1e-30f ? 0.0f : largest / 127.0f;
  std::vector<float> sums(o.size());
  for (size_t p = 0; p < weights.size(); ++p) {
    float code = std::nearbyint(weights[p] * inverse);
    code = code > 0.0f ? code : 0.0f;
    if (code != 0.0f)
      addWeighted(code < 127.0f ? code : 127.0f, values + p * stride, o.size(), sums.data());
  }
  for (size_t i = 0; i < o.size(); ++i)
    o[i] = std::fma(sums[i], scale, o[i]);
}

void KvCache::addBlock(int64_t head, int64_t number, llvm::ArrayRef<float> q, int64_t numCausal, float scale,
                       Partial &span) const {
  const Block &block = blocks[head][number];
  bool isScaled = kvShape.hasScales();
  float scores[kBlock], weights[kBlock] = {}, partials[16] = {}, largest = span.largest;
  scoreBlock(q.data(), block.keys.data(), kvShape.keyDim, scores);
  for (int64_t p = 0; p < kBlock; ++p) {
    if (!isSeen(number * kBlock + p, numCausal))
      continue;
    scores[p] = scores[p] * (isScaled ? block.keyScales[p] * scale : scale);
    largest = scores[p] > largest ? scores[p] : largest;
  }
  float correction = expandedExp(span.largest - largest);
  for (float &o : span.o)
    o = o * correction;
  for (int64_t p = 0; p < kBlock; ++p) {
    if (!isSeen(number * kBlock + p, numCausal))
      continue;
    weights[p] = expandedExp(scores[p] - largest);
    partials[p % 16] = partials[p % 16] + weights[p];
    if (!isScaled)
      addWeighted(weights[p], &block.values[p * kvShape.valueDim], kvShape.valueDim, span.o.data());
  }
  for (int64_t first = 0; isScaled && first < kvShape.valueDim; first += kvShape.valueGroup()) {
    float scaled[kBlock];
    for (int64_t p = 0; p < kBlock; ++p)
      scaled[p] = weights[p] * block.valueScales[first / kvShape.valueGroup() * kBlock + p];
    addCoded(scaled, &block.values[first], kvShape.valueDim,
             llvm::MutableArrayRef(span.o).slice(first, std::min(kvShape.valueGroup(), kvShape.valueDim - first)));
  }
  span.total = std::fma(span.total, correction, treeSum(partials));
  span.largest = largest;
}

void KvCache::attend(int64_t head, llvm::ArrayRef<float> q, int64_t numCausal, float scale,
                     llvm::MutableArrayRef<float> o) const {
  std::vector<float> query = q.vec();
  if (kvShape.element == KvElement::i4)
    hadamard(query, kvRotationBlock(kvShape.keyDim));
  if (kvShape.hasScales()) {
    std::vector<int8_t> codes(query.size());
    scale = quantizeGroup(query, codes) * scale;
    std::copy(codes.begin(), codes.end(), query.begin());
  }
  auto seesAny = [&](int64_t begin) {
    for (int64_t p = begin; p < begin + kBlock; ++p)
      if (isSeen(p, numCausal))
        return true;
    return false;
  };
  Partial all{-INFINITY, 0.0f, std::vector<float>(o.size())};
  for (int64_t first = 0; first < numCausal; first += kSpan) {
    Partial span{-INFINITY, 0.0f, std::vector<float>(o.size())};
    bool isEmpty = true;
    for (int64_t begin = first; begin < std::min(first + kSpan, numCausal); begin += kBlock)
      if (seesAny(begin)) {
        addBlock(head, begin / kBlock, query, numCausal, scale, span);
        isEmpty = false;
      }
    if (isEmpty)
      continue;
    float largest = span.largest > all.largest ? span.largest : all.largest;
    float before = expandedExp(all.largest - largest), now = expandedExp(span.largest - largest);
    for (size_t i = 0; i < o.size(); ++i)
      all.o[i] = std::fma(span.o[i], now, all.o[i] * before);
    all.total = std::fma(span.total, now, all.total * before);
    all.largest = largest;
  }
  for (size_t i = 0; i < o.size(); ++i)
    o[i] = all.o[i] / all.total;
}

} // namespace moec
