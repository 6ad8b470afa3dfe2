// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a process lost, read from made-up /proc and /sys, and added up over the looks of a meter.
#include "runtime/base/Slowdown.h"
#include "runtime/session/SlowMeter.h"
#include "test/unit/Runtime/FakeRoot.h"
#include "test/unit/Runtime/PoolFixture.h"

using namespace moert;

namespace {

constexpr uint64_t kMs = 1000000, kPeriod = SlowMeter::kPeriodNs;

/// A process with a caller and workers.
struct Process : fake::Root {
  void thread(uint32_t id, uint64_t runMs, uint64_t waitMs) const {
    write("/proc/self/task/" + std::to_string(id) + "/schedstat",
          std::to_string(runMs * kMs) + " " + std::to_string(waitMs * kMs) + " 7\n");
  }
  void faults(uint64_t count) const {
    write("/proc/self/stat", "17 (a ) b) R 1 2 3 4 5 6 7 8 " + std::to_string(count) + " 9 10\n");
  }
  void clocks(int now, int limit) const {
    cpus("cpufreq/cpuinfo_max_freq", {3000000});
    cpus("cpufreq/scaling_cur_freq", {now});
    cpus("cpufreq/scaling_max_freq", {limit});
    // Whatever core the test runs on.
    for (uint32_t cpu = 1; cpu < 256; ++cpu)
      if (!std::filesystem::exists(path + "/sys/devices/system/cpu/cpu" + std::to_string(cpu)))
        std::filesystem::create_directory_symlink("cpu0", path + "/sys/devices/system/cpu/cpu" + std::to_string(cpu));
  }
};

TEST(Slowdown, ReadsWhatTheKernelSays) {
  Process process;
  const char *root = process.path.c_str();
  ThreadTimes times = {};
  uint64_t faults = 0;
  EXPECT_FALSE(readThreadTimes(root, 12, times));
  EXPECT_FALSE(readMajorFaults(root, faults));
  EXPECT_EQ(clockShare(root, 0), 1.0f);
  process.thread(12, 40, 3);
  ASSERT_TRUE(readThreadTimes(root, 12, times));
  EXPECT_EQ(times.runNs, 40 * kMs);
  EXPECT_EQ(times.waitNs, 3 * kMs);
  process.faults(123456789012);
  ASSERT_TRUE(readMajorFaults(root, faults));
  EXPECT_EQ(faults, 123456789012u);
  process.clocks(1500000, 3000000);
  EXPECT_EQ(clockShare(root, 0), 0.5f);
  process.clocks(3000000, 750000);
  EXPECT_EQ(clockShare(root, 0), 0.25f);
  EXPECT_EQ(lowestClockShare(root), 0.25f);
  for (const char *wrong : {"", "17 (a", "17 (a) R 1 2", "17 (a) R 1 2 3 4 5 6 7 8 x"}) {
    process.write("/proc/self/stat", wrong);
    EXPECT_FALSE(readMajorFaults(root, faults)) << wrong;
  }
  process.write("/proc/self/task/12/schedstat", "12");
  EXPECT_FALSE(readThreadTimes(root, 12, times));
}

TEST(Slowdown, OfThisProcessIsKnown) {
  ThreadTimes times = {};
  uint64_t faults = 0;
  EXPECT_TRUE(readThreadTimes("", currentThread(), times));
  EXPECT_TRUE(readMajorFaults("", faults));
}

TEST(Slowdown, SharesAreAtMostOne) {
  EXPECT_EQ(slowShare(0, 0), 0.0f);
  EXPECT_EQ(slowShare(1, 0), 1.0f);
  EXPECT_EQ(slowShare(1, 4), 0.25f);
  EXPECT_EQ(slowShare(UINT64_MAX, 4), 1.0f);
}

TEST(SlowMeter, CountsCallsOnly) {
  Process process;
  fake::Pool pool(2);
  SlowMeter meter = {};
  meter.root = process.path.c_str();
  uint32_t caller = currentThread();
  while (pool.pool.worker(1).id.load() == 0)
    yieldThread();
  uint32_t worker = pool.pool.worker(1).id.load();
  process.clocks(1500000, 3000000);
  process.thread(caller, 0, 100);
  process.thread(worker, 0, 200);
  process.faults(5);
  meter.begin(pool.pool, 0, kPeriod); // the first look only remembers
  EXPECT_EQ(meter.waitingNs.load(), 0u);
  process.thread(caller, 10, 101);
  process.thread(worker, 10, 208);
  process.faults(9);
  meter.note(pool.pool, 0, 2 * kPeriod - 1); // too early
  EXPECT_EQ(meter.numFaults.load(), 0u);
  meter.note(pool.pool, 0, 2 * kPeriod);
  EXPECT_EQ(meter.waitingNs.load(), 8 * kMs);   // of the one that waited longer
  EXPECT_EQ(meter.throttledNs.load(), 5 * kMs); // 10 ms at half of the clock
  EXPECT_EQ(meter.numFaults.load(), 4u);
  // Between calls.
  process.thread(caller, 500, 900);
  process.faults(900);
  meter.begin(pool.pool, 0, 100 * kPeriod);
  // Half of the time all waited for experts.
  process.thread(caller, 500, 908);
  meter.note(pool.pool, kPeriod / 2, 101 * kPeriod);
  EXPECT_EQ(meter.waitingNs.load(), 12 * kMs);
  EXPECT_EQ(meter.numFaults.load(), 4u);
  // No more than the time that passed.
  process.thread(worker, 10, 100000);
  meter.note(pool.pool, kPeriod / 2, 102 * kPeriod);
  EXPECT_EQ(meter.waitingNs.load(), 12 * kMs + kPeriod);
  meter.note(pool.pool, 0, 1); // a clock that goes back is none
  EXPECT_EQ(meter.waitingNs.load(), 12 * kMs + kPeriod);
}

} // namespace
