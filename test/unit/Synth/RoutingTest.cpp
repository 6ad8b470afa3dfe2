// SPDX-License-Identifier: Apache-2.0
/// \file
/// Skewed routing: shares follow Zipf's law, and routers applied to embeddings use the experts with these shares.
#include "lib/Synth/RandomTensor.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace moec;

namespace {

std::vector<float> allValues(const RandomKind &kind, llvm::StringRef name, uint64_t rows, uint64_t columns) {
  std::vector<float> values(rows * columns);
  RandomTensor::ofShape(kind, name, {rows, columns}).values(RandomType::BF16, 0, values);
  return values;
}

/// How many of `numTokens` tokens use each expert of a router that is applied to normalized embeddings.
std::vector<double> countUses(const RandomKind &kind, llvm::StringRef router, uint64_t numExperts, uint64_t hidden,
                              uint64_t numTokens) {
  std::vector<float> table = allValues(kind, "model.embed_tokens.weight", numTokens, hidden);
  std::vector<float> weights = allValues(kind, router, numExperts, hidden);
  std::vector<double> uses(numExperts);
  for (uint64_t token = 0; token < numTokens; ++token) {
    std::vector<std::pair<double, uint64_t>> scores;
    for (uint64_t expert = 0; expert < numExperts; ++expert)
      scores.push_back(
          {-std::inner_product(&table[token * hidden], &table[token * hidden] + hidden, &weights[expert * hidden], 0.0),
           expert});
    std::sort(scores.begin(), scores.end());
    for (uint32_t i = 0; i < kind.routing.topK; ++i)
      ++uses[scores[i].second];
  }
  return uses;
}

} // namespace

TEST(Routing, TextIsANumberWithThreeDecimals) {
  for (auto [text, value] : {std::pair("zipf:1", 1000),
                             {"zipf:1.2", 1200},
                             {"zipf:0.05", 50},
                             {"zipf:0", 0},
                             {"zipf:4", 4000},
                             {"zipf:0.001", 1}}) {
    EXPECT_EQ(parseZipf(text), uint32_t(value)) << text;
    EXPECT_EQ(zipfText(value), text);
  }
  EXPECT_EQ(parseZipf("zipf:1.50"), 1500u);
  for (const char *text : {"zipf", "zipf:", "zipf:.5", "zipf:1.", "zipf:1.2345", "zipf:-1", "zipf:1.-2", "zipf:4.001",
                           "zipf:10", "zipf:1e0", "zipf:nan", "uniform", ""})
    EXPECT_EQ(parseZipf(text), std::nullopt) << text;
}

TEST(Routing, SharesAddUpAndFollowTheRank) {
  for (uint32_t zipf : {0, 500, 1000, 4000}) {
    std::vector<double> shares = usedShares(128, {zipf, 8});
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 8, 1e-9);
    EXPECT_TRUE(std::is_sorted(shares.rbegin(), shares.rend()));
    // Rare experts are used in proportion to 1 / rank^S: saturation is gone where a share is small.
    double expected = std::pow(2.0, -double(zipf) / 1000), ratio = shares[127] / shares[63];
    EXPECT_NEAR(ratio / expected, 1, 0.04) << zipf;
  }
  EXPECT_EQ(usedShares(4, {1000, 4}), std::vector<double>(4, 1.0));
}

TEST(Routing, ScoresExceedWithTheirShare) {
  std::vector<double> shares = usedShares(64, {1200, 4});
  std::vector<float> scores = scoresByRank(64, {1200, 4});
  for (auto [share, score] : llvm::zip_equal(shares, scores)) {
    EXPECT_NEAR(std::erfc(-score / std::sqrt(2.0)) / 2, share, 0.001);
    EXPECT_EQ(score * 256, std::round(score * 256));
  }
}

TEST(Routing, RoutersUseExpertsByTheirShares) {
  constexpr uint64_t kExperts = 32, kTokens = 2000;
  RandomKind kind(5, false, {1000, 4});
  std::vector<double> shares = usedShares(kExperts, kind.routing);
  std::vector<std::vector<double>> uses;
  for (const char *router : {"model.layers.0.mlp.gate.weight", "model.layers.1.mlp.gate.weight"})
    uses.push_back(countUses(kind, router, kExperts, 128, kTokens));
  EXPECT_NE(std::max_element(uses[0].begin(), uses[0].end()) - uses[0].begin(),
            std::max_element(uses[1].begin(), uses[1].end()) - uses[1].begin())
      << "layers have the same favourites";
  for (std::vector<double> &layer : uses) {
    std::sort(layer.rbegin(), layer.rend());
    double difference = 0;
    for (auto [count, share] : llvm::zip_equal(layer, shares))
      difference += std::abs(count / kTokens - share);
    // The threshold moves with the draw, which the shares leave out; 2000 tokens add a little. Of 4 uses a token.
    EXPECT_LT(difference, 0.4);
  }
  kind.routing.zipfThousandths = 0;
  std::vector<double> even = countUses(kind, "model.layers.0.mlp.gate.weight", kExperts, 128, kTokens);
  EXPECT_LT(*std::max_element(even.begin(), even.end()), 1.3 * 4 * kTokens / kExperts);
}

TEST(Routing, OnlyNamedTensorsDiffer) {
  RandomKind plain(5), skewed(5, false, {1000, 4});
  EXPECT_EQ(allValues(plain, "lm_head.weight", 8, 64), allValues(skewed, "lm_head.weight", 8, 64));
  std::vector<float> a = allValues(plain, "model.layers.3.mlp.gate.weight", 8, 64);
  std::vector<float> b = allValues(skewed, "model.layers.3.mlp.gate.weight", 8, 64);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i] == b[i], i % 64 != 0) << i;
  a = allValues(plain, "model.layers.3.mlp.experts.0.down_proj.weight", 8, 64);
  b = allValues(skewed, "model.layers.3.mlp.experts.0.down_proj.weight", 8, 64);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(b[i], a[i] / 2);
  // Reads from the middle of a row see the first column where it is.
  std::vector<float> rows = allValues(skewed, "model.embed_tokens.weight", 8, 64), part(130);
  RandomTensor::ofShape(skewed, "model.embed_tokens.weight", {8, 64}).values(RandomType::BF16, 63, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), rows.begin() + 63));
  EXPECT_EQ(part[1], 8);
  EXPECT_EQ(part[65], 8);
}

TEST(Routing, KindKeepsIt) {
  RandomKind kind(7, true, {1250, 8});
  EXPECT_EQ(randomKind(kind), "random:7:zero_centred:zipf:1.25:8");
  EXPECT_EQ(parseRandomKind(randomKind(kind)), kind);
  EXPECT_EQ(randomKind({7, false, {0, 2}}), "random:7:zipf:0:2");
  EXPECT_EQ(parseRandomKind("random:7:zipf:0:2"), RandomKind(7, false, {0, 2}));
  for (const char *text : {"random:7:zipf:1", "random:7:zipf:1:0", "random:7:zipf:1:x", "random:7:zipf:5:2",
                           "random:7:zipf:1:2:zero_centred", "random:7zipf:1:2", "random:7:zipf:1:2:"})
    EXPECT_EQ(parseRandomKind(text), std::nullopt) << text;
}
