// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves the sampler: greedy with ties, the distribution, top-k and top-p, the same draws for the same seed.
#include "runtime/sampler/Sampler.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace moert;

static moert_sampler_options sampling(float temperature, int32_t topK = 0, float topP = 1.0f) {
  moert_sampler_options options = {};
  options.temperature = temperature;
  options.top_k = topK;
  options.top_p = topP;
  options.seed = 42;
  return options;
}

/// By the maxima that a model would leave.
static int32_t sample(const std::vector<float> &logits, const moert_sampler_options &options, uint64_t position) {
  uint32_t vocabSize = static_cast<uint32_t>(logits.size());
  std::vector<float> maxima(numLogitTiles(vocabSize));
  std::vector<uint64_t> scratch(vocabSize);
  findMaxima(logits.data(), vocabSize, maxima.data());
  return sampleToken({logits.data(), maxima.data(), vocabSize}, options, position, scratch.data());
}

static std::vector<double> frequencies(const std::vector<float> &logits, const moert_sampler_options &options) {
  constexpr int kDraws = 100000;
  std::vector<int> counts(logits.size());
  for (uint64_t position = 0; position < kDraws; ++position)
    ++counts[static_cast<size_t>(sample(logits, options, position))];
  std::vector<double> share;
  for (int count : counts)
    share.push_back(static_cast<double>(count) / kDraws);
  return share;
}

// Five standard deviations of a share p from 100,000 draws are at most 5 * sqrt(0.25 / 1e5) = 0.008.
constexpr double kTolerance = 0.008;

TEST(Sampler, GreedyTakesTheLowestIdOfTies) {
  std::vector<float> logits = {1, 3, 2, 3};
  EXPECT_EQ(sample(logits, sampling(0), 0), 1);
  EXPECT_EQ(sample(logits, sampling(0), 9), 1);
  logits = {-0.0f, 0.0f, -1};
  EXPECT_EQ(sample(logits, sampling(0), 0), 0);
}

TEST(Sampler, NumbersThatAreNoneLose) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  std::vector<float> logits = {nan, -5, nan};
  EXPECT_EQ(sample(logits, sampling(1), 0), 1);
  logits = {1, infinity, infinity};
  EXPECT_EQ(sample(logits, sampling(1), 0), 1);
  logits = {nan, nan, nan};
  EXPECT_EQ(sample(logits, sampling(1), 0), 0);
}

TEST(Sampler, MinPCutsWhatIsFarBelowTheLargest) {
  // Shares of the largest: 1, 0.37, 0.14, 0.05.
  std::vector<float> logits = {0.0f, 1.0f, 2.0f, -1.0f};
  moert_sampler_options options = sampling(1);
  options.min_p = 0.2f;
  std::vector<double> share = frequencies(logits, options);
  EXPECT_NEAR(share[2], 1 / (1 + std::exp(-1.0)), kTolerance);
  EXPECT_EQ(share[0] + share[3], 0.0);
  options.min_p = 1;
  EXPECT_EQ(frequencies(logits, options)[2], 1.0);
  options.min_p = 1.5f;
  EXPECT_STREQ(checkSamplerOptions(options), "expects min_p between 0 and 1");
}

TEST(Sampler, FollowsTheDistribution) {
  std::vector<float> logits = {0.0f, 1.0f, 2.0f, -1.0f};
  for (float temperature : {0.5f, 1.0f, 2.0f}) {
    std::vector<double> share = frequencies(logits, sampling(temperature));
    double total = 0;
    for (float logit : logits)
      total += std::exp(logit / temperature);
    for (size_t i = 0; i < logits.size(); ++i)
      EXPECT_NEAR(share[i], std::exp(logits[i] / temperature) / total, kTolerance);
  }
}

TEST(Sampler, TopKKeepsTheLargest) {
  std::vector<double> share = frequencies({1, 2, 2, 2, 0}, sampling(1, 2));
  // Three are equal: the two with the lowest ids stay.
  EXPECT_NEAR(share[1], 0.5, kTolerance);
  EXPECT_NEAR(share[2], 0.5, kTolerance);
  EXPECT_EQ(share[0] + share[3] + share[4], 0.0);
}

TEST(Sampler, TopPKeepsTheSmallestSetThatReachesIt) {
  // Probabilities 0.5, 0.25, 0.125, 0.125 by powers of two.
  const float ln2 = 0.6931472f;
  std::vector<float> logits = {-3 * ln2, -1 * ln2, -2 * ln2, -3 * ln2};
  std::vector<double> share = frequencies(logits, sampling(1, 0, 0.7f));
  EXPECT_NEAR(share[1], 2.0 / 3, kTolerance);
  EXPECT_NEAR(share[2], 1.0 / 3, kTolerance);
  EXPECT_EQ(share[0] + share[3], 0.0);
  EXPECT_EQ(frequencies(logits, sampling(1, 0, 1e-6f))[1], 1.0);
  // 0, as in a zeroed struct, cuts nothing.
  EXPECT_EQ(frequencies(logits, sampling(1, 0, 0.0f)), frequencies(logits, sampling(1)));
  // The share is taken of what top-k left: 0.5 of 0.75 reaches 0.6, so one candidate remains.
  EXPECT_EQ(frequencies(logits, sampling(1, 2, 0.6f))[1], 1.0);
}

TEST(Sampler, TinyTemperatureIsGreedy) { EXPECT_EQ(frequencies({1, 1.5f, 1.25f}, sampling(1e-30f))[1], 1.0); }

TEST(Sampler, DrawsAreNumbered) {
  EXPECT_EQ(randomBits(1, 5), randomBits(1, 5));
  EXPECT_NE(randomBits(1, 5), randomBits(1, 6));
  EXPECT_NE(randomBits(1, 5), randomBits(2, 5));
  EXPECT_NE(randomBits(1, 0), randomBits(0, 1));
}

TEST(Sampler, KnownDraws) {
  // From a separate implementation in Python with math.exp; a change would break every seed that a user has noted.
  std::vector<float> logits(64);
  for (int i = 0; i < 64; ++i)
    logits[static_cast<size_t>(i)] = static_cast<float>(i * 37 % 64) / 16.0f;
  std::vector<int32_t> ids;
  for (uint64_t position = 0; position < 8; ++position)
    ids.push_back(sample(logits, sampling(0.8f, 40, 0.95f), position));
  EXPECT_EQ(ids, (std::vector<int32_t>{31, 1, 24, 19, 55, 19, 57, 29}));
}

TEST(Sampler, ExpIsExactTo2ToTheMinus40) {
  EXPECT_EQ(fixedPointExp(0.0), 1ull << 40);
  for (double x = -0.001; x > -27; x *= 1.01)
    EXPECT_NEAR(static_cast<double>(fixedPointExp(x)), std::ldexp(std::exp(x), 40), 1.0 + std::ldexp(std::exp(x), 10));
  EXPECT_EQ(fixedPointExp(-1000), 0u);
  EXPECT_EQ(fixedPointExp(-std::numeric_limits<double>::infinity()), 0u);
  EXPECT_EQ(fixedPointExp(std::nan("")), 0u);
}

TEST(Sampler, ChecksOptions) {
  EXPECT_EQ(checkSamplerOptions(sampling(0.8f, 40, 0.95f)), nullptr);
  EXPECT_NE(checkSamplerOptions(sampling(-1)), nullptr);
  EXPECT_NE(checkSamplerOptions(sampling(std::nanf(""))), nullptr);
  EXPECT_NE(checkSamplerOptions(sampling(1, -1)), nullptr);
  EXPECT_NE(checkSamplerOptions(sampling(1, 0, 1.5f)), nullptr);
}
