// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sampling in integers. Part of the run step.
#include "runtime/sampler/Sampler.h"

#include <string.h>

namespace moert {

namespace {

// A key orders candidates: upper half the logit as an ordered integer, lower half the complement of the id, so that the
// largest key is the largest logit with the lowest id.

uint32_t orderedBits(float value) {
  // NaN sorts as minus infinity; adding zero turns -0 into +0, so that the two tie.
  if (value != value)
    value = -__builtin_inff();
  value += 0.0f;
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

uint64_t keyOf(float logit, uint32_t id) { return static_cast<uint64_t>(orderedBits(logit)) << 32 | ~id; }

int32_t idOf(uint64_t key) { return static_cast<int32_t>(~static_cast<uint32_t>(key)); }

void siftDown(uint64_t *heap, uint32_t size, uint32_t root) {
  uint64_t moving = heap[root];
  for (uint32_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
    if (child + 1 < size && heap[child + 1] > heap[child])
      ++child;
    if (heap[child] <= moving)
      break;
    heap[root] = heap[child];
    root = child;
  }
  heap[root] = moving;
}

/// Candidates in descending order, sorted only as far as they are asked for: a heap in front, the sorted ones behind.
class Candidates {
public:
  Candidates(const float *logits, uint32_t count, uint64_t *keys) : keys(keys), count(count), heapSize(count) {
    for (uint32_t id = 0; id < count; ++id)
      keys[id] = keyOf(logits[id], id);
    for (uint32_t i = count / 2; i-- > 0;)
      siftDown(keys, heapSize, i);
  }

  /// Id of candidate `rank`; each rank is first asked for after all lower ones.
  int32_t id(uint32_t rank) {
    while (count - heapSize <= rank) {
      uint64_t top = keys[0];
      keys[0] = keys[--heapSize];
      siftDown(keys, heapSize, 0);
      keys[heapSize] = top;
    }
    return idOf(keys[count - 1 - rank]);
  }

private:
  uint64_t *keys;
  uint32_t count;
  uint32_t heapSize;
};

class Weights {
public:
  Weights(const float *logits, float maximum, float temperature)
      : logits(logits), maximum(maximum), temperature(temperature) {}

  uint64_t of(int32_t id) const { return fixedPointExp((static_cast<double>(logits[id]) - maximum) / temperature); }

private:
  const float *logits;
  double maximum;
  double temperature;
};

uint64_t mulHigh(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}

/// The smallest sum that reaches the share `topP` of `total`, rounded up to 2^-32 of it.
uint64_t thresholdOf(float topP, uint64_t total) {
  if (!(topP < 1.0f))
    return total;
  if (!(topP > 0.0f))
    return 0;
  uint64_t share = static_cast<uint64_t>(static_cast<double>(topP) * 4294967296.0);
  return static_cast<uint64_t>((static_cast<unsigned __int128>(total) * share + 0xFFFFFFFFu) >> 32);
}

uint64_t mixBits(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

constexpr double kLog2E = 1.4426950408889634;
/// ln(2)^n / n! * 2^62: the series of 2^g for 0 <= g < 1, exact to 2^-40 by far.
constexpr uint64_t kExp2[15] = {
    0x4000000000000000, 0x2C5C85FDF473DE6B, 0xF5FDEFFC162C754, 0x38D611AE09417F1, 0x9D955B7DD273B9,
    0x15D87FE78A6731,   0x2861225F0D8F1,    0x3FF97F8B1162,    0x58B0088E972,     0x6D494F4E58,
    0x7933D4563,        0x7A32B1CD,         0x70EF594,         0x605865,          0x4C526};

} // namespace

const char *checkSamplerOptions(const moert_sampler_options &options) {
  if (!(options.temperature >= 0.0f) || options.temperature > 3.0e38f)
    return "expects a temperature of 0 (greedy) or more";
  if (!(options.top_p >= 0.0f && options.top_p <= 1.0f))
    return "expects top_p between 0 and 1";
  if (!(options.min_p >= 0.0f && options.min_p <= 1.0f))
    return "expects min_p between 0 and 1";
  if (options.top_k < 0)
    return "expects top_k of 0 (off) or more";
  return nullptr;
}

int32_t greedyToken(const float *logits, uint32_t vocabSize) {
  uint64_t best = 0;
  for (uint32_t id = 0; id < vocabSize; ++id) {
    uint64_t key = keyOf(logits[id], id);
    best = key > best ? key : best;
  }
  return vocabSize == 0 ? 0 : idOf(best);
}

uint64_t fixedPointExp(double x) {
  double y = -(x * kLog2E);
  if (!(y < 41.0))
    return 0;
  if (y < 0.0)
    y = 0.0;
  // exp(x) = 2^-(whole + part / 2^32) = 2^-ceil * 2^rest, with 0 <= rest < 1.
  uint64_t fixed = static_cast<uint64_t>(y * 4294967296.0);
  uint64_t ceiling = (fixed + 0xFFFFFFFFu) >> 32;
  uint64_t rest = ((ceiling << 32) - fixed) << 32;
  uint64_t sum = kExp2[14];
  for (int n = 13; n >= 0; --n)
    sum = kExp2[n] + mulHigh(sum, rest);
  return sum >> (22 + ceiling);
}

uint64_t randomBits(uint64_t seed, uint64_t position) {
  constexpr uint64_t kGamma = 0x9E3779B97F4A7C15u;
  return mixBits(mixBits(seed + kGamma) + (position + 1) * kGamma);
}

int32_t sampleToken(const float *logits, uint32_t vocabSize, const moert_sampler_options &options, uint64_t position,
                    uint64_t *scratch) {
  int32_t best = greedyToken(logits, vocabSize);
  if (options.temperature == 0.0f || vocabSize == 0)
    return best;
  float maximum = logits[best];
  if (!(maximum - maximum == 0.0f)) // all minus infinity, or plus infinity: no finite distribution
    return best;
  Weights weights(logits, maximum, options.temperature);
  bool limited = options.top_k > 0 && static_cast<uint32_t>(options.top_k) < vocabSize;
  uint32_t numCandidates = limited ? static_cast<uint32_t>(options.top_k) : vocabSize;
  Candidates candidates(logits, vocabSize, scratch);
  uint64_t total = 0;
  for (uint32_t i = 0; i < numCandidates; ++i)
    total += weights.of(limited ? candidates.id(i) : static_cast<int32_t>(i));
  uint64_t threshold = thresholdOf(options.top_p > 0.0f ? options.top_p : 1.0f, total);
  // The largest weight is 2^40.
  uint64_t leastWeight = static_cast<uint64_t>(static_cast<double>(options.min_p) * 1099511627776.0);
  uint64_t draw = randomBits(options.seed, position), kept = 0;
  uint32_t numKept = 0;
  if (threshold == total && !limited && !leastWeight) {
    // Nothing is cut off: the order of ids serves as well and needs no sorting.
    uint64_t target = mulHigh(draw, total), sum = 0;
    for (uint32_t id = 0; id < vocabSize; ++id)
      if ((sum += weights.of(static_cast<int32_t>(id))) > target)
        return static_cast<int32_t>(id);
    return best;
  }
  while (numKept < numCandidates && (numKept == 0 || kept < threshold)) {
    uint64_t weight = weights.of(candidates.id(numKept));
    if (numKept && weight < leastWeight)
      break;
    kept += weight;
    ++numKept;
  }
  uint64_t target = mulHigh(draw, kept), sum = 0;
  for (uint32_t i = 0; i < numKept; ++i)
    if ((sum += weights.of(candidates.id(i))) > target)
      return candidates.id(i);
  return best;
}

} // namespace moert
