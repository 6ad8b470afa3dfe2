// SPDX-License-Identifier: Apache-2.0
/// \file
/// A failure or a cancel anywhere, also while tokens are computed again, leaves what the session held.
#include "RewoundSession.h"

#include <atomic>
#include <thread>

using namespace fake;

namespace {

std::atomic<int> layersLeft{0};
int32_t failAtLayer(moert_context *, int32_t) { return layersLeft.fetch_sub(1) == 1 ? -MOERT_STATUS_IO : 0; }

TEST(RewindFailure, OfADecodeAtEveryLayer) {
  for (bool hasState : {false, true})
    for (uint32_t checkpoints : {UINT32_MAX, 2u}) {
      Rewound run(hasState, checkpoints);
      run.generate(somePrompt(40), 10);
      for (int layer = 1; layer <= static_cast<int>(kLayers); ++layer) {
        layersLeft = layer;
        setLayerHook(failAtLayer);
        EXPECT_EQ(api().decode(run.session, 9, &run.error), MOERT_STATUS_INTERNAL);
        setLayerHook(nullptr);
        ASSERT_NE(api().logits(run.session), nullptr); // those of before
        run.expectHeld();
        ASSERT_EQ(run.decode(3), MOERT_STATUS_OK);
        run.expectHeld();
      }
    }
}

TEST(RewindFailure, AtEveryLayerOfAReplay) {
  // 48 tokens are three chunks; then the new token.
  constexpr int kRuns = 4 * static_cast<int>(kLayers);
  for (uint32_t checkpoints : {UINT32_MAX, 2u})
    for (int layer = 1; layer <= kRuns; ++layer) {
      Rewound run(true, checkpoints);
      run.generate(somePrompt(60), 10);
      run.rewind(48);
      layersLeft = layer;
      setLayerHook(failAtLayer);
      EXPECT_EQ(api().decode(run.session, 9, &run.error), MOERT_STATUS_INTERNAL) << layer;
      EXPECT_EQ(api().session_length(run.session), 48u);
      setLayerHook(nullptr);
      if (layer % 2)
        run.expectHeld();
      if (layer % 3 == 0)
        run.rewind(20);
      ASSERT_EQ(run.decode(3), MOERT_STATUS_OK);
      run.expectHeld();
    }
}

TEST(RewindFailure, OfAPromptKeepsWholeChunks) {
  for (bool hasState : {false, true})
    for (int layer = 1; layer <= 3 * static_cast<int>(kLayers); ++layer) {
      Rewound run(hasState);
      run.generate(somePrompt(20), 10);
      layersLeft = layer;
      setLayerHook(failAtLayer);
      std::vector<int32_t> ids = somePrompt(48), before = run.held;
      EXPECT_EQ(run.prefill(ids), MOERT_STATUS_INTERNAL);
      setLayerHook(nullptr);
      run.held.resize(before.size() + static_cast<size_t>((layer - 1) / static_cast<int>(kLayers)) * kChunk);
      run.expectHeld();
      ASSERT_EQ(run.prefill({2, 4, 6}), MOERT_STATUS_OK);
      run.expectHeld();
    }
}

int32_t cancelAt(void *user, uint64_t position, const float *, uint32_t) {
  return position == *static_cast<uint64_t *>(user);
}

TEST(RewindFailure, OfTheHeadRestoresTheState) {
  for (uint64_t position : {50u, 57u, 65u, 66u, 81u}) {
    Rewound run(true);
    run.generate(somePrompt(40), 11);
    std::vector<int32_t> ids = somePrompt(32);
    EXPECT_EQ(api().prefill(run.session, ids.data(), ids.size(), 0, cancelAt, &position, &run.error),
              MOERT_STATUS_CANCELLED);
    size_t chunks = position < 66 ? 0 : 1;
    run.held.insert(run.held.end(), ids.begin(), ids.begin() + static_cast<ptrdiff_t>(chunks * kChunk));
    run.expectHeld();
  }
}

std::atomic<int> reached{0};
int32_t signalAndWait(moert_context *context, int32_t layer) {
  if (layer == 1 && context->position == 16) {
    reached = 1;
    while (reached.load() == 1)
      std::this_thread::yield();
  }
  return 0;
}

TEST(RewindFailure, CancelInAReplay) {
  Rewound run(true, UINT32_MAX);
  ASSERT_EQ(run.prefill(somePrompt(60)), MOERT_STATUS_OK);
  run.rewind(48);
  setLayerHook(signalAndWait);
  reached = 0;
  std::thread other([&] {
    while (reached.load() != 1)
      std::this_thread::yield();
    moert_error busy = {};
    EXPECT_EQ(api().session_rewind(run.session, 1, &busy), MOERT_STATUS_BUSY);
    api().session_cancel(run.session);
    reached = 2;
  });
  int32_t ignored = 0;
  moert_sampler_options greedy = {};
  EXPECT_EQ(api().sample(run.session, &greedy, &ignored, &run.error), MOERT_STATUS_CANCELLED);
  other.join();
  setLayerHook(nullptr);
  run.expectHeld();
  EXPECT_EQ(run.replayed(), 16u + 48u); // the first chunk twice
}

TEST(RewindFailure, ACheckpointWithoutMemoryIsLeftOut) {
  Rewound run(true);
  ASSERT_EQ(run.prefill(somePrompt(60)), MOERT_STATUS_OK);
  run.model->ledger.failAfter(1);
  ASSERT_EQ(run.decode(1), MOERT_STATUS_OK); // would have taken one
  ASSERT_EQ(run.decode(2), MOERT_STATUS_OK);
  run.rewind(61);
  run.expectHeld();
  EXPECT_EQ(run.replayed(), 61u);
  ASSERT_EQ(run.decode(3), MOERT_STATUS_OK);
  ASSERT_EQ(run.decode(4), MOERT_STATUS_OK);
  run.rewind(62);
  run.expectHeld();
  EXPECT_EQ(run.replayed(), 61u + 1u); // now there is one at 61
}

} // namespace
