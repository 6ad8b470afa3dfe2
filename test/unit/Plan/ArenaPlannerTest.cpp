// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every plan passes the independent check, which in turn finds every kind of broken plan.
#include "lib/Plan/ArenaPlanner.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace moec;

static std::vector<ArenaBuffer> randomBuffers(std::mt19937 &random) {
  std::vector<ArenaBuffer> buffers(random() % 60);
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t first = random() % 40;
    buffers[i] = {int64_t(i), int64_t(random() % 5000), first, first + int64_t(random() % 12),
                  int64_t(1) << random() % 9};
  }
  return buffers;
}

TEST(ArenaPlannerTest, RandomLifetimesAreNeverLaidOverEachOther) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<ArenaBuffer> buffers = randomBuffers(random);
    ArenaAssignment plan = cantFail(planArena(buffers));
    ASSERT_EQ(llvm::toString(checkArena(buffers, plan)), "");
    ASSERT_GE(plan.sizeBytes, arenaLowerBound(buffers));
    ASSERT_EQ(cantFail(planArena(buffers)).offsets, plan.offsets);
  }
}

TEST(ArenaPlannerTest, CheckFindsOverlapsThatBytesShow) {
  // Offsets at random; bytes painted step by step say whether buffers meet.
  std::mt19937 random(13);
  int numBroken = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<ArenaBuffer> buffers(2 + random() % 4);
    ArenaAssignment plan{{}, 64};
    for (size_t i = 0; i < buffers.size(); ++i) {
      int64_t first = random() % 6;
      buffers[i] = {int64_t(i), int64_t(random() % 12), first, first + int64_t(random() % 3), 1};
      plan.offsets.push_back(random() % 52);
    }
    bool broken = false;
    for (int64_t step = 0; step < 10; ++step) {
      std::vector<int> owners(64, 0);
      for (size_t i = 0; i < buffers.size(); ++i)
        for (int64_t b = 0; step >= buffers[i].firstUse && step <= buffers[i].lastUse && b < buffers[i].sizeBytes; ++b)
          broken |= ++owners[plan.offsets[i] + b] > 1;
    }
    llvm::Error error = checkArena(buffers, plan);
    ASSERT_EQ(bool(error), broken);
    llvm::consumeError(std::move(error));
    numBroken += broken;
  }
  EXPECT_GT(numBroken, 50);
}

TEST(ArenaPlannerTest, ReusesBytesAfterTheLastUse) {
  // A chain: two neighbours live together, so two buffers of 128 bytes are enough for ten.
  std::vector<ArenaBuffer> chain;
  for (int64_t i = 0; i < 10; ++i)
    chain.push_back({i, 128, i, i + 1, 64});
  EXPECT_EQ(arenaLowerBound(chain), 256);
  EXPECT_EQ(cantFail(planArena(chain)).sizeBytes, 256);
}

TEST(ArenaPlannerTest, CheckNamesWhatIsBroken) {
  std::vector<ArenaBuffer> buffers = {{7, 100, 0, 2, 64}, {8, 100, 2, 3, 64}};
  EXPECT_EQ(llvm::toString(checkArena(buffers, {{0, 64}, 164})),
            "buffers 7 at offset 0 and 8 at offset 64 overlap while both live in step 2");
  EXPECT_EQ(llvm::toString(checkArena(buffers, {{0, 130}, 240})), "buffer 8 at offset 130 is not aligned to 64 bytes");
  EXPECT_EQ(llvm::toString(checkArena(buffers, {{0, 128}, 200})),
            "buffer 8 at offset 128 with 100 bytes does not lie in the arena of 200 bytes");
  EXPECT_EQ(llvm::toString(checkArena(buffers, {{0}, 200})), "the arena has 1 offsets for 2 buffers");
}

TEST(ArenaPlannerTest, RefusesImpossibleBuffers) {
  auto refused = [](ArenaBuffer buffer) { return llvm::toString(planArena(buffer).takeError()); };
  EXPECT_EQ(refused({3, -1, 0, 0, 64}), "buffer 3 has -1 bytes, expected at least 0");
  EXPECT_EQ(refused({3, 1, 5, 4, 64}),
            "buffer 3 is used from step 5 to step 4, expected the last use not to be before the first");
  EXPECT_EQ(refused({3, 1, 0, 0, 48}), "buffer 3 has alignment 48, expected a power of two");
  EXPECT_EQ(refused({3, INT64_MAX, 0, 0, 64}), "the sizes of 1 buffers exceed 2^63 bytes");
}
