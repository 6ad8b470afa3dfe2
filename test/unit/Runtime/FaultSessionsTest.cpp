// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls that end while reads are under way: by a cancel, by a failure, by close. And what happens to one session does
/// not touch the other.
#include "FaultRun.h"

#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

using namespace fake;

namespace {

struct Opened {
  Opened(FaultLayer &layer, const Setting &setting, const std::string &path) {
    moert_error error = {};
    EXPECT_EQ(layer.open(setting.options(path), &model, &error), MOERT_STATUS_OK) << error.message;
    EXPECT_EQ(api().session_create(model, &session, &error), MOERT_STATUS_OK) << error.message;
  }
  void close() {
    api().session_destroy(session);
    api().close(model);
    session = nullptr;
    model = nullptr;
  }
  moert_model *model = nullptr;
  moert_session *session = nullptr;
};

bool isRight(moert_session *session, const std::vector<int32_t> &held) {
  const float *logits = api().logits(session);
  return logits && memcmp(logits, referenceLogits(held).back().data(), kVocab * sizeof(float)) == 0;
}

TEST(FaultSessions, CancelDuringAMiss) {
  FaultLayer layer;
  PackLayout layout;
  std::string path = makePack({}, &layout);
  Opened run(layer, settings()[0], path);
  std::vector<int32_t> held;
  int numCancelled = 0;
  std::atomic<int> countdown{0};
  layer.atRead = [&](int, uint64_t offset) {
    if (offset >= layout.experts && offset < layout.rows && --countdown == 0)
      api().session_cancel(run.session);
    return 0;
  };
  for (int32_t step = 0; step < 40; ++step) {
    // In the middle of the read of an expert; which one, differs from step to step.
    countdown = 1 + step % 5;
    moert_status status = api().decode(run.session, step, nullptr);
    bool isTooLate = status == MOERT_STATUS_OK && countdown.exchange(0) <= 0;
    numCancelled += status == MOERT_STATUS_CANCELLED;
    if (status == MOERT_STATUS_CANCELLED)
      EXPECT_EQ(api().session_length(run.session), held.size());
    else if (isTooLate) // in the last layer it came too late, and is meant for the next call
      EXPECT_EQ(api().decode(run.session, step, nullptr), MOERT_STATUS_CANCELLED);
    held.push_back(step);
    if (status != MOERT_STATUS_OK) {
      ASSERT_EQ(api().decode(run.session, step, nullptr), MOERT_STATUS_OK);
    }
    ASSERT_TRUE(isRight(run.session, held)) << step;
  }
  EXPECT_GT(numCancelled, 5);
  run.close();
}

/// Closes with reads under way that nobody waits for any more.
void closeDuringReads(bool isAhead) {
  FaultLayer layer;
  PackLayout layout;
  std::string path = makePack({}, &layout);
  static const Footprint before = Footprint::now();
  Setting setting = {.slots = 9, .lanes = 3, .prefetches = isAhead, .prediction = 2};
  setLayerHook(isAhead ? hintExperts : nullptr);
  for (int i = 0; i < 10; ++i) {
    Opened run(layer, setting, path);
    std::atomic<int> numExperts{0}, numUnderWay{0};
    layer.atRead = [&](int, uint64_t offset) -> int64_t {
      if (offset < layout.experts || offset >= layout.rows)
        return 0;
      if (!isAhead && ++numExperts == 1 + i % 3)
        return -9; // at once, while the others take their time
      ++numUnderWay;
      std::this_thread::sleep_for(std::chrono::milliseconds(2 + i % 3 * 5));
      --numUnderWay;
      return 0;
    };
    std::vector<int32_t> ids = somePrompt(8);
    moert_error error = {};
    moert_status status = api().prefill(run.session, ids.data(), isAhead ? 1 : ids.size(), 0, nullptr, nullptr, &error);
    EXPECT_TRUE(status == MOERT_STATUS_OK || (!isAhead && status == MOERT_STATUS_IO)) << error.message;
    run.close();
    EXPECT_EQ(numUnderWay, 0);
    EXPECT_EQ(layer.numRanges, 0);
    layer.reset();
    before.expectSame("closed during reads");
  }
  setLayerHook(nullptr);
}

TEST(FaultSessions, CloseDuringReadsOfACallThatFailed) { closeDuringReads(false); }
TEST(FaultSessions, CloseDuringReadsAhead) { closeDuringReads(true); }

TEST(FaultSessions, FailuresOfOneDoNotTouchTheOther) {
  FaultLayer layer;
  PackLayout layout;
  std::string path = makePack({}, &layout);
  for (uint64_t slots : {kTopK + 0u, kTopK + 1u, 9u}) {
    Opened run(layer, {.slots = slots, .lanes = 2}, path);
    moert_session *other = nullptr;
    ASSERT_EQ(api().session_create(run.model, &other, nullptr), MOERT_STATUS_OK);
    // The first session feeds ids from 50 on, whose rows cannot be read every third time.
    uint64_t faultyRows = layout.rows + 50 * (kRowBytes + 8);
    std::atomic<int> numRows{0};
    layer.atRead = [&](int, uint64_t offset) -> int64_t { return offset >= faultyRows && ++numRows % 3 ? -5 : 0; };
    std::atomic<bool> stop{false};
    int numFailed = 0;
    std::thread faulty([&] {
      std::vector<int32_t> held;
      for (int32_t i = 0; !stop || i < 30; ++i) {
        moert_error error = {};
        int32_t id = 50 + i % 40;
        if (i % 11 == 10)
          api().session_cancel(run.session);
        if (i % 17 == 16 || held.size() > 200) {
          EXPECT_EQ(api().session_rewind(run.session, held.size() / 2, &error), MOERT_STATUS_OK);
          held.resize(held.size() / 2);
        }
        moert_status status = api().decode(run.session, id, &error);
        if (status == MOERT_STATUS_OK) {
          held.push_back(id);
          EXPECT_TRUE(isRight(run.session, held)) << i;
          continue;
        }
        ++numFailed;
        EXPECT_TRUE(status == MOERT_STATUS_IO || status == MOERT_STATUS_CANCELLED) << error.message;
        EXPECT_EQ(api().session_length(run.session), held.size());
      }
    });
    std::vector<int32_t> held, ids = somePrompt(60);
    for (int32_t &id : ids)
      id %= 50;
    for (int round = 0; round < 4; ++round) {
      moert_error error = {};
      EXPECT_EQ(api().prefill(other, ids.data(), ids.size(), 0, nullptr, nullptr, &error), MOERT_STATUS_OK)
          << error.message;
      held = ids;
      for (int32_t id = 0; id < 10; ++id) {
        EXPECT_EQ(api().decode(other, id, &error), MOERT_STATUS_OK) << error.message;
        held.push_back(id);
        EXPECT_TRUE(isRight(other, held));
      }
      EXPECT_EQ(api().session_reset(other, &error), MOERT_STATUS_OK);
    }
    stop = true;
    faulty.join();
    EXPECT_GT(numFailed, 3);
    api().session_destroy(other);
    run.close();
    layer.reset();
  }
}

} // namespace
