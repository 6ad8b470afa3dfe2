// SPDX-License-Identifier: Apache-2.0
/// \file
/// A thread leaves the CPU of another one of its pool, and may come back; one that was away for long notices it.
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

TEST(Courtesy, BeginsWhenALookComesLate) {
  Courtesy courtesy = {};
  courtesy.begin(false);
  courtesy.look();
  EXPECT_FALSE(courtesy.isContended());
  // Time passes between two looks at the clock as if the thread had been taken away.
  for (uint64_t end = monotonicNs() + 1000000; monotonicNs() < end;)
    continue;
  for (int i = 0; i < 8; ++i)
    courtesy.look();
  EXPECT_TRUE(courtesy.isContended());
}

} // namespace
