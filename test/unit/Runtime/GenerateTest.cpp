// SPDX-License-Identifier: Apache-2.0
/// \file
/// Generation ends for each reason, with the right tokens, callbacks and counts.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace fake;

namespace {

/// Greedy continuation by the reference.
std::vector<int32_t> continuation(std::vector<int32_t> ids, size_t count) {
  std::vector<int32_t> result;
  while (result.size() < count) {
    std::vector<float> row = referenceLogits(ids).back();
    ids.push_back(static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    result.push_back(ids.back());
  }
  return result;
}

struct Generation {
  explicit Generation(uint32_t context = 0) {
    path = makePack();
    moert_open_options given = options(path, 0, 2);
    given.context = context;
    given.budget_bytes = 0;
    model = openOrDie(given);
    EXPECT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
    wanted.struct_bytes = sizeof(wanted);
    wanted.sampler.top_p = 1;
    wanted.ignore_stop = 1;
  }
  ~Generation() {
    api().session_destroy(session);
    api().close(model);
  }
  moert_status run(const std::vector<int32_t> &ids) {
    generated.assign(300, -1);
    moert_status status =
        api().generate(session, ids.data(), ids.size(), &wanted, generated.data(), generated.size(), &result, &error);
    generated.resize(result.num_generated);
    return status;
  }
  std::string path;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_generate_options wanted = {};
  moert_generate_result result = {};
  moert_error error = {};
  std::vector<int32_t> generated;
};

TEST(Generate, StopsAtTheLength) {
  Generation g;
  g.wanted.max_tokens = 12;
  ASSERT_EQ(g.run(somePrompt(20)), MOERT_STATUS_OK) << g.error.message;
  EXPECT_EQ(g.result.finish_reason, MOERT_FINISH_LENGTH);
  EXPECT_EQ(g.generated, continuation(somePrompt(20), 12));
  EXPECT_EQ(api().session_length(g.session), 31u); // the last token is not fed
}

TEST(Generate, StopsAtAStopToken) {
  std::vector<int32_t> expected = continuation(somePrompt(20), 9);
  size_t first = static_cast<size_t>(std::find(expected.begin(), expected.end(), expected[8]) - expected.begin());
  Generation g;
  moert_model_v1.generation.stop_ids = &expected[8];
  g.wanted.ignore_stop = 0;
  g.wanted.max_tokens = 30;
  ASSERT_EQ(g.run(somePrompt(20)), MOERT_STATUS_OK);
  EXPECT_EQ(g.result.finish_reason, MOERT_FINISH_STOP);
  EXPECT_EQ(g.generated.size(), first);
}

TEST(Generate, StopsAtTheContext) {
  Generation g(30);
  ASSERT_EQ(g.run(somePrompt(20)), MOERT_STATUS_OK);
  EXPECT_EQ(g.result.finish_reason, MOERT_FINISH_CONTEXT);
  EXPECT_EQ(g.generated, continuation(somePrompt(20), 10));
  ASSERT_EQ(api().session_reset(g.session, nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(g.run(somePrompt(31)), MOERT_STATUS_CONTEXT_FULL);
  EXPECT_EQ(g.result.finish_reason, MOERT_FINISH_ERROR);
}

TEST(Generate, TextCallbackCancels) {
  Generation g;
  int calls = 0;
  g.wanted.user = &calls;
  g.wanted.on_text = [](void *user, const char *, size_t, int32_t) -> int32_t {
    return ++*static_cast<int *>(user) == 4;
  };
  EXPECT_EQ(g.run(somePrompt(3)), MOERT_STATUS_CANCELLED);
  EXPECT_EQ(g.result.finish_reason, MOERT_FINISH_CANCELLED);
  EXPECT_EQ(g.result.num_generated, 4u);
}

TEST(Generate, LogitsRowsArePromptAndGeneratedButTheLast) {
  Generation g;
  uint64_t rows = 0;
  g.wanted.max_tokens = 6;
  g.wanted.user = &rows;
  g.wanted.on_logits = [](void *user, uint64_t, const float *, uint32_t) -> int32_t {
    ++*static_cast<uint64_t *>(user);
    return 0;
  };
  ASSERT_EQ(g.run(somePrompt(20)), MOERT_STATUS_OK);
  EXPECT_EQ(rows, 25u);
}

} // namespace
