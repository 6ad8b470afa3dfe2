// SPDX-License-Identifier: Apache-2.0
/// \file
/// A context that slides keeps the first tokens and the latest half, and is then exactly a fresh session fed those.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace fake;

namespace {

struct Sliding {
  explicit Sliding(bool hasState = false, uint32_t context = 40, uint32_t keep = 0) : hasState(hasState) {
    path = makePack({.stateBytes = hasState ? 64u : 0u});
    given = options(path, budgetFor(5));
    given.context = context;
    given.on_full = MOERT_ON_FULL_SLIDE;
    given.keep = keep;
    model = openOrDie(given);
    EXPECT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  }
  ~Sliding() {
    setLayerHook(nullptr);
    api().session_destroy(session);
    api().close(model);
  }
  moert_status prefill(const std::vector<int32_t> &ids) {
    return api().prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error);
  }
  std::vector<float> logitsOf(const std::vector<int32_t> &ids) const {
    return referenceLogits(ids, SIZE_MAX, 0, kTopK, hasState).back();
  }
  void expectHolds(const std::vector<int32_t> &ids) {
    ASSERT_EQ(api().session_length(session), ids.size());
    ASSERT_TRUE(api().logits(session));
    EXPECT_EQ(memcmp(api().logits(session), logitsOf(ids).data(), kVocab * sizeof(float)), 0);
  }
  uint64_t slides() {
    moert_statistics statistics = {};
    EXPECT_EQ(api().statistics(model, &statistics, nullptr), MOERT_STATUS_OK);
    return statistics.slides;
  }
  bool hasState;
  std::string path;
  moert_open_options given;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
};

/// What stays of a session that holds `ids` in a context of `context`.
std::vector<int32_t> kept(const std::vector<int32_t> &ids, size_t context, size_t first) {
  size_t latest = std::min(context / 2, ids.size() - first);
  std::vector<int32_t> result(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(first));
  result.insert(result.end(), ids.end() - static_cast<ptrdiff_t>(latest), ids.end());
  return result;
}

TEST(Slide, IsAFreshSessionFedTheKeptTokens) {
  for (bool hasState : {false, true}) {
    Sliding run(hasState);
    std::vector<int32_t> held = somePrompt(40);
    ASSERT_EQ(run.prefill(held), MOERT_STATUS_OK) << run.error.message;
    EXPECT_EQ(run.slides(), 0u);
    for (int32_t id = 0; id < 60; ++id) {
      if (held.size() == 40)
        held = kept(held, 40, 4);
      held.push_back(id);
      ASSERT_EQ(api().decode(run.session, id, &run.error), MOERT_STATUS_OK) << run.error.message;
      run.expectHolds(held);
    }
    EXPECT_EQ(run.slides(), 4u); // 24 stay each time, so a slide makes room for 16
  }
}

TEST(Slide, MakesRoomForAPromptThatThenFits) {
  Sliding run(false, 40, UINT32_MAX);
  std::vector<int32_t> held = somePrompt(30), more = {7, 8, 9, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3};
  ASSERT_EQ(run.prefill(held), MOERT_STATUS_OK);
  ASSERT_EQ(run.prefill(more), MOERT_STATUS_OK) << run.error.message;
  held = kept(held, 40, 0);
  held.insert(held.end(), more.begin(), more.end());
  run.expectHolds(held);
  EXPECT_EQ(run.prefill(somePrompt(21)), MOERT_STATUS_CONTEXT_FULL); // 20 stay
  run.expectHolds(held);
  EXPECT_EQ(run.slides(), 1u);
  ASSERT_EQ(api().session_reset(run.session, nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(run.prefill(somePrompt(41)), MOERT_STATUS_CONTEXT_FULL);
  EXPECT_EQ(run.prefill(somePrompt(40)), MOERT_STATUS_OK);
}

int layersLeft = 0;
int32_t failLater(moert_context *, int32_t) { return layersLeft-- == 0 ? -MOERT_STATUS_IO : 0; }

TEST(Slide, ThatFailsKeepsWhatStays) {
  for (bool hasState : {false, true})
    for (int layers = 0; layers < 3 * static_cast<int>(kLayers); ++layers) {
      Sliding run(hasState);
      std::vector<int32_t> held = somePrompt(40);
      ASSERT_EQ(run.prefill(held), MOERT_STATUS_OK);
      layersLeft = layers; // of two chunks that are fed again, and of the new token
      setLayerHook(failLater);
      EXPECT_NE(api().decode(run.session, 3, &run.error), MOERT_STATUS_OK);
      setLayerHook(nullptr);
      held = kept(held, 40, 4);
      EXPECT_EQ(api().session_length(run.session), held.size());
      EXPECT_EQ(api().logits(run.session), nullptr);
      held.push_back(3);
      ASSERT_EQ(api().decode(run.session, 3, &run.error), MOERT_STATUS_OK);
      run.expectHolds(held);
      EXPECT_EQ(run.slides(), 1u);
    }
}

TEST(Slide, GeneratesPastTheContext) {
  Sliding run;
  std::vector<int32_t> held = somePrompt(20), expected, generated(100);
  while (expected.size() < 100) {
    std::vector<float> row = run.logitsOf(held);
    expected.push_back(static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    if (held.size() == 40)
      held = kept(held, 40, 4);
    held.push_back(expected.back());
  }
  moert_generate_options wanted = {};
  wanted.struct_bytes = sizeof(wanted);
  wanted.max_tokens = 100;
  wanted.ignore_stop = 1;
  wanted.sampler.top_p = 1;
  moert_generate_result result = {};
  std::vector<int32_t> prompt = somePrompt(20);
  ASSERT_EQ(
      api().generate(run.session, prompt.data(), prompt.size(), &wanted, generated.data(), 100, &result, &run.error),
      MOERT_STATUS_OK)
      << run.error.message;
  EXPECT_EQ(result.finish_reason, MOERT_FINISH_LENGTH);
  EXPECT_EQ(generated, expected);
  EXPECT_EQ(result.slides, 5u);
  wanted.max_tokens = 0; // would never end
  EXPECT_EQ(api().generate(run.session, prompt.data(), prompt.size(), &wanted, nullptr, 0, &result, &run.error),
            MOERT_STATUS_INVALID_ARGUMENT);
}

TEST(Slide, IsRefusedWithAReason) {
  auto refusal = [](const PackOptions &pack, uint32_t context, uint32_t keep, uint32_t onFull, moert_status expected) {
    std::string path = makePack(pack);
    moert_open_options given = options(path);
    given.context = context;
    given.keep = keep;
    given.on_full = onFull;
    moert_plan_info info;
    moert_error error = {};
    EXPECT_EQ(api().plan(&given, &info, &error), expected) << error.message;
    return std::string(error.message);
  };
  refusal({}, 0, 0, MOERT_ON_FULL_SLIDE, MOERT_STATUS_OK);
  EXPECT_EQ(refusal({.stateBytes = 0}, 40, 20, MOERT_ON_FULL_SLIDE, MOERT_STATUS_INVALID_ARGUMENT),
            "options.keep is 20, expected fewer than 20: with half of the context of 40 nothing would be dropped");
  refusal({.stateBytes = 0}, 40, 19, MOERT_ON_FULL_SLIDE, MOERT_STATUS_OK);
  refusal({.stateBytes = 0}, 1, UINT32_MAX, MOERT_ON_FULL_SLIDE, MOERT_STATUS_OK);
  EXPECT_EQ(refusal({}, 0, 0, 2, MOERT_STATUS_INVALID_ARGUMENT), "options.on_full is 2, expected 0 (stop) to 1");
}

} // namespace
