// SPDX-License-Identifier: Apache-2.0
/// \file
/// Guesses are asked for where they pay, and rarely where they did not.
#include "runtime/pager/ReadAhead.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

TEST(ReadAhead, PausesALayerWhoseGuessesAreUseless) {
  moert::ReadAhead::LayerScore scores[2] = {};
  moert::ReadAhead ahead = {};
  ahead.create(scores, MOERT_PREDICTION_AUTO);
  auto turn = [&](bool isUseful) {
    int32_t guess = 5;
    ahead.propose(0, &guess, 1);
    EXPECT_EQ(ahead.takeGuess().expert, 5);
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

TEST(ReadAhead, TakesTheNearestLayerFirst) {
  moert::ReadAhead::LayerScore scores[4] = {};
  moert::ReadAhead ahead = {};
  ahead.create(scores, MOERT_PREDICTION_AUTO);
  auto propose = [&](int32_t layer, std::vector<int32_t> experts) {
    ahead.propose(layer, experts.data(), static_cast<uint32_t>(experts.size()));
  };
  auto takeAll = [&] {
    std::vector<std::pair<int32_t, int32_t>> taken;
    while (ahead.hasGuesses()) {
      moert::ReadAhead::Guess guess = ahead.takeGuess();
      taken.emplace_back(guess.layer, guess.expert);
    }
    return taken;
  };
  using Taken = std::vector<std::pair<int32_t, int32_t>>;
  propose(2, {20, 21});
  propose(1, {10});
  EXPECT_EQ(takeAll(), (Taken{{1, 10}, {2, 20}, {2, 21}}));
  // A better guess for the same layer replaces the first, wherever the others stand.
  propose(2, {20});
  propose(1, {10});
  propose(2, {22, 23});
  EXPECT_EQ(takeAll(), (Taken{{1, 10}, {2, 22}, {2, 23}}));
  // A third layer takes the place of the one whose turn is over soonest.
  propose(1, {10});
  propose(2, {20});
  propose(3, {30});
  EXPECT_EQ(takeAll(), (Taken{{2, 20}, {3, 30}}));
  propose(2, {20});
  propose(3, {30});
  ahead.settle(2, 0);
  EXPECT_EQ(takeAll(), (Taken{{3, 30}}));
  propose(2, {20});
  propose(3, {30});
  ahead.dropGuesses(3);
  EXPECT_EQ(takeAll(), (Taken{{2, 20}}));
}

TEST(ReadAhead, PausesWhereTheStorageHasNoTime) {
  moert::ReadAhead::LayerScore scores[1] = {};
  moert::ReadAhead ahead = {};
  ahead.create(scores, MOERT_PREDICTION_AUTO);
  int numTurns = 0;
  for (; ahead.wants(0); ++numTurns) {
    int32_t guess = 5;
    // However often a layer is guessed in a turn.
    for (int place = 0; place < 3; ++place)
      ahead.propose(0, &guess, 1);
    ahead.settle(0, 0);
    EXPECT_FALSE(ahead.hasGuesses());
  }
  EXPECT_EQ(numTurns, 32);
}

} // namespace
