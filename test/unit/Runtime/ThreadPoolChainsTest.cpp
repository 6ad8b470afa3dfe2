// SPDX-License-Identifier: Apache-2.0
/// \file
/// Regions with two phases: each tile runs once, those of a second phase after the first one of their group, also while
/// threads sleep at random and with more threads than cores; a late thread delays only what depends on it.
#include "PoolFixture.h"

#include <sched.h>
#include <unistd.h>

using namespace fake;

namespace {

/// What the tiles of one chain count. `first` counts tiles of the first phase by group, for the tiles of the second
/// one to look at.
struct ChainCounts {
  int64_t tiles[2] = {};
  std::vector<std::atomic<int>> counts[2], first;
  std::atomic<int> numEarly = 0;
  void *args[1] = {this};

  ChainCounts(int64_t groups, int64_t firstTiles, int64_t secondTiles) : first(groups) {
    tiles[0] = firstTiles;
    tiles[1] = secondTiles;
    for (int phase = 0; phase < 2; ++phase)
      counts[phase] = std::vector<std::atomic<int>>(groups * tiles[phase]);
  }
};

/// A thread that the system took away: now and then a tile takes long, or its thread sleeps.
void disturb(uint64_t number) {
  uint64_t noise = (number + 1) * 0x9E3779B97F4A7C15u >> 40;
  if (noise % 61 == 0)
    usleep(static_cast<useconds_t>(noise % 300));
  else if (noise % 7 == 0)
    sched_yield();
}

template <int phase> void countChain(const moert_context *context, void *const *args, int64_t begin, int64_t end) {
  auto &chain = *static_cast<ChainCounts *>(args[0]);
  for (int64_t i = begin; i < end; ++i) {
    int64_t group = i / chain.tiles[phase];
    if (phase == 1 && chain.first[group].load() != chain.tiles[0])
      ++chain.numEarly;
    if (context)
      disturb(static_cast<uint64_t>(i * 2 + phase));
    ++chain.counts[phase][i];
    if (phase == 0)
      ++chain.first[group];
  }
}

moert_chain chainOf(ChainCounts &counts) {
  return {static_cast<int64_t>(counts.first.size()),
          {{countChain<0>, counts.args, counts.tiles[0]}, {countChain<1>, counts.args, counts.tiles[1]}}};
}

void expectOnce(const ChainCounts &counts, const char *what) {
  EXPECT_EQ(counts.numEarly.load(), 0) << what;
  for (const auto &phase : counts.counts)
    for (size_t i = 0; i < phase.size(); ++i)
      ASSERT_EQ(phase[i].load(), 1) << what << ", tile " << i << " of " << phase.size();
}

/// Runs chains of many shapes on few and many threads. With a context tiles are disturbed.
void runChains(const moert_context *context, int rounds) {
  for (uint32_t threads : {1u, 2u, 3u, 8u}) {
    Pool p(threads);
    for (int round = 0; round < rounds; ++round) {
      ChainCounts experts(1 + round % 9, 1 + round * 5 % 33, round % 4 == 3 ? 0 : 1 + round * 3 % 40);
      ChainCounts beside(1, 1 + round % 70, 0);
      moert_chain chains[] = {chainOf(experts), chainOf(beside)};
      uint32_t numChains = 1 + round % 2;
      uint64_t joins = p.pool.joins();
      p.pool.launchChains(context, chains, numChains);
      expectOnce(experts, "experts");
      if (numChains == 2)
        expectOnce(beside, "beside");
      bool isRegion = threads > 1 && experts.counts[0].size() + (numChains - 1) * beside.counts[0].size() > 1;
      EXPECT_GE(p.pool.joins() - joins, isRegion);
      ASSERT_EQ(p.pool.brokenInvariant(), 0);
      // A plain region behind it: threads that are late meet other slots.
      void *args[] = {beside.counts[0].data()};
      p.pool.launch(nullptr, countTiles, args, beside.tiles[0]);
      ASSERT_EQ(beside.counts[0][0].load(), numChains);
    }
  }
}

TEST(ThreadPoolChains, RunEachTileOnceAndInOrder) { runChains(nullptr, 400); }

TEST(ThreadPoolChains, RunWhileThreadsSleep) {
  moert_context context = {};
  runChains(&context, 40);
}

TEST(ThreadPoolChains, EmptyOnesAreNothing) {
  Pool p(2);
  ChainCounts counts(3, 4, 5);
  moert_chain chains[] = {chainOf(counts), chainOf(counts)};
  chains[0].num_groups = 0;
  p.pool.launchChains(nullptr, chains, 1);
  EXPECT_EQ(p.pool.joins(), 0u);
  p.pool.launchChains(nullptr, chains, 2);
  expectOnce(counts, "second chain");
}

/// Holds the first tile of group 0 until everything that does not depend on it is done.
struct Holder {
  std::atomic<int> numFirst = 0, numSecond = 0, numLate = 0;
};

constexpr int64_t kGroups = 4, kFirst = 6, kSecond = 10;

void holdFirst(const moert_context *, void *const *args, int64_t begin, int64_t end) {
  auto &holder = *static_cast<Holder *>(args[0]);
  for (int64_t i = begin; i < end; ++i) {
    ++holder.numFirst;
    // All first tiles began, and the second ones of the other groups are done. What stands behind this tile in its
    // claim is as late as the tile itself.
    while (i == 0 && holder.numSecond.load() < (kGroups - 1) * kSecond)
      sched_yield();
  }
}

void holdSecond(const moert_context *, void *const *args, int64_t begin, int64_t end) {
  auto &holder = *static_cast<Holder *>(args[0]);
  holder.numSecond += static_cast<int>(end - begin);
}

TEST(ThreadPoolChains, ALateThreadDelaysWhatDependsOnIt) {
  Pool p(2);
  for (int round = 0; round < 50; ++round) {
    Holder holder;
    void *args[] = {&holder};
    moert_chain chain = {kGroups, {{holdFirst, args, kFirst}, {holdSecond, args, kSecond}}};
    uint64_t joins = p.pool.joins();
    p.pool.launchChains(nullptr, &chain, 1);
    EXPECT_EQ(holder.numFirst.load(), kGroups * kFirst);
    EXPECT_EQ(holder.numSecond.load(), kGroups * kSecond);
    EXPECT_GE(p.pool.joins() - joins, 1u);
  }
}

} // namespace
