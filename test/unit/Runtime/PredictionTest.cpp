// SPDX-License-Identifier: Apache-2.0
/// \file
/// Guesses are counted against what routers choose, made only where they may pay, and change no result; what runs
/// beside experts begins before the first missing one is there.
#include "FakeModel.h"

#include "runtime/api/Model.h"
#include "runtime/session/Prediction.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace fake;

namespace {

struct Guesses {
  Guesses() {
    moert::Carver measure = {nullptr, 0};
    guesses.place(measure, moert_model_v1);
    memory.resize(measure.offset + 64);
    uint64_t misaligned = reinterpret_cast<uintptr_t>(memory.data()) % 64;
    moert::Carver carver = {memory.data() + 64 - misaligned, 0};
    guesses.place(carver, moert_model_v1);
  }
  moert::Prediction guesses = {};
  std::vector<uint8_t> memory;
};

TEST(Prediction, CountsTheLastGuessForALayerOnce) {
  makePack();
  Guesses g;
  const int32_t first[] = {1, 2}, second[] = {3, 4}, routed[] = {4, 7};
  g.guesses.keep(1, first, 2);
  g.guesses.keep(1, second, 2);
  EXPECT_EQ(g.guesses.settle(0, routed, 2).predicted, 0u);
  moert::Prediction::Outcome outcome = g.guesses.settle(1, routed, 2);
  EXPECT_EQ(outcome.predicted, 2u);
  EXPECT_EQ(outcome.right, 1u);
  EXPECT_EQ(g.guesses.settle(1, routed, 2).predicted, 0u);
}

TEST(Prediction, KeepsWhatTheModelHas) {
  makePack();
  Guesses g;
  const int32_t ids[] = {5, -1}, beyond[] = {kExperts, 0}, routed[] = {5, 6};
  g.guesses.keep(2, ids, 2);
  EXPECT_EQ(g.guesses.settle(2, routed, 2).predicted, 1u);
  g.guesses.keep(2, beyond, 2);
  EXPECT_EQ(g.guesses.settle(2, routed, 2).predicted, 0u);
  g.guesses.keep(kLayers, ids, 2);
  g.guesses.keep(-1, ids, 2);
  g.guesses.keep(0, ids, 2);
  g.guesses.clear();
  EXPECT_EQ(g.guesses.settle(0, routed, 2).predicted, 0u);
}

/// Feeds a prompt and three tokens; checks the logits and returns the statistics.
moert_statistics runTokens(uint64_t budget, moert_prediction prediction) {
  std::string path = makePack();
  moert_open_options given = options(path, budget);
  given.prediction = prediction;
  moert_model *model = openOrDie(given);
  moert_session *session = nullptr;
  EXPECT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  std::vector<int32_t> ids = somePrompt(kChunk + 3), prompt(ids.begin(), ids.end() - 3);
  EXPECT_EQ(api().prefill(session, prompt.data(), prompt.size(), 0, nullptr, nullptr, nullptr), MOERT_STATUS_OK);
  moert_statistics stats = {};
  api().statistics(model, &stats, nullptr);
  EXPECT_EQ(stats.predicted, 0u) << "a prompt needs nearly all experts";
  for (size_t i = prompt.size(); i < ids.size(); ++i)
    EXPECT_EQ(api().decode(session, ids[i], nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * 4), 0);
  api().statistics(model, &stats, nullptr);
  api().session_destroy(session);
  api().close(model);
  return stats;
}

TEST(Prediction, IsMadeWhereItMayPay) {
  makePack();
  uint64_t budget = budgetFor(kLayers * kExperts / 2);
  EXPECT_EQ(runTokens(0, MOERT_PREDICTION_AUTO).predicted, 0u);
  EXPECT_EQ(runTokens(budget, MOERT_PREDICTION_OFF).predicted, 0u);
  for (uint64_t bytes : {uint64_t{0}, budget}) {
    moert_statistics stats = runTokens(bytes, MOERT_PREDICTION_ALWAYS);
    EXPECT_EQ(stats.predicted, 3u * (kLayers - 1) * kTopK);
    EXPECT_LE(stats.predicted_right, stats.predicted);
  }
}

/// Reads of experts wait until what runs beside them has begun.
struct HeldReads {
  std::atomic<bool> isHolding{false};
  static std::atomic<int> numBegun, numLate;
  static int64_t read(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
    auto &self = *static_cast<HeldReads *>(user);
    for (int i = 0; self.isHolding && sizeBytes >= kRecordBytes / 2 && numBegun == 0; ++i) {
      if (i == 5000) {
        ++numLate;
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
  }
};
std::atomic<int> HeldReads::numBegun, HeldReads::numLate;

TEST(Prediction, WhatNeedsNoExpertBeginsBeforeTheFirstMissIsThere) {
  std::string path = makePack();
  HeldReads reads;
  moert::Hooks hooks = {HeldReads::read, &reads, 0, true};
  moert_open_options given = options(path, budgetFor(kTopK));
  moert_model *model = nullptr;
  ASSERT_EQ(moert::openModel(moert_model_v1, &given, hooks, &model, nullptr), MOERT_STATUS_OK);
  moert_session *session = nullptr;
  ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  HeldReads::numBegun = HeldReads::numLate = 0;
  setLayerHook([](moert_context *, int32_t) { return HeldReads::numBegun = 0, 0; });
  setBesideHook([](int32_t) { ++HeldReads::numBegun; });
  reads.isHolding = true;
  std::vector<int32_t> ids = somePrompt(1);
  EXPECT_EQ(api().decode(session, ids[0], nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * 4), 0);
  setLayerHook(nullptr);
  setBesideHook(nullptr);
  EXPECT_EQ(HeldReads::numLate, 0);
  moert_statistics stats = {};
  api().statistics(model, &stats, nullptr);
  EXPECT_EQ(stats.expert_misses, uint64_t{kLayers} * kTopK);
  api().session_destroy(session);
  api().close(model);
}

} // namespace
