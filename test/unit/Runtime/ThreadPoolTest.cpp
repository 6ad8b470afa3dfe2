// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pool runs each tile exactly once, whatever the number of threads and tiles, also with more threads than cores.
#include "runtime/pool/ThreadPool.h"
#include "runtime/base/Memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

namespace {

struct Pool {
  explicit Pool(uint32_t threads) : workers(threads) {
    ledger.initialize(1ull << 40);
    void *block = nullptr;
    EXPECT_EQ(posix_memalign(&block, 64, sizeof(moert::HomeRange) * threads), 0);
    ranges = static_cast<moert::HomeRange *>(block);
    moert_error error = {};
    EXPECT_EQ(pool.start(ledger, ranges, workers.data(), threads, moert::CpuSet{}, &error), MOERT_STATUS_OK)
        << error.message;
  }
  ~Pool() {
    pool.stop(ledger);
    EXPECT_EQ(ledger.usedBytes(), 0u);
    free(ranges);
  }
  moert::Ledger ledger = {};
  moert::HomeRange *ranges = nullptr;
  std::vector<moert::ThreadPool::Worker> workers;
  moert::ThreadPool pool = {};
};

void countTiles(const moert_context *, void *const *args, int64_t begin, int64_t end) {
  auto *counts = static_cast<std::atomic<int> *>(args[0]);
  for (int64_t i = begin; i < end; ++i)
    ++counts[i];
}

TEST(ThreadPool, RunsEachTileOnce) {
  for (uint32_t threads : {1u, 2u, 3u, 8u, 64u}) {
    Pool p(threads);
    for (int round = 0; round < 300; ++round) {
      int64_t tiles = 1 + round * 7 % 130;
      std::unique_ptr<std::atomic<int>[]> counts(new std::atomic<int>[tiles]());
      void *args[] = {counts.get()};
      EXPECT_EQ(p.pool.launch(nullptr, countTiles, args, tiles), threads > 1 && tiles > 1);
      for (int64_t i = 0; i < tiles; ++i)
        ASSERT_EQ(counts[i].load(), 1) << threads << " threads, tile " << i << " of " << tiles;
    }
  }
}

TEST(ThreadPool, NoTilesIsNothing) {
  Pool p(2);
  EXPECT_FALSE(p.pool.launch(nullptr, countTiles, nullptr, 0));
}

struct Caller {
  moert::ThreadPool *pool;
  std::atomic<int> counts[64];
};

void *launchOften(void *argument) {
  auto &caller = *static_cast<Caller *>(argument);
  void *args[] = {caller.counts};
  for (int i = 0; i < 200; ++i)
    caller.pool->launch(nullptr, countTiles, args, 64);
  return nullptr;
}

TEST(ThreadPool, SeveralCallersShareIt) {
  Pool p(4);
  std::vector<std::unique_ptr<Caller>> callers;
  std::vector<pthread_t> threads(3);
  for (pthread_t &thread : threads) {
    callers.push_back(std::unique_ptr<Caller>(new Caller{&p.pool, {}}));
    ASSERT_EQ(pthread_create(&thread, nullptr, launchOften, callers.back().get()), 0);
  }
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
  for (auto &caller : callers)
    for (auto &count : caller->counts)
      EXPECT_EQ(count.load(), 200);
}

} // namespace
