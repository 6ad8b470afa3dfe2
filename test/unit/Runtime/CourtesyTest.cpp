// SPDX-License-Identifier: Apache-2.0
/// \file
/// A thread leaves the CPU of another one of its pool, and may come back; a long tile is not mistaken for a pause.
#include "runtime/pool/Courtesy.h"

#include <gtest/gtest.h>

#include <thread>

using namespace moert;

namespace {

TEST(Courtesy, AvoidsTheCpuOfAnotherThread) {
  std::thread([] {
    CpuSet all = allowedCpus(), one = {};
    one.add(currentCpu());
    ASSERT_TRUE(restrictThread(one));
    uint32_t cpu = currentCpu();
    ASSERT_TRUE(one.has(cpu));
    Courtesy threads[2] = {};
    threads[0].avoid(threads, 0, all);
    EXPECT_EQ(allowedCpus().count(), 1u) << "the first thread goes nowhere";
    threads[1].avoid(threads, 1, all);
    EXPECT_EQ(allowedCpus().has(cpu), all.count() == 1);
    // Its CPU is another one now, or nothing can be done.
    CpuSet rest = allowedCpus();
    threads[1].avoid(threads, 1, all);
    EXPECT_EQ(allowedCpus().count(), rest.count());
    if (all.count() > 1) {
      threads[1].settle(all);
      EXPECT_EQ(allowedCpus().count(), all.count());
    }
  }).join();
}

TEST(Courtesy, LongTilesAloneAreNoReason) {
  std::thread([] {
    Courtesy courtesy = {};
    courtesy.begin(false);
    courtesy.look();
    // Time passes between two looks at the clock.
    for (uint64_t end = monotonicNs() + 400000; monotonicNs() < end;)
      continue;
    uint64_t before = involuntarySwitches();
    for (int i = 0; i < 8; ++i)
      courtesy.look();
    if (involuntarySwitches() == before)
      EXPECT_EQ(courtesy.isContended(), before != 0);
  }).join();
}

} // namespace
