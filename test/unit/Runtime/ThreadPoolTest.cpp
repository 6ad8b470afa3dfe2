// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pool runs each tile exactly once, whatever the number of threads and tiles, also with more threads than cores.
#include "PoolFixture.h"

#include <memory>

using namespace fake;

namespace {

TEST(ThreadPool, RunsEachTileOnce) {
  for (uint32_t threads : {1u, 2u, 3u, 8u, 64u}) {
    Pool p(threads);
    for (int round = 0; round < 300; ++round) {
      int64_t tiles = 1 + round * 7 % 130;
      std::unique_ptr<std::atomic<int>[]> counts(new std::atomic<int>[tiles]());
      void *args[] = {counts.get()};
      uint64_t joins = p.pool.joins();
      p.pool.launch(nullptr, countTiles, args, tiles);
      EXPECT_EQ(p.pool.joins() - joins, threads > 1 && tiles > 1);
      for (int64_t i = 0; i < tiles; ++i)
        ASSERT_EQ(counts[i].load(), 1) << threads << " threads, tile " << i << " of " << tiles;
    }
  }
}

TEST(ThreadPool, NoTilesIsNothing) {
  Pool p(2);
  p.pool.launch(nullptr, countTiles, nullptr, 0);
  EXPECT_EQ(p.pool.joins(), 0u);
}

TEST(ThreadPool, IsCrowdedWhereOthersHaveNoProcessorOfTheirOwn) {
  moert::CpuSet allowed = moert::allowedCpus(), one = {};
  one.add(moert::currentCpu());
  EXPECT_FALSE(Pool(allowed.count()).pool.isCrowded()) << "alone";
  EXPECT_TRUE(Pool(allowed.count(), 1).pool.isCrowded());
  EXPECT_TRUE(Pool(1, allowed.count()).pool.isCrowded());
  EXPECT_FALSE(Pool(1, allowed.count() - 1, one).pool.isCrowded()) << "the others may use the rest";
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
