// SPDX-License-Identifier: Apache-2.0
/// \file
/// A session of the fake model that knows what it should hold, for tests that go back.
#ifndef TEST_UNIT_RUNTIME_REWOUNDSESSION_H
#define TEST_UNIT_RUNTIME_REWOUNDSESSION_H

#include "FakeModel.h"

#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <cstring>

namespace fake {

using Ids = std::vector<int32_t>;

struct Rewound {
  explicit Rewound(bool hasState, uint32_t checkpoints = 0, uint32_t window = 0, uint32_t sinks = 0)
      : hasState(hasState), window(window ? window : SIZE_MAX), sinks(sinks) {
    path = makePack({.stateBytes = hasState ? 64u : 0u});
    moert_model_v1.context = 1024;
    moert_open_options given = options(path);
    given.state_checkpoints = checkpoints;
    given.window = window;
    given.sinks = sinks;
    model = openOrDie(given);
    EXPECT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  }
  ~Rewound() {
    setLayerHook(nullptr);
    api().session_destroy(session);
    api().close(model);
  }
  moert_status prefill(const Ids &ids, uint32_t chunk = 0) {
    held.insert(held.end(), ids.begin(), ids.end());
    return api().prefill(session, ids.data(), ids.size(), chunk, nullptr, nullptr, &error);
  }
  moert_status decode(int32_t id) {
    held.push_back(id);
    return api().decode(session, id, &error);
  }
  /// Greedy; the tokens that were generated, all but the last of which the session then holds.
  Ids generate(const Ids &prompt, uint32_t count) {
    moert_generate_options wanted = {};
    wanted.struct_bytes = sizeof(wanted);
    wanted.max_tokens = count;
    wanted.ignore_stop = 1;
    Ids ids(count);
    moert_generate_result result = {};
    EXPECT_EQ(api().generate(session, prompt.data(), prompt.size(), &wanted, ids.data(), count, &result, &error),
              MOERT_STATUS_OK)
        << error.message;
    held.insert(held.end(), prompt.begin(), prompt.end());
    held.insert(held.end(), ids.begin(), ids.end() - 1);
    return ids;
  }
  void rewind(size_t position) {
    ASSERT_EQ(api().session_rewind(session, position, &error), MOERT_STATUS_OK) << error.message;
    held.resize(position);
    EXPECT_EQ(api().session_length(session), position);
  }
  void expectHeld() {
    ASSERT_EQ(api().session_length(session), held.size());
    int32_t ignored = 0;
    moert_sampler_options greedy = {};
    ASSERT_EQ(api().sample(session, &greedy, &ignored, &error), MOERT_STATUS_OK) << error.message;
    std::vector<float> expected = referenceLogits(held, window, sinks, kTopK, hasState).back();
    EXPECT_EQ(memcmp(api().logits(session), expected.data(), kVocab * sizeof(float)), 0) << held.size();
  }
  uint64_t replayed() {
    moert_statistics statistics = {};
    EXPECT_EQ(api().statistics(model, &statistics, nullptr), MOERT_STATUS_OK);
    return statistics.tokens_replayed;
  }
  bool hasState;
  size_t window, sinks;
  std::string path;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
  Ids held;
};

} // namespace fake
#endif
