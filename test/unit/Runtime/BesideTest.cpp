// SPDX-License-Identifier: Apache-2.0
/// \file
/// What runs beside experts begins before the first missing one is there.
#include "FakeModel.h"

#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace fake;

namespace {

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

TEST(Beside, WhatNeedsNoExpertBeginsBeforeTheFirstMissIsThere) {
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
