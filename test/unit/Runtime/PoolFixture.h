// SPDX-License-Identifier: Apache-2.0
/// \file
/// A thread pool with its memory, for tests.
#ifndef TEST_UNIT_RUNTIME_POOLFIXTURE_H
#define TEST_UNIT_RUNTIME_POOLFIXTURE_H

#include "runtime/base/Memory.h"
#include "runtime/pool/ThreadPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <vector>

namespace fake {

inline constexpr size_t kMostSlots = 512;

struct Pool {
  explicit Pool(uint32_t threads, uint32_t numOthers = 0, const moert::CpuSet &cpus = {})
      : workers(threads), manners(threads) {
    ledger.initialize(1ull << 40);
    void *block = nullptr;
    EXPECT_EQ(posix_memalign(&block, 64, sizeof(moert::TaskSlot) * kMostSlots), 0);
    memset(block, 0, sizeof(moert::TaskSlot) * kMostSlots);
    slots = static_cast<moert::TaskSlot *>(block);
    moert_error error = {};
    pool.shareWith(numOthers);
    EXPECT_EQ(pool.start(ledger, slots, workers.data(), manners.data(), threads, cpus, &error), MOERT_STATUS_OK)
        << error.message;
  }
  ~Pool() {
    pool.stop(ledger);
    EXPECT_EQ(ledger.usedBytes(), 0u);
    free(slots);
  }
  moert::Ledger ledger = {};
  moert::TaskSlot *slots = nullptr;
  std::vector<moert::ThreadPool::Worker> workers;
  std::vector<moert::Courtesy> manners;
  moert::ThreadPool pool = {};
};

/// args[0]: a counter for each tile.
inline void countTiles(const moert_context *, void *const *args, int64_t begin, int64_t end) {
  auto *counts = static_cast<std::atomic<int> *>(args[0]);
  for (int64_t i = begin; i < end; ++i)
    ++counts[i];
}

} // namespace fake
#endif
