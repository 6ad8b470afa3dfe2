// SPDX-License-Identifier: Apache-2.0
/// \file
/// Guesses are counted against what routers choose, made only where they may pay, and change no result.
#include "FakeModel.h"

#include "runtime/api/Model.h"
#include "runtime/session/Prediction.h"

#include <gtest/gtest.h>

#include <cstring>
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

uint32_t keep(Guesses &g, int32_t layer, const std::vector<int32_t> &ids,
              moert::GuessPlace at = moert::GuessPlace::Late) {
  const int32_t *experts = nullptr;
  uint32_t count = g.guesses.keep(layer, at, ids.data(), static_cast<int32_t>(ids.size()), experts);
  for (uint32_t i = 0; i < count; ++i)
    EXPECT_EQ(experts[i], layer * static_cast<int32_t>(kExperts) + ids[i]);
  return count;
}

moert::Prediction::Outcome settle(Guesses &g, int32_t layer, const std::vector<int32_t> &routed) {
  return g.guesses.settle(layer, routed.data(), static_cast<int32_t>(routed.size()));
}

TEST(Prediction, CountsTheLatestGuessForALayerOnce) {
  makePack();
  Guesses g;
  EXPECT_EQ(keep(g, 1, {1, 2}, moert::GuessPlace::Early), 2u);
  EXPECT_EQ(keep(g, 1, {3, 4}), 2u);
  EXPECT_EQ(settle(g, 0, {4, 7}).predicted, 0u);
  moert::Prediction::Outcome outcome = settle(g, 1, {4, 7});
  EXPECT_EQ(outcome.predicted, 2u);
  EXPECT_EQ(outcome.right, 1u);
  EXPECT_EQ(settle(g, 1, {4, 7}).predicted, 0u);
}

TEST(Prediction, KeepsWhatTheModelHas) {
  makePack();
  Guesses g;
  EXPECT_EQ(keep(g, 2, {5, -1}), 1u);
  EXPECT_EQ(settle(g, 2, {5, 6}).right, 1u);
  EXPECT_EQ(keep(g, 2, {kExperts, 0}), 0u);
  EXPECT_EQ(keep(g, kLayers, {5, 6}), 0u);
  EXPECT_EQ(keep(g, -1, {5, 6}), 0u);
  EXPECT_EQ(keep(g, 0, {5, 6}), 2u);
  g.guesses.clear();
  EXPECT_EQ(settle(g, 0, {5, 6}).predicted, 0u);
}

/// Of 160 turns, those in which the layer is guessed late, if early guesses are right in `numRight` of two experts.
int lateGuesses(int numRight) {
  makePack();
  Guesses g;
  int numLate = 0;
  for (int turn = 0; turn < 160; ++turn) {
    EXPECT_EQ(g.guesses.ask(1, moert::GuessPlace::Early), moert::Prediction::Answer::Pager);
    EXPECT_TRUE(g.guesses.answer(1, true));
    keep(g, 1, {0, numRight == 2 ? 1 : 7}, moert::GuessPlace::Early);
    if (g.guesses.ask(1, moert::GuessPlace::Late) == moert::Prediction::Answer::Yes) {
      ++numLate;
      keep(g, 1, {0, 1});
    }
    settle(g, 1, {0, 1});
  }
  return numLate;
}

TEST(Prediction, GuessesLateWhereThatIsBetter) {
  EXPECT_EQ(lateGuesses(1), 160);
  // 32 turns of two experts until it is known, then one in 16.
  EXPECT_EQ(lateGuesses(2), 32 + 128 / 16);
}

TEST(Prediction, GuessesOnceWhereTheFarGuessIsGood) {
  makePack();
  Guesses g;
  int counts[3] = {};
  for (int turn = 0; turn < 160; ++turn) {
    EXPECT_EQ(g.guesses.ask(2, moert::GuessPlace::Far), moert::Prediction::Answer::Pager);
    EXPECT_TRUE(g.guesses.answer(2, true));
    for (moert::GuessPlace at : {moert::GuessPlace::Far, moert::GuessPlace::Early, moert::GuessPlace::Late})
      if (g.guesses.ask(2, at) == moert::Prediction::Answer::Yes) {
        keep(g, 2, {0, 1}, at);
        ++counts[static_cast<int>(at)];
      }
    settle(g, 2, {0, 1});
  }
  EXPECT_EQ(counts[0], 160);
  // 32 turns of two experts until it is known, then one question in 16 that is not the first of a turn.
  EXPECT_EQ(counts[1] + counts[2], 2 * (32 + 128 / 16));
}

TEST(Prediction, AsksThePagerOnceATurn) {
  makePack();
  Guesses g;
  EXPECT_EQ(g.guesses.ask(2, moert::GuessPlace::Early), moert::Prediction::Answer::Pager);
  EXPECT_FALSE(g.guesses.answer(2, false));
  EXPECT_EQ(g.guesses.ask(2, moert::GuessPlace::Late), moert::Prediction::Answer::No);
  settle(g, 2, {0, 1});
  EXPECT_EQ(g.guesses.ask(2, moert::GuessPlace::Late), moert::Prediction::Answer::Pager);
  EXPECT_EQ(g.guesses.ask(kLayers, moert::GuessPlace::Late), moert::Prediction::Answer::No);
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

} // namespace
