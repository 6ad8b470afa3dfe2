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

/// Keys in descending order, sorted only as far as they are asked for: a heap in front, the sorted ones behind.
class Candidates {
public:
  Candidates(uint64_t *keys, uint32_t count) : keys(keys), count(count), heapSize(count) {
    for (uint32_t i = count / 2; i-- > 0;)
      siftDown(keys, heapSize, i);
  }

  uint32_t size() const { return count; }
  int32_t id(uint32_t rank) { return idOf(key(rank)); }
  /// Key of candidate `rank`; each rank is first asked for after all lower ones.
  uint64_t key(uint32_t rank) {
    while (count - heapSize <= rank) {
      uint64_t top = keys[0];
      keys[0] = keys[--heapSize];
      siftDown(keys, heapSize, 0);
      keys[heapSize] = top;
    }
    return keys[count - 1 - rank];
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

  uint64_t of(int32_t id) const { return ofLogit(logits[id]); }
  uint64_t ofLogit(float logit) const { return fixedPointExp((static_cast<double>(logit) - maximum) / temperature); }

private:
  const float *logits;
  double maximum;
  double temperature;
};

/// Keys of all logits whose ordered bits are at least `bound`; returns their number.
uint32_t gatherFrom(const TiledLogits &logits, uint32_t bound, uint64_t *keys) {
  uint32_t count = 0;
  for (uint32_t tile = 0; tile < logits.numTiles(); ++tile) {
    if (orderedBits(logits.maxima[tile]) < bound)
      continue;
    for (uint32_t id = logits.begin(tile); id < logits.end(tile); ++id) {
      keys[count] = keyOf(logits.values[id], id);
      count += keys[count] >> 32 >= bound;
    }
  }
  return count;
}

/// Ordered bits that the k largest logits reach: those of the k-th largest maximum, since each of k tiles holds its
/// own.
uint32_t boundOfLargest(const TiledLogits &logits, uint32_t k, uint64_t *scratch) {
  uint32_t numTiles = logits.numTiles();
  if (k > numTiles)
    return 0;
  for (uint32_t tile = 0; tile < numTiles; ++tile)
    scratch[tile] = keyOf(logits.maxima[tile], tile);
  Candidates maxima(scratch, numTiles);
  uint32_t bound = 0;
  for (uint32_t rank = 0; rank < k; ++rank)
    bound = static_cast<uint32_t>(maxima.key(rank) >> 32);
  return bound;
}

/// Sums of all weights by the position of their highest bit. Larger logits have larger weights.
struct WeightClasses {
  static constexpr int kCount = 64;
  uint64_t sums[kCount] = {};
  uint32_t lowest[kCount]; /// ordered bits of the smallest logit of the class
  uint64_t total = 0;

  void add(uint64_t weight, float logit) {
    if (!weight)
      return;
    int index = 63 - __builtin_clzll(weight);
    uint32_t bits = orderedBits(logit);
    lowest[index] = sums[index] && lowest[index] < bits ? lowest[index] : bits;
    sums[index] += weight;
    total += weight;
  }

  /// Ordered bits that all logits reach which are kept while less than `threshold` is, and whose weight is at least
  /// `leastWeight`.
  uint32_t boundOf(uint64_t threshold, uint64_t leastWeight) const {
    uint64_t sum = 0;
    uint32_t bound = UINT32_MAX;
    for (int index = kCount - 1; index >= 0 && (sum == 0 || (sum < threshold && leastWeight >> index <= 1)); --index)
      if (sums[index]) {
        sum += sums[index];
        bound = lowest[index];
      }
    return bound;
  }
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

void findMaxima(const float *values, uint32_t vocabSize, float *maxima) {
  TiledLogits logits{values, maxima, vocabSize};
  for (uint32_t tile = 0; tile < logits.numTiles(); ++tile) {
    maxima[tile] = -__builtin_inff();
    for (uint32_t id = logits.begin(tile); id < logits.end(tile); ++id)
      maxima[tile] = values[id] > maxima[tile] ? values[id] : maxima[tile];
  }
}

int32_t greedyToken(const TiledLogits &logits) {
  uint64_t best = 0;
  for (uint32_t tile = 0; tile < logits.numTiles(); ++tile) {
    uint64_t key = keyOf(logits.maxima[tile], tile);
    best = key > best ? key : best;
  }
  if (best == 0)
    return 0;
  uint32_t tile = static_cast<uint32_t>(idOf(best)), id = logits.begin(tile);
  while (id + 1 < logits.end(tile) && orderedBits(logits.values[id]) != best >> 32)
    ++id;
  return static_cast<int32_t>(id);
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

/// The token of the whole distribution: ids ascend, so that nothing needs sorting. `sums` [numTiles] are those of
/// tiles.
static int32_t drawFromAll(const TiledLogits &logits, const Weights &weights, uint64_t target, const uint64_t *sums) {
  uint32_t tile = 0;
  for (; tile + 1 < logits.numTiles() && sums[tile] <= target; ++tile)
    target -= sums[tile];
  uint64_t sum = 0;
  for (uint32_t id = logits.begin(tile); id < logits.end(tile); ++id)
    if ((sum += weights.of(static_cast<int32_t>(id))) > target)
      return static_cast<int32_t>(id);
  return static_cast<int32_t>(logits.vocabSize - 1); // never: the target is less than the total
}

int32_t sampleToken(const TiledLogits &logits, const moert_sampler_options &options, uint64_t position,
                    uint64_t *scratch) {
  int32_t best = greedyToken(logits);
  if (options.temperature == 0.0f || logits.vocabSize == 0)
    return best;
  float maximum = logits.values[best];
  if (!(maximum - maximum == 0.0f)) // all minus infinity, or plus infinity: no finite distribution
    return best;
  Weights weights(logits.values, maximum, options.temperature);
  // The largest weight is 2^40.
  uint64_t leastWeight = static_cast<uint64_t>(static_cast<double>(options.min_p) * 1099511627776.0);
  uint64_t draw = randomBits(options.seed, position), threshold;
  float topP = options.top_p > 0.0f ? options.top_p : 1.0f;
  uint32_t bound, most = logits.vocabSize;
  if (options.top_k > 0 && static_cast<uint32_t>(options.top_k) < logits.vocabSize) {
    most = static_cast<uint32_t>(options.top_k);
    bound = boundOfLargest(logits, most, scratch);
    threshold = 0; // of the k largest, below
  } else {
    WeightClasses classes;
    for (uint32_t tile = 0; tile < logits.numTiles(); ++tile) {
      uint64_t before = classes.total;
      if (weights.ofLogit(logits.maxima[tile]))
        for (uint32_t id = logits.begin(tile); id < logits.end(tile); ++id)
          classes.add(weights.of(static_cast<int32_t>(id)), logits.values[id]);
      scratch[tile] = classes.total - before;
    }
    threshold = thresholdOf(topP, classes.total);
    if (threshold == classes.total && !leastWeight)
      return drawFromAll(logits, weights, mulHigh(draw, classes.total), scratch);
    bound = classes.boundOf(threshold, leastWeight);
  }
  Candidates candidates(scratch, gatherFrom(logits, bound, scratch));
  most = most < candidates.size() ? most : candidates.size();
  if (threshold == 0) {
    uint64_t total = 0;
    for (uint32_t rank = 0; rank < most; ++rank)
      total += weights.of(candidates.id(rank));
    threshold = thresholdOf(topP, total);
  }
  uint64_t kept = 0;
  uint32_t numKept = 0;
  while (numKept < most && (numKept == 0 || kept < threshold)) {
    uint64_t weight = weights.of(candidates.id(numKept));
    if (numKept && weight < leastWeight)
      break;
    kept += weight;
    ++numKept;
  }
  uint64_t target = mulHigh(draw, kept), sum = 0;
  for (uint32_t rank = 0; rank < numKept; ++rank)
    if ((sum += weights.of(candidates.id(rank))) > target)
      return candidates.id(rank);
  return best;
}

} // namespace moert
