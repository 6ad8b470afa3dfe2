// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lists of CPUs, and the number of threads that speed, affinity and quota suggest, read from made-up /sys and /proc.
#include "runtime/base/Processors.h"

#include "test/unit/Runtime/FakeRoot.h"

#include <gtest/gtest.h>

#include <string>
#include <unistd.h>

using namespace moert;

namespace {

TEST(CpuList, ReadsAndWrites) {
  char text[kCpuListBytes];
  for (const char *list : {"0", "0-3,6", "63-65,1023", "1,3,5"}) {
    CpuSet set;
    ASSERT_TRUE(parseCpuList(list, set)) << list;
    EXPECT_STREQ(cpuListText(set, text), list);
  }
  CpuSet set;
  ASSERT_TRUE(parseCpuList("3,1-2,2", set));
  EXPECT_STREQ(cpuListText(set, text), "1-3");
  EXPECT_EQ(set.count(), 3u);
  for (const char *wrong : {"", "-", "1-", "2-1", "a", "1,,2", "1,", "1024", "0 1", "99999999999999999999", "-1"})
    EXPECT_FALSE(parseCpuList(wrong, set)) << wrong;
}

TEST(CpuList, ThatIsTooLongIsCut) {
  CpuSet set = {};
  for (uint32_t cpu = 0; cpu < kMaxCpus; cpu += 2)
    set.add(cpu);
  char text[kCpuListBytes];
  std::string list = cpuListText(set, text);
  EXPECT_EQ(list.substr(list.size() - 4), ",...");
}

struct FakeRoot : fake::Root {
  uint32_t threads(const char *allowed) {
    CpuSet set;
    EXPECT_TRUE(parseCpuList(allowed, set));
    return performanceCpus(set, path.c_str());
  }
};

TEST(PerformanceCpus, AreThoseOfHalfTheCapacity) {
  FakeRoot root;
  root.cpus("cpu_capacity", {160, 160, 160, 160, 512, 512, 512, 1024});
  EXPECT_EQ(root.threads("0-7"), 4u);
  EXPECT_EQ(root.threads("0-3"), 4u); // among those that the process may use
  EXPECT_EQ(root.threads("3-5"), 2u);
}

TEST(PerformanceCpus, AreTheFastClockedWithoutCapacities) {
  FakeRoot root;
  root.cpus("cpufreq/cpuinfo_max_freq", {2000000, 2000000, 3000000, 3300000});
  EXPECT_EQ(root.threads("0-3"), 2u);
  EXPECT_EQ(FakeRoot().threads("0-3"), 4u);
}

TEST(PerformanceCpus, FollowTheQuota) {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/app/one\n");
  root.write("/sys/fs/cgroup/app/one/cpu.max", "max 100000\n");
  EXPECT_EQ(root.threads("0-7"), 8u);
  root.write("/sys/fs/cgroup/app/cpu.max", "350000 100000\n"); // a limit of the parent
  EXPECT_EQ(root.threads("0-7"), 3u);
  root.write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(root.threads("0-7"), 1u);
}

TEST(PerformanceCpus, FollowTheQuotaOfVersionOne) {
  FakeRoot root;
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.threads("0-7"), 8u);
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(root.threads("0-7"), 2u);
}

} // namespace
