// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sessions give the same logits whatever the budget, threads and chunk, and whatever failed in between.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

using namespace fake;

namespace {

struct Conversation {
  explicit Conversation(uint64_t slots = kLayers * kExperts, uint32_t threads = 2, uint32_t context = 0) {
    path = makePack();
    moert_open_options given = options(path, budgetFor(slots, threads), threads);
    given.context = context;
    model = openOrDie(given);
    EXPECT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  }
  ~Conversation() {
    setLayerHook(nullptr);
    api().session_destroy(session);
    api().close(model);
  }
  moert_status prefill(const std::vector<int32_t> &ids, uint32_t chunk = 0) {
    return api().prefill(session, ids.data(), ids.size(), chunk, nullptr, nullptr, &error);
  }
  void expectLogits(const std::vector<int32_t> &ids) {
    ASSERT_EQ(api().session_length(session), ids.size());
    ASSERT_TRUE(api().logits(session));
    EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * sizeof(float)), 0);
  }
  std::string path;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
};

TEST(Session, SameLogitsForEveryBudgetThreadsAndChunk) {
  std::vector<int32_t> ids = somePrompt(75);
  for (uint64_t slots : {2u, 3u, 12u, 24u})
    for (uint32_t threads : {1u, 3u})
      for (uint32_t chunk : {1u, 7u, 16u}) {
        Conversation run(slots, threads);
        ASSERT_EQ(run.prefill(ids, chunk), MOERT_STATUS_OK) << run.error.message;
        run.expectLogits(ids);
        std::vector<int32_t> longer = ids;
        longer.push_back(3);
        ASSERT_EQ(api().decode(run.session, 3, &run.error), MOERT_STATUS_OK) << run.error.message;
        run.expectLogits(longer);
      }
}

int32_t collect(void *user, uint64_t position, const float *logits, uint32_t vocabSize) {
  auto &rows = *static_cast<std::vector<std::vector<float>> *>(user);
  EXPECT_EQ(position, rows.size());
  rows.emplace_back(logits, logits + vocabSize);
  return 0;
}

TEST(Session, LogitsCallbackGetsEveryRow) {
  Conversation run;
  std::vector<int32_t> ids = somePrompt(39);
  std::vector<std::vector<float>> rows;
  ASSERT_EQ(api().prefill(run.session, ids.data(), ids.size(), 0, collect, &rows, nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(rows, referenceLogits(ids));
  run.expectLogits(ids);
}

std::atomic<int> callsLeft{0};
int32_t failAfterCalls(moert_context *, int32_t) { return callsLeft.fetch_sub(1) == 1 ? -MOERT_STATUS_IO : 0; }

TEST(Session, FailuresRollBack) {
  Conversation run(3);
  std::vector<int32_t> ids = somePrompt(40);
  setLayerHook(failAfterCalls);
  callsLeft = 2 * kLayers + 2; // in the third chunk
  EXPECT_EQ(run.prefill(ids), MOERT_STATUS_INTERNAL);
  EXPECT_EQ(api().session_length(run.session), 32u);
  std::vector<int32_t> rest(ids.begin() + 32, ids.end());
  ASSERT_EQ(run.prefill(rest), MOERT_STATUS_OK);
  run.expectLogits(ids);
  for (int call = 1; call <= static_cast<int>(kLayers); ++call) {
    callsLeft = call;
    EXPECT_EQ(api().decode(run.session, 9, &run.error), MOERT_STATUS_INTERNAL);
    run.expectLogits(ids);
  }
  ids.push_back(9);
  ASSERT_EQ(api().decode(run.session, 9, &run.error), MOERT_STATUS_OK);
  run.expectLogits(ids);
}

TEST(Session, NamesBadInput) {
  Conversation run;
  EXPECT_EQ(run.prefill({}), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(run.error.message, "the prompt is empty, expected at least 1 token");
  EXPECT_EQ(run.prefill({1, -1}), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(run.error.message, "token id -1 at position 1 is not in the vocabulary: expected 0 to 96");
  EXPECT_EQ(run.prefill({97}), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(run.prefill(somePrompt(kContext + 1)), MOERT_STATUS_CONTEXT_FULL);
  EXPECT_NE(std::string(run.error.message).find("257 tokens do not fit: the context is 256 tokens"), std::string::npos);
  EXPECT_EQ(run.prefill({1}, 17), MOERT_STATUS_INVALID_ARGUMENT);
  int32_t id = 0;
  moert_sampler_options sampler = {0, 1, 0, 0, 0};
  EXPECT_EQ(api().sample(run.session, &sampler, &id, &run.error), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(api().logits(run.session), nullptr);
  ASSERT_EQ(run.prefill(somePrompt(kContext)), MOERT_STATUS_OK);
  EXPECT_EQ(api().decode(run.session, 1, &run.error), MOERT_STATUS_CONTEXT_FULL);
  moert_session *second = nullptr;
  EXPECT_EQ(api().session_create(run.model, &second, &run.error), MOERT_STATUS_BUDGET);
}

std::atomic<int> reached{0};
int32_t signalAndWait(moert_context *, int32_t layer) {
  if (layer == 1) {
    reached = 1;
    while (reached.load() == 1)
      std::this_thread::yield();
  }
  return 0;
}

TEST(Session, CancelFromAnotherThreadAndBusy) {
  Conversation run(3);
  std::vector<int32_t> ids = somePrompt(5);
  setLayerHook(signalAndWait);
  reached = 0;
  std::thread other([&] {
    while (reached.load() != 1)
      std::this_thread::yield();
    moert_error busy = {};
    EXPECT_EQ(api().decode(run.session, 1, &busy), MOERT_STATUS_BUSY);
    api().session_cancel(run.session);
    reached = 2;
  });
  EXPECT_EQ(run.prefill(ids), MOERT_STATUS_CANCELLED);
  other.join();
  EXPECT_STREQ(run.error.message, "cancelled before layer 2");
  EXPECT_EQ(api().session_length(run.session), 0u);
  setLayerHook(nullptr);
  ASSERT_EQ(run.prefill(ids), MOERT_STATUS_OK);
  run.expectLogits(ids);
  api().session_cancel(run.session);
  EXPECT_EQ(api().decode(run.session, 1, nullptr), MOERT_STATUS_CANCELLED);
  run.expectLogits(ids);
}

TEST(Session, AWindowKeepsMemoryConstantAndItsPositions) {
  std::string path = makePack({.kvBlockBytes = 65536});
  std::vector<int32_t> ids = somePrompt(250);
  for (auto [window, sinks] : {std::pair(40u, 0u), std::pair(40u, 5u), std::pair(1u, 70u)}) {
    moert_open_options given = options(path);
    given.window = window;
    given.sinks = sinks;
    moert_model *model = openOrDie(given);
    moert_session *session = nullptr;
    ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
    std::vector<std::vector<float>> rows;
    // 200 positions: every block of sinks and ring is in use.
    ASSERT_EQ(api().prefill(session, ids.data(), 200, 0, collect, &rows, nullptr), MOERT_STATUS_OK);
    moert_statistics early = {}, late = {};
    ASSERT_EQ(api().statistics(model, &early, nullptr), MOERT_STATUS_OK);
    ASSERT_EQ(api().prefill(session, ids.data() + 200, ids.size() - 200, 0, collect, &rows, nullptr), MOERT_STATUS_OK);
    ASSERT_EQ(api().statistics(model, &late, nullptr), MOERT_STATUS_OK);
    EXPECT_EQ(late.ledger_peak_bytes, early.ledger_peak_bytes);
    EXPECT_EQ(rows, referenceLogits(ids, window, sinks));
    api().session_destroy(session);
    api().close(model);
  }
}

TEST(Session, ResetForgets) {
  Conversation run(2);
  ASSERT_EQ(run.prefill(somePrompt(100)), MOERT_STATUS_OK);
  ASSERT_EQ(api().session_reset(run.session, nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(api().logits(run.session), nullptr);
  ASSERT_EQ(run.prefill({1, 2, 3}), MOERT_STATUS_OK);
  run.expectLogits({1, 2, 3});
}

} // namespace
