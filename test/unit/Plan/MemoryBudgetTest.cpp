// SPDX-License-Identifier: Apache-2.0
/// \file
/// A budget decides the number of slots; below the minimum the message says what needs the memory.
#include "lib/Plan/MemoryBudget.h"

#include "gtest/gtest.h"

using namespace moec;

static constexpr uint64_t kGiB = uint64_t(1) << 30;

static MemoryBudget exampleBudget() {
  MemoryBudget budget;
  cantFail(budget.add("kv cache", kGiB));
  cantFail(budget.add("arena", kGiB / 2));
  cantFail(budget.add("tokenizer", 1000));
  cantFail(budget.add("kv cache", kGiB));
  cantFail(budget.setSlots(kGiB / 4, 6, 100));
  return budget;
}

TEST(MemoryBudgetTest, SlotsAreWhatTheBudgetLeaves) {
  MemoryBudget budget = exampleBudget();
  uint64_t fixed = 2 * kGiB + kGiB / 2 + 1000;
  EXPECT_EQ(budget.fixedBytes(), fixed);
  EXPECT_EQ(budget.minimumBytes(), fixed + 6 * (kGiB / 4));
  EXPECT_EQ(budget.fullBytes(), fixed + 100 * (kGiB / 4));
  EXPECT_EQ(cantFail(budget.slotsFor(budget.minimumBytes())), 6u);
  EXPECT_EQ(cantFail(budget.slotsFor(fixed + 10 * (kGiB / 4) - 1)), 9u);
  EXPECT_EQ(cantFail(budget.slotsFor(UINT64_MAX)), 100u);
  EXPECT_EQ(cantFail(MemoryBudget().slotsFor(0)), 0u);
}

TEST(MemoryBudgetTest, BelowTheMinimumNamesTheLargestConsumers) {
  // Needed: 2.5 GiB + 1000 bytes + 1.5 GiB.
  EXPECT_EQ(llvm::toString(exampleBudget().slotsFor(3 * kGiB).takeError()),
            "needs 4294968296 bytes (4.0 GiB), budget is 3221225472 bytes (3.0 GiB) (kv cache 2.0 GiB, expert slots "
            "1.5 GiB, arena 512.0 MiB); raise the budget, or lower the context, the chunk or the precision");
}

TEST(MemoryBudgetTest, SumsBeyondEveryMachineAreErrors) {
  MemoryBudget budget = exampleBudget();
  EXPECT_EQ(llvm::toString(budget.add("arena", UINT64_MAX)),
            "the memory plan exceeds 2^64 bytes with 18446744073709551615 bytes of arena");
  EXPECT_EQ(llvm::toString(budget.setSlots(UINT64_MAX, 1, 2)),
            "the memory plan exceeds 2^64 bytes with 2 expert slots of 18446744073709551615 bytes");
  EXPECT_EQ(llvm::toString(budget.setSlots(1, 3, 2)), "the model needs 3 expert slots but has only 2 experts");
}
