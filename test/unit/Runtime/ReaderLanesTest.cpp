// SPDX-License-Identifier: Apache-2.0
/// \file
/// What reader threads read in which order: demanded records before guesses, piece by piece; what a guess costs when it
/// was wrong, and that nothing is lost when it was right.
#include "GuessFixture.h"

#include <random>

using namespace fake;

namespace {

TEST(ReaderLanes, ARightGuessIsAHit) {
  Guessing g(2);
  runWaves(*g.model, g.w, 0, {0, 1});
  g.predict({kExperts + 2, kExperts + 3});
  g.waitFor(kExperts + 2);
  g.waitFor(kExperts + 3);
  runWaves(*g.model, g.w, 1, {2, 3});
  moert_statistics stats = g.statistics();
  EXPECT_EQ(stats.prefetch_issued, 2u);
  EXPECT_EQ(stats.prefetch_useful, 2u);
  EXPECT_EQ(stats.expert_hits, 2u);
  EXPECT_EQ(stats.expert_misses, 2u);
  EXPECT_EQ(stats.prefetch_bytes_read, 2u * kRecordBytes);
  EXPECT_EQ(stats.expert_bytes_read, 2u * kRecordBytes);
}

TEST(ReaderLanes, AWrongGuessEndsAfterItsPiece) {
  Guessing g(1);
  runWaves(*g.model, g.w, 0, {0, 1});
  g.gate.held = (kExperts + 2) * kPieces + 1;
  g.predict({kExperts + 2, kExperts + 3});
  g.gate.waitUntilHeld();
  // The only lane is in the second piece of the guess. What is demanded comes right behind it.
  std::thread demand([&] { runWaves(*g.model, g.w, 1, {4, 5}); });
  while (g.statistics().expert_misses < 4)
    std::this_thread::yield();
  g.gate.letGo();
  demand.join();
  moert_statistics stats = g.statistics();
  EXPECT_EQ(g.gate.timesRead(kExperts + 2), 2u);
  EXPECT_EQ(g.gate.timesRead(kExperts + 3), 0u);
  EXPECT_EQ(stats.prefetch_cancelled, 1u);
  EXPECT_EQ(stats.prefetch_bytes_read, 2 * kPieceBytes);
  EXPECT_EQ(stats.expert_misses, 4u);
  EXPECT_EQ(stats.expert_bytes_read, 4u * kRecordBytes);
}

TEST(ReaderLanes, ALateGuessGoesOnAsDemanded) {
  Guessing g(2);
  runWaves(*g.model, g.w, 0, {0, 1});
  g.gate.held = (kExperts + 2) * kPieces + 1;
  g.predict({kExperts + 2});
  g.gate.waitUntilHeld();
  std::thread demand([&] { runWaves(*g.model, g.w, 1, {2, 5}); });
  while (g.statistics().expert_misses < 4)
    std::this_thread::yield();
  g.gate.letGo();
  demand.join();
  moert_statistics stats = g.statistics();
  EXPECT_EQ(g.gate.timesRead(kExperts + 2), kPieces) << "no piece is read twice";
  EXPECT_EQ(stats.prefetch_late, 1u);
  EXPECT_EQ(stats.prefetch_useful, 0u);
  EXPECT_EQ(stats.prefetch_bytes_read, 0u) << "its bytes are those of a miss";
  EXPECT_EQ(stats.expert_misses, 4u);
  EXPECT_EQ(stats.expert_bytes_read, 4u * kRecordBytes);
}

void request(Guessing &g, Waves &w, std::vector<int32_t> ids) {
  moert_error error = {};
  EXPECT_EQ(w.waves.begin(g.model->pager, moert_model_v1, 1, ids.data(), 1, kTopK, kTopK, &error), MOERT_STATUS_OK);
}

TEST(ReaderLanes, AWrongGuessThatIsNeededAndGivenUpAgainLeavesItsSlot) {
  Guessing g(2);
  constexpr uint64_t kFirst = (kExperts + 2) * kPieces, kSecond = (kExperts + 3) * kPieces;
  g.gate.held = kFirst;
  g.gate.alsoHeld = kFirst + 1;
  g.predict({kExperts + 2});
  g.gate.waitUntilRead(kFirst + 1);
  // Each of two guesses turns out wrong while a lane has a piece of it in hand.
  request(g, g.w, {4, 5});
  g.predict({kExperts + 3});
  g.gate.alsoHeld = kSecond;
  g.gate.waitUntilRead(kSecond);
  request(g, g.w, {4, 5});
  // Then both are needed. The second lane goes on with the first one, and nobody has the second one in hand.
  request(g, g.w, {2, 3});
  g.gate.alsoHeld = kFirst + 2;
  g.gate.waitUntilRead(kFirst + 2);
  g.w.waves.finish(g.model->pager);
  g.gate.alsoHeld = UINT64_MAX;
  g.gate.letGo();
  request(g, g.w, {6, 7});
  g.w.waves.finish(g.model->pager);
  g.waitFor(kExperts + 6);
  g.waitFor(kExperts + 7);
  for (bool isLeft = false; !isLeft; std::this_thread::yield()) {
    moert::Lock lock(g.model->pager.mutex);
    isLeft = g.model->pager.table.slotOf(kExperts + 2) < 0;
  }
  moert::Lock lock(g.model->pager.mutex);
  EXPECT_EQ(g.model->pager.table.slotOf(kExperts + 3), -1);
}

TEST(ReaderLanes, WhatIsDemandedIsReadFirst) {
  Guessing g(1);
  g.gate.held = 0;
  std::thread demand([&] { runWaves(*g.model, g.w, 0, {0, 1}); });
  g.gate.waitUntilHeld();
  g.predict({kExperts + 2});
  g.gate.letGo();
  demand.join();
  g.waitFor(kExperts + 2);
  std::vector<uint64_t> expected;
  for (uint64_t expert : {0u, 1u, kExperts + 2})
    for (uint64_t piece = 0; piece < kPieces; ++piece)
      expected.push_back(expert * kPieces + piece);
  EXPECT_EQ(g.gate.pieces, expected);
}

TEST(ReaderLanes, OffReadsNothingAhead) {
  Guessing g(2, 8, MOERT_PREDICTION_OFF);
  EXPECT_FALSE(g.model->pager.wantsPrediction(1));
  EXPECT_EQ(g.statistics().prefetch_issued, 0u);
}

TEST(ReaderLanes, AChunkReadsEachExpertOnce) {
  for (uint64_t slots : {2u, 5u, 12u}) {
    Guessing g(2, slots);
    std::mt19937 random(3);
    for (int chunk = 0; chunk < 20; ++chunk) {
      for (int32_t layer = 0; layer < static_cast<int32_t>(kLayers); ++layer) {
        g.gate.forget();
        std::vector<int32_t> ids(kChunk * kTopK);
        for (int32_t &id : ids)
          id = static_cast<int32_t>(random() % kExperts);
        runWaves(*g.model, g.w, layer, ids);
        for (int32_t e = 0; e < static_cast<int32_t>(kExperts); ++e)
          EXPECT_LE(g.gate.timesRead(layer * static_cast<int32_t>(kExperts) + e), kPieces) << "slots " << slots;
      }
    }
  }
}

TEST(ReaderLanes, LoadsTheRestWhenAllFit) {
  std::string path = makePack();
  moert_model *model = openWith(options(path), {});
  Waves w;
  runWaves(*model, w, 2, {0, 7});
  auto numResident = [&] {
    moert::Lock lock(model->pager.mutex);
    return model->pager.table.numSlots() - model->pager.table.numEmpty() - model->pager.table.numLoading();
  };
  while (numResident() < kLayers * kExperts)
    std::this_thread::yield();
  moert_statistics before = {}, after = {};
  api().statistics(model, &before, nullptr);
  EXPECT_LE(before.expert_misses, 2u);
  for (int32_t layer = 0; layer < static_cast<int32_t>(kLayers); ++layer)
    runWaves(*model, w, layer, {0, 1, 2, 3, 4, 5, 6, 7});
  api().statistics(model, &after, nullptr);
  EXPECT_EQ(after.expert_misses, before.expert_misses);
  EXPECT_EQ(after.prefetch_issued, 0u);
  EXPECT_EQ(after.prefetch_useful, 0u);
  EXPECT_EQ(after.prefetch_late, 0u);
  EXPECT_EQ(after.prefetch_bytes_read, 0u);
  EXPECT_EQ(after.expert_bytes_read, after.expert_misses * kRecordBytes);
  api().close(model);
}

} // namespace
