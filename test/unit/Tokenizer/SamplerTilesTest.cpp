// SPDX-License-Identifier: Apache-2.0
/// \file
/// A sampler that looks at maxima of tiles first chooses what one that sorts all logits chooses, for every setting and
/// for adversarial logits.
#include "runtime/sampler/Sampler.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace moert;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What the header of `sampleToken` says, by a sort of everything.
int32_t sampleBySorting(const std::vector<float> &logits, const moert_sampler_options &options, uint64_t position) {
  auto valueOf = [&](int32_t id) { return std::isnan(logits[id]) ? -kInfinity : logits[id]; };
  std::vector<int32_t> ids(logits.size());
  for (size_t id = 0; id < ids.size(); ++id)
    ids[id] = static_cast<int32_t>(id);
  std::sort(ids.begin(), ids.end(),
            [&](int32_t a, int32_t b) { return valueOf(a) != valueOf(b) ? valueOf(a) > valueOf(b) : a < b; });
  float maximum = logits[ids[0]];
  if (options.temperature == 0.0f || !std::isfinite(maximum))
    return ids[0];
  double largest = maximum, temperature = options.temperature;
  auto weightOf = [&](int32_t id) { return fixedPointExp((static_cast<double>(logits[id]) - largest) / temperature); };
  size_t most = options.top_k > 0 ? std::min<size_t>(options.top_k, ids.size()) : ids.size();
  unsigned __int128 total = 0;
  for (size_t rank = 0; rank < most; ++rank)
    total += weightOf(ids[rank]);
  uint64_t threshold = static_cast<uint64_t>(total);
  if (options.top_p > 0.0f && options.top_p < 1.0f)
    threshold = static_cast<uint64_t>(
        (total * static_cast<uint64_t>(static_cast<double>(options.top_p) * 4294967296.0) + 0xFFFFFFFFu) >> 32);
  uint64_t least = static_cast<uint64_t>(static_cast<double>(options.min_p) * 1099511627776.0);
  uint64_t draw = randomBits(options.seed, position), kept = 0;
  auto targetOf = [&](uint64_t sum) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(draw) * sum) >> 64);
  };
  if (threshold == total && most == ids.size() && !least) {
    std::sort(ids.begin(), ids.end()); // nothing is cut off: in the order of ids
    kept = threshold;
  } else {
    size_t rank = 0;
    for (; rank < most && (rank == 0 || kept < threshold); ++rank) {
      if (rank && weightOf(ids[rank]) < least)
        break;
      kept += weightOf(ids[rank]);
    }
    ids.resize(rank);
  }
  uint64_t target = targetOf(kept), sum = 0;
  for (int32_t id : ids)
    if ((sum += weightOf(id)) > target)
      return id;
  return ids[0];
}

/// Logits of a kind: spread, peaked, ties, few levels, equal maxima of tiles, holes of NaN and infinities, one value.
std::vector<float> logitsOf(int kind, uint32_t count, std::mt19937 &random) {
  std::normal_distribution<float> normal;
  std::vector<float> logits(count);
  for (uint32_t id = 0; id < count; ++id)
    switch (kind) {
    case 0:
      logits[id] = normal(random);
      break;
    case 1:
      logits[id] = normal(random) * 30;
      break;
    case 2:
      logits[id] = static_cast<float>(random() % 4) - 2;
      break;
    case 3:
      logits[id] = id % MOERT_LOGIT_TILE == (id / MOERT_LOGIT_TILE * 37) % MOERT_LOGIT_TILE ? 5.0f : normal(random);
      break;
    case 4:
      logits[id] = random() % 3 == 0 ? std::nanf("") : random() % 3 == 0 ? -kInfinity : normal(random) * 4;
      break;
    case 5:
      logits[id] = random() % 2 ? 0.0f : -0.0f;
      break;
    case 6:
      logits[id] = random() % 5 ? -kInfinity : std::nanf("");
      break;
    case 7:
      logits[id] = random() % 1000 == 0 ? kInfinity : normal(random);
      break;
    default:
      logits[id] = id / MOERT_LOGIT_TILE == 1 ? normal(random) + 12 : -50 + normal(random);
    }
  return logits;
}

} // namespace

TEST(SamplerTiles, ChoosesWhatSortingEverythingChooses) {
  std::mt19937 random(11);
  for (uint32_t count : {1u, 2u, 1023u, 1024u, 1025u, 3500u})
    for (int kind = 0; kind < 9; ++kind) {
      std::vector<float> logits = logitsOf(kind, count, random), maxima(numLogitTiles(count));
      std::vector<uint64_t> scratch(count);
      findMaxima(logits.data(), count, maxima.data());
      for (float temperature : {0.0f, 0.05f, 0.8f, 20.0f})
        for (int32_t topK : {0, 1, 3, 20, 1500, 4000})
          for (float topP : {0.0f, 1e-12f, 0.5f, 0.95f, 1.0f})
            for (float minP : {0.0f, 0.05f, 1.0f}) {
              moert_sampler_options options = {};
              options.temperature = temperature;
              options.top_k = topK;
              options.top_p = topP;
              options.min_p = minP;
              options.seed = random();
              uint64_t position = random() % 100;
              ASSERT_EQ(sampleToken({logits.data(), maxima.data(), count}, options, position, scratch.data()),
                        sampleBySorting(logits, options, position))
                  << "count " << count << " kind " << kind << " temperature " << temperature << " top_k " << topK
                  << " top_p " << topP << " min_p " << minP;
              if (temperature == 0.0f)
                break;
            }
    }
}

TEST(SamplerTiles, WeightsNeverRiseAsLogitsFall) {
  // Cuts by classes of weights rely on it, also where the power of two changes.
  uint64_t before = fixedPointExp(0);
  for (double x = 0; x > -29; x -= 1e-4) {
    uint64_t weight = fixedPointExp(x);
    ASSERT_LE(weight, before) << x;
    before = weight;
  }
}
