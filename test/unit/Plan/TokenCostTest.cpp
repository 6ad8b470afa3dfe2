// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a token moves: by hand for few slots, many slots and every expert resident.
#include "lib/Plan/TokenCost.h"

#include "gtest/gtest.h"

using namespace moec;

TEST(TokenCost, CountsHitsAndBytes) {
  TokenTraffic traffic;
  traffic.residentBytes = 1000;
  traffic.expertBytes = 90;
  traffic.recordBytes = 100;
  traffic.rowBytes = 8;
  traffic.kvBytes = 50;
  traffic.numRecords = 40;
  traffic.usesPerToken = 10;
  traffic.numSlots = 20;
  TokenCost cost = costOfToken(traffic);
  EXPECT_EQ(cost.hitShare, 0.5);
  EXPECT_EQ(cost.missesPerToken, 5);
  EXPECT_EQ(cost.flashBytes, 5 * 100 + 8);
  EXPECT_EQ(cost.dramBytes, 1000 + 10 * 90 + 50 + 8 + 5 * 100);
  traffic.numSlots = 9; // less than a token uses: each is evicted before its layer comes again
  EXPECT_EQ(costOfToken(traffic).missesPerToken, 10);
  traffic.numSlots = 40;
  EXPECT_EQ(costOfToken(traffic).missesPerToken, 0);
  EXPECT_EQ(costOfToken(traffic).flashBytes, 8);
}

TEST(TokenCost, WorksWithoutExperts) {
  TokenTraffic traffic;
  traffic.residentBytes = 1000;
  EXPECT_EQ(costOfToken(traffic).dramBytes, 1000);
  EXPECT_EQ(costOfToken(traffic).missesPerToken, 0);
  traffic.stateBytes = 30; // read and written
  EXPECT_EQ(costOfToken(traffic).dramBytes, 1060);
}
