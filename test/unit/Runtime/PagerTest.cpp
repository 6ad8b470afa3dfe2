// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pager hands out right weights with any number of slots, keeps its invariants, counts exactly, survives bad
/// reads.
#include "WavesFixture.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <unistd.h>
#include <vector>

using namespace fake;

namespace {

TEST(Pager, WorksWithTheFewestSlotsInSeveralWaves) {
  std::string path = makePack();
  moert::Hooks hooks = {};
  hooks.checkStates = true;
  moert_model *model = openWith(options(path, budgetFor(kTopK, 1), 1), hooks);
  ASSERT_EQ(model->plan.info.num_slots, kTopK);
  Waves w;
  std::vector<int32_t> ids;
  for (uint32_t i = 0; i < kChunk * kTopK; ++i)
    ids.push_back(static_cast<int32_t>(i * 5 % kExperts));
  EXPECT_GE(runWaves(*model, w, 1, ids), kExperts / kTopK);
  moert_statistics stats;
  api().statistics(model, &stats, nullptr);
  EXPECT_EQ(stats.expert_hits, 0u);
  EXPECT_EQ(stats.expert_misses, kExperts);
  EXPECT_EQ(stats.expert_bytes_read, uint64_t{kExperts} * kRecordBytes);
  api().close(model);
}

TEST(Pager, EvictsTheLeastRecentlyUsed) {
  std::string path = makePack();
  moert_open_options given = options(path, budgetFor(3, 1), 1);
  given.eviction = MOERT_EVICTION_LRU;
  moert_model *model = openWith(given, {});
  Waves w;
  moert_statistics stats;
  runWaves(*model, w, 0, {0, 1});
  runWaves(*model, w, 0, {2, 0}); // 1 is the oldest now
  runWaves(*model, w, 0, {3, 0}); // pushes 1 out
  runWaves(*model, w, 0, {2, 3}); // hits
  api().statistics(model, &stats, nullptr);
  EXPECT_EQ(stats.expert_misses, 4u);
  EXPECT_EQ(stats.expert_hits, 4u);
  runWaves(*model, w, 0, {1, 2});
  api().statistics(model, &stats, nullptr);
  EXPECT_EQ(stats.expert_misses, 5u);
  api().close(model);
}

TEST(Pager, HasNoMissesWhenAllFit) {
  std::string path = makePack();
  moert_open_options given = options(path);
  given.preload = 1;
  moert_model *model = openWith(given, {});
  Waves w;
  EXPECT_EQ(runWaves(*model, w, 2, {0, 1, 2, 3, 4, 5, 6, 7}), 1u);
  moert_statistics stats;
  api().statistics(model, &stats, nullptr);
  EXPECT_EQ(stats.expert_misses, 0u);
  EXPECT_EQ(stats.expert_hits, 8u);
  api().close(model);
}

/// Fails, shortens and interrupts reads by a seeded generator.
struct BadReads {
  std::mt19937 random{7};
  moert::Mutex mutex = {};
  std::atomic<bool> active{false}, fatal{false};
  static int64_t read(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
    auto &self = *static_cast<BadReads *>(user);
    uint32_t draw = 99;
    {
      moert::Lock lock(self.mutex);
      draw = self.active ? self.random() % 100 : 99;
    }
    if (draw < 10)
      return -moert::kErrnoInterrupted;
    if (draw < 20 && sizeBytes > 4096)
      sizeBytes = 4096 * (1 + draw % 4);
    if (draw < 25 && self.fatal)
      return -5;
    return pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
  }
};

TEST(Pager, RandomStepsKeepTheInvariants) {
  std::string path = makePack();
  for (uint64_t slots : {2u, 3u, 7u, 23u}) {
    BadReads reads;
    moert::Hooks hooks = {BadReads::read, &reads, 0, true};
    moert_model *model = openWith(options(path, budgetFor(slots, 1), 1), hooks);
    reads.active = true;
    reads.fatal = true;
    Waves waves[2];
    std::mt19937 random(static_cast<unsigned>(slots));
    uint64_t failures = 0;
    for (int step = 0; step < 2500; ++step) {
      Waves &w = waves[0];
      int32_t layer = static_cast<int32_t>(random() % kLayers);
      std::vector<int32_t> ids;
      for (uint32_t i = 0; i < kTopK * (1 + random() % 3); ++i)
        ids.push_back(static_cast<int32_t>(random() % kExperts));
      ASSERT_EQ(w.waves.begin(model->pager, moert_model_v1, layer, ids.data(), static_cast<int64_t>(ids.size() / kTopK),
                              kTopK, kTopK, nullptr),
                MOERT_STATUS_OK);
      moert_wave wave = {};
      moert_status status = MOERT_STATUS_OK;
      do
        status = w.waves.next(model->pager, wave, nullptr);
      while (status == MOERT_STATUS_OK && wave.num_experts && random() % 8);
      ASSERT_TRUE(status == MOERT_STATUS_OK || status == MOERT_STATUS_IO) << status;
      failures += status != MOERT_STATUS_OK;
      w.waves.finish(model->pager);
      moert::Lock lock(model->pager.mutex);
      ASSERT_EQ(model->pager.assertState(), 0) << "step " << step << ", slots " << slots;
    }
    EXPECT_GT(failures, 0u);
    reads.fatal = false;
    runWaves(*model, waves[1], 1, {0, 1, 2, 3, 4, 5, 6, 7});
    moert_statistics stats;
    api().statistics(model, &stats, nullptr);
    EXPECT_EQ(stats.expert_bytes_read, stats.expert_misses * kRecordBytes);
    api().close(model);
  }
}

} // namespace
