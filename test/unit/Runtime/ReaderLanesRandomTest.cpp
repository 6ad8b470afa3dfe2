// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random requests, guesses and failures of reads: invariants, statuses and counters hold.
#include "WavesFixture.h"

#include <atomic>
#include <random>
#include <unistd.h>

using namespace fake;

namespace {

/// Short, interrupted, failing and unfilled reads by a seeded generator.
struct BadReads {
  std::mt19937 random{11};
  moert::Mutex mutex = {};
  std::atomic<bool> active{false};
  static int64_t read(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
    auto &self = *static_cast<BadReads *>(user);
    uint32_t draw = 99;
    {
      moert::Lock lock(self.mutex);
      draw = self.active ? self.random() % 100 : 99;
    }
    if (draw < 5)
      return -moert::kErrnoInterrupted;
    if (draw < 15 && sizeBytes > 4096)
      sizeBytes = 4096;
    if (draw < 25)
      return -5;
    if (draw < 27)
      return static_cast<int64_t>(sizeBytes);
    return pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
  }
};

TEST(ReaderLanes, RandomGuessesAndFailuresKeepTheInvariants) {
  std::string path = makePack();
  for (uint32_t lanes : {1u, 2u, 5u}) {
    BadReads reads;
    moert::Hooks hooks = {};
    hooks.read = BadReads::read;
    hooks.user = &reads;
    hooks.checkStates = true;
    hooks.pieceBytes = 4096;
    moert_open_options given = options(path, 0, 1);
    given.reader_lanes = lanes;
    given.prediction = MOERT_PREDICTION_ALWAYS;
    moert_plan_info info = {};
    ASSERT_EQ(api().plan(&given, &info, nullptr), MOERT_STATUS_OK);
    given.budget_bytes = info.plan_bytes - (info.num_experts - 7) * info.slot_bytes;
    moert_model *model = openWith(given, hooks);
    reads.active = true;
    Waves waves;
    std::mt19937 random(lanes);
    uint64_t numFailures = 0;
    for (int step = 0; step < 1500; ++step) {
      int32_t layer = step % static_cast<int32_t>(kLayers), next = (layer + 1) % static_cast<int32_t>(kLayers);
      std::vector<int32_t> ids, guesses;
      for (uint32_t i = 0; i < kTopK * (1 + random() % 3); ++i)
        ids.push_back(static_cast<int32_t>(random() % kExperts));
      for (uint32_t i = 0; i < random() % 5; ++i)
        guesses.push_back(next * static_cast<int32_t>(kExperts) + static_cast<int32_t>(random() % kExperts));
      ASSERT_EQ(waves.waves.begin(model->pager, moert_model_v1, layer, ids.data(),
                                  static_cast<int64_t>(ids.size() / kTopK), kTopK, kTopK, nullptr),
                MOERT_STATUS_OK);
      if (!guesses.empty())
        model->pager.predict(next, guesses.data(), static_cast<uint32_t>(guesses.size()));
      moert_wave wave = {};
      moert_status status = MOERT_STATUS_OK;
      do
        status = waves.waves.next(model->pager, wave, nullptr);
      while (status == MOERT_STATUS_OK && wave.num_experts && random() % 16);
      ASSERT_TRUE(status == MOERT_STATUS_OK || status == MOERT_STATUS_IO || status == MOERT_STATUS_CORRUPT) << status;
      numFailures += status != MOERT_STATUS_OK;
      waves.waves.finish(model->pager);
      moert::Lock lock(model->pager.mutex);
      ASSERT_EQ(model->pager.assertState(), 0) << "step " << step << ", lanes " << lanes;
    }
    EXPECT_GT(numFailures, 0u);
    reads.active = false;
    Waves fresh;
    runWaves(*model, fresh, 1, {0, 1, 2, 3, 4, 5, 6, 7});
    moert_statistics stats = {};
    api().statistics(model, &stats, nullptr);
    EXPECT_GT(stats.prefetch_issued, 0u);
    EXPECT_EQ(stats.expert_bytes_read, stats.expert_misses * kRecordBytes);
    api().close(model);
  }
}

} // namespace
