// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a decoded token costs: bytes and times by hand, and the mean over the number of misses.
#include "moert/TokenCost.h"

#include "gtest/gtest.h"

namespace {

/// 10 layers of 4 experts; a dense layer takes 1 ms, an expert 0.1 ms, a record 2 ms.
moert_token_traffic sample() {
  moert_token_traffic traffic = {};
  traffic.resident_bytes = 9'000'000 - 8;
  traffic.row_bytes = 8;
  traffic.expert_bytes = 90'000;
  traffic.record_bytes = 100'000;
  traffic.num_layers = 10;
  traffic.experts_used = 4;
  traffic.hit_rate = 1;
  traffic.memory_bytes_per_second = 1'000'000'000; // of which weights get 90 %
  traffic.flash_bytes_per_second = 50'000'000;
  return traffic;
}

/// Seconds to verify a record of the sample, and to read it and verify it by one of three lanes.
constexpr double kVerified = 100'000.0 / MOERT_VERIFIED_BYTES_PER_SECOND, kRecord = 0.002 + kVerified / 3;

moert_token_cost costOf(const moert_token_traffic &traffic) {
  moert_token_cost cost;
  moert_cost_token(&traffic, &cost);
  return cost;
}

} // namespace

TEST(TokenCost, CountsBytes) {
  moert_token_traffic traffic = sample();
  traffic.kv_bytes = 50;
  traffic.state_bytes = 30; // read and written
  traffic.hit_rate = 0.75;
  moert_token_cost cost = costOf(traffic);
  EXPECT_EQ(cost.misses, 10);
  EXPECT_EQ(cost.flash_bytes, 10u * 100'000 + 8);
  EXPECT_EQ(cost.memory_bytes, 9'000'000u + 50 + 2 * 30 + 40 * 90'000 + 10 * 100'000);
  traffic.hit_rate = 1;
  EXPECT_EQ(costOf(traffic).flash_bytes, 8u);
}

TEST(TokenCost, ComputesAllAndWaitsForReads) {
  moert_token_traffic traffic = sample();
  moert_token_cost cost = costOf(traffic);
  EXPECT_NEAR(1 / cost.tokens_per_second, 0.010 + 40 * 0.0001, 1e-9);
  EXPECT_NEAR(cost.seconds_of_computing, 0.014, 1e-9);
  EXPECT_EQ(cost.seconds_of_flash, 0);
  traffic.hit_rate = 0; // each layer: 1 ms, four reads, and the last one verified and computed
  cost = costOf(traffic);
  EXPECT_NEAR(1 / cost.tokens_per_second, 10 * (0.001 + 4 * kRecord + kVerified + 0.0001), 1e-9);
  EXPECT_NEAR(cost.seconds_of_flash, 0.08, 1e-9);
  traffic.predicted_rate = 1; // the reads of a layer have its dense part as a lead
  EXPECT_NEAR(1 / costOf(traffic).tokens_per_second, 10 * (4 * kRecord + kVerified + 0.0001), 1e-9);
  traffic.predicted_rate = 0.05; // a fifth of one
  EXPECT_NEAR(1 / costOf(traffic).tokens_per_second, 10 * (0.001 + 3.8 * kRecord + kVerified + 0.0001), 1e-9);
  traffic.flash_bytes_per_second = 1'000'000'000; // all that is predicted is there in time: nothing is late
  traffic.predicted_rate = 1;
  EXPECT_NEAR(1 / costOf(traffic).tokens_per_second, 0.014, 1e-9);
}

TEST(TokenCost, TakesTheMeanOverMisses) {
  moert_token_traffic traffic = sample();
  traffic.experts_used = 2;
  traffic.hit_rate = 0.5; // none, one or two misses with 1/4, 1/2, 1/4
  double none = 0.0002, one = kRecord + kVerified + 0.0001, two = 2 * kRecord + kVerified + 0.0001;
  EXPECT_NEAR(1 / costOf(traffic).tokens_per_second, 10 * (0.001 + none / 4 + one / 2 + two / 4), 1e-9);
  // From either side of one half the mean is the same function.
  for (uint32_t used : {1u, 3u, 8u, 256u}) {
    traffic.experts_used = used;
    traffic.hit_rate = 0.5 - 1e-9;
    double below = costOf(traffic).tokens_per_second;
    traffic.hit_rate = 0.5 + 1e-9;
    EXPECT_NEAR(below, costOf(traffic).tokens_per_second, 1e-4 * below);
  }
  // Larger numbers take the mean number of misses, which hardly differs.
  traffic.experts_used = 256;
  double exact = costOf(traffic).tokens_per_second * 256;
  traffic.experts_used = 257;
  EXPECT_NEAR(costOf(traffic).tokens_per_second * 257, exact, 0.01 * exact);
}

TEST(TokenCost, SharesOfTheBandwidthDifferByClass) {
  moert_token_traffic traffic = {};
  traffic.memory_bytes_per_second = 1000;
  traffic.kv_bytes = 500; // at 50 %
  EXPECT_NEAR(costOf(traffic).tokens_per_second, 1, 1e-9);
  traffic.state_bytes = 300; // twice, at 60 %
  EXPECT_NEAR(costOf(traffic).tokens_per_second, 0.5, 1e-9);
}

TEST(TokenCost, KnowsWhatItDoesNotKnow) {
  moert_token_traffic traffic = sample();
  traffic.flash_bytes_per_second = 0;
  EXPECT_GT(costOf(traffic).tokens_per_second, 0) << "nothing is read";
  traffic.hit_rate = 0.99;
  EXPECT_EQ(costOf(traffic).tokens_per_second, 0);
  EXPECT_GT(costOf(traffic).flash_bytes, 8u);
  traffic = sample();
  traffic.memory_bytes_per_second = 0;
  EXPECT_EQ(costOf(traffic).tokens_per_second, 0);
  traffic = {};
  traffic.memory_bytes_per_second = 1000;
  EXPECT_EQ(costOf(traffic).tokens_per_second, 0) << "a token of nothing has no speed";
}
