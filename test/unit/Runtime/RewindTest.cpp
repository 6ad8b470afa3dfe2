// SPDX-License-Identifier: Apache-2.0
/// \file
/// A session that was rewound is exactly a fresh one that was fed what is left, whatever failed in between.
#include "RewoundSession.h"

#include <random>

using namespace fake;

namespace {

TEST(Rewind, Generate100Rewind50ContinueIsAFreshRun) {
  for (bool hasState : {false, true})
    for (uint32_t checkpoints : {UINT32_MAX, 1u, 0u, 5u}) {
      Rewound run(hasState, checkpoints);
      Ids all = run.generate(somePrompt(30), 100), prompt = run.held;
      run.rewind(run.held.size() - 50); // the last token was not fed
      Ids again = run.generate({}, 51);
      EXPECT_EQ(again, Ids(all.end() - 51, all.end()));
      EXPECT_EQ(run.held, prompt);
      run.expectHeld();
      run.rewind(80);
      ASSERT_EQ(run.prefill({5, 6, 7}), MOERT_STATUS_OK);
      ASSERT_EQ(run.decode(8), MOERT_STATUS_OK);
      run.expectHeld();
    }
}

TEST(Rewind, ToAnyPositionInAnyOrder) {
  for (bool hasState : {false, true})
    for (uint32_t window : {0u, 50u, 200u})
      for (uint32_t checkpoints : {UINT32_MAX, 3u}) {
        Rewound run(hasState, checkpoints, window, window ? 3 : 0);
        std::mt19937 random(7);
        for (int step = 0; step < 40; ++step) {
          if (step % 3 == 0)
            run.rewind(random() % (run.held.size() + 1));
          if (step % 5 == 0 && !run.held.empty())
            run.expectHeld();
          if (step % 4 == 0)
            ASSERT_EQ(run.decode(static_cast<int32_t>(random() % kVocab)), MOERT_STATUS_OK);
          else if (run.held.size() < 500)
            ASSERT_EQ(run.prefill(somePrompt(1 + random() % 120), 1 + random() % kChunk), MOERT_STATUS_OK);
        }
        run.expectHeld();
      }
}

TEST(Rewind, OfATurnComputesNothingAgain) {
  Rewound run(true);
  run.generate(somePrompt(200), 20);
  size_t asked = run.held.size();
  run.generate(somePrompt(70), 30);
  uint64_t before = run.replayed();
  run.rewind(asked + 70); // another reply
  EXPECT_NE(api().logits(run.session), nullptr);
  run.expectHeld();
  run.generate({}, 300);
  run.rewind(asked); // another question
  run.generate({1, 2, 3}, 10);
  run.expectHeld();
  EXPECT_EQ(run.replayed(), before);
  run.rewind(220); // one token behind a checkpoint
  run.expectHeld();
  EXPECT_EQ(run.replayed(), before + 1);
  run.rewind(210); // in the middle of the first reply: from the begin of the session
  run.expectHeld();
  EXPECT_EQ(run.replayed(), before + 1 + 210);
}

TEST(Rewind, WithoutStateComputesAtMostOneToken) {
  Rewound run(false);
  run.generate(somePrompt(300), 50);
  run.rewind(120);
  EXPECT_EQ(api().logits(run.session), nullptr);
  ASSERT_EQ(run.decode(1), MOERT_STATUS_OK);
  EXPECT_EQ(run.replayed(), 0u);
  run.rewind(120);
  run.expectHeld();
  EXPECT_EQ(run.replayed(), 1u);
}

TEST(Rewind, BehindAWindowStartsAnewWhereBlocksAreLost) {
  Rewound run(false, 0, 40);
  ASSERT_EQ(run.prefill(somePrompt(400)), MOERT_STATUS_OK);
  run.rewind(390); // positions 351 to 389 are still there
  ASSERT_EQ(run.decode(1), MOERT_STATUS_OK);
  EXPECT_EQ(run.replayed(), 0u);
  run.expectHeld();
  run.rewind(100);
  ASSERT_EQ(run.decode(1), MOERT_STATUS_OK);
  EXPECT_EQ(run.replayed(), 100u);
  run.expectHeld();
}

TEST(Rewind, ABlockThatWasOverwrittenStaysLost) {
  Rewound run(false, 0, 40);
  ASSERT_EQ(run.prefill(somePrompt(400)), MOERT_STATUS_OK); // block 6 took the place of block 4
  run.rewind(383);
  ASSERT_EQ(run.decode(1), MOERT_STATUS_OK); // in block 5, which is still there
  EXPECT_EQ(run.replayed(), 0u);
  run.rewind(330); // sees block 4
  run.expectHeld();
  EXPECT_EQ(run.replayed(), 330u);
}

TEST(Rewind, LogitsOfACheckpointAreItsOwn) {
  Rewound run(true, 1, 40);
  ASSERT_EQ(run.prefill(somePrompt(200)), MOERT_STATUS_OK); // from here on the KV cache needs no more memory
  while (run.held.size() < 540) {
    run.model->ledger.failAfter(1); // no checkpoint
    ASSERT_EQ(run.decode(static_cast<int32_t>(run.held.size() % 90)), MOERT_STATUS_OK);
  }
  run.model->ledger.failAfter(1);
  setLayerHook([](moert_context *, int32_t) -> int32_t { return -MOERT_STATUS_IO; });
  EXPECT_NE(api().decode(run.session, 1, &run.error), MOERT_STATUS_OK);
  setLayerHook(nullptr);
  ASSERT_NE(api().logits(run.session), nullptr);
  ASSERT_EQ(run.decode(1), MOERT_STATUS_OK); // all is computed again, and checkpoints are taken
  EXPECT_EQ(run.replayed(), 540u);
  run.rewind(512);
  run.expectHeld();
}

TEST(Rewind, ResetForgetsStateAndCheckpoints) {
  Rewound run(true);
  run.generate(somePrompt(100), 20);
  moert_statistics statistics = {};
  ASSERT_EQ(api().statistics(run.model, &statistics, nullptr), MOERT_STATUS_OK);
  uint64_t used = statistics.ledger_bytes;
  ASSERT_EQ(api().session_reset(run.session, nullptr), MOERT_STATUS_OK);
  ASSERT_EQ(api().statistics(run.model, &statistics, nullptr), MOERT_STATUS_OK);
  EXPECT_LT(statistics.ledger_bytes, used);
  run.held.clear();
  ASSERT_EQ(run.prefill(somePrompt(120)), MOERT_STATUS_OK);
  run.rewind(110);
  run.expectHeld();
  run.rewind(0);
  EXPECT_EQ(run.prefill({}), MOERT_STATUS_INVALID_ARGUMENT);
  ASSERT_EQ(run.prefill({4, 5}), MOERT_STATUS_OK);
  run.expectHeld();
}

TEST(Rewind, NamesBadPositions) {
  Rewound run(true);
  ASSERT_EQ(run.prefill({1, 2, 3}), MOERT_STATUS_OK);
  EXPECT_EQ(api().session_rewind(run.session, 4, &run.error), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(run.error.message, "position is 4, expected 0 to 3, the tokens that the session holds");
  EXPECT_EQ(api().session_rewind(nullptr, 0, &run.error), MOERT_STATUS_INVALID_ARGUMENT);
  run.rewind(3);
  EXPECT_NE(api().logits(run.session), nullptr);
}

} // namespace
