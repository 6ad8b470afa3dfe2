// SPDX-License-Identifier: Apache-2.0
/// \file
/// Guesses are asked for where they pay, and rarely where they did not.
#include "runtime/pager/ReadAhead.h"

#include <gtest/gtest.h>

namespace {

TEST(ReadAhead, PausesALayerWhoseGuessesAreUseless) {
  moert::ReadAhead::LayerScore scores[2] = {};
  moert::ReadAhead ahead = {};
  ahead.create(scores, MOERT_PREDICTION_AUTO);
  auto turn = [&](bool isUseful) {
    int32_t guess = 5;
    ahead.propose(0, &guess, 1);
    EXPECT_EQ(ahead.takeGuess(), 5);
    ahead.noteIssued(0);
    ahead.settle(0, isUseful);
  };
  auto turnsUntilWanted = [&] {
    int turns = 0;
    while (!ahead.wants(0) && turns < 10000)
      ++turns;
    return turns;
  };
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(ahead.wants(0));
    turn(i % 3 == 0);
  }
  for (int expected : {64, 128, 256, 512, 1024, 1024}) {
    for (int i = 0; i < 100 && !scores[0].pauseLeft; ++i)
      turn(i % 8 == 0);
    EXPECT_TRUE(ahead.wants(1)) << "another layer is not concerned";
    EXPECT_EQ(turnsUntilWanted(), expected);
  }
}

TEST(ReadAhead, PausesWhereTheStorageHasNoTime) {
  moert::ReadAhead::LayerScore scores[1] = {};
  moert::ReadAhead ahead = {};
  ahead.create(scores, MOERT_PREDICTION_AUTO);
  int numTurns = 0;
  for (; ahead.wants(0); ++numTurns) {
    int32_t guess = 5;
    ahead.propose(0, &guess, 1);
    ahead.settle(0, 0);
    EXPECT_FALSE(ahead.hasGuesses());
  }
  EXPECT_EQ(numTurns, 32);
}

} // namespace
