// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lists of CPUs, affinity, and what /sys and /proc say about speed and quota.
#include "runtime/base/Processors.h"

#include "runtime/base/Checked.h"
#include "runtime/base/SystemCall.h"
#include "runtime/base/TextFile.h"

#include <stdio.h>
#include <string.h>

namespace moert {

uint32_t CpuSet::count() const {
  uint32_t total = 0;
  for (uint64_t word : words)
    for (; word; word &= word - 1) // no population count in the baseline instruction set
      ++total;
  return total;
}

//===--- lists ----------------------------------------------------------------------------------------------------===//

bool parseCpuList(const char *text, CpuSet &set) {
  set = {};
  for (;;) {
    uint64_t first = 0, last = 0;
    if (!readDigits(text, kMaxCpus - 1, first))
      return false;
    last = first;
    if (*text == '-' && (!readDigits(++text, kMaxCpus - 1, last) || last < first))
      return false;
    for (; first <= last; ++first)
      set.add(static_cast<uint32_t>(first));
    if (!*text)
      return true;
    if (*text++ != ',')
      return false;
  }
}

const char *cpuListText(const CpuSet &set, char *text) {
  unsigned length = 0;
  text[0] = '\0';
  for (uint32_t cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!set.has(cpu))
      continue;
    uint32_t first = cpu;
    while (set.has(cpu + 1))
      ++cpu;
    const char *comma = length ? "," : "";
    if (length + 16 > kCpuListBytes) {
      snprintf(text + length, kCpuListBytes - length, ",...");
      return text;
    }
    length += static_cast<unsigned>(
        first == cpu ? snprintf(text + length, kCpuListBytes - length, "%s%u", comma, first)
                     : snprintf(text + length, kCpuListBytes - length, "%s%u-%u", comma, first, cpu));
  }
  return text;
}

//===--- affinity -------------------------------------------------------------------------------------------------===//

CpuSet allowedCpus() {
  CpuSet set = {};
  systemCall(kSysSchedGetAffinity, 0, sizeof(set.words), reinterpret_cast<long>(set.words));
  if (!set.count())
    set.add(0);
  return set;
}

uint32_t currentCpu() {
  uint32_t cpu = 0;
  systemCall(kSysGetCpu, reinterpret_cast<long>(&cpu), 0, 0);
  return cpu;
}

bool restrictThread(const CpuSet &set) {
  return systemCall(kSysSchedSetAffinity, 0, sizeof(set.words), reinterpret_cast<long>(set.words)) == 0;
}

//===--- speed and quota ------------------------------------------------------------------------------------------===//

/// A property of a CPU in /sys, 0 if unknown.
static uint64_t cpuProperty(const char *root, uint32_t cpu, const char *name) {
  char path[256], text[32];
  snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%u/%s", root, cpu, name);
  uint64_t value = 0;
  const char *digits = text;
  return readTextFile(path, text, sizeof(text)) && readDigits(digits, UINT32_MAX, value) ? value : 0;
}

/// CPUs whose property has `share` quarters of the largest one; 0 if no CPU has the property.
static uint32_t fastCpus(const CpuSet &allowed, const char *root, const char *name, uint64_t share) {
  uint64_t fastest = 0;
  for (uint32_t cpu = 0; cpu < kMaxCpus; ++cpu)
    if (allowed.has(cpu))
      fastest = maxOf(fastest, cpuProperty(root, cpu, name));
  uint32_t count = 0;
  for (uint32_t cpu = 0; fastest && cpu < kMaxCpus; ++cpu)
    count += allowed.has(cpu) && cpuProperty(root, cpu, name) * 4 >= fastest * share;
  return count;
}

/// Whole CPUs of `quota` out of `period`, at least 1.
static uint64_t wholeCpus(uint64_t quota, uint64_t period) { return period ? maxOf(1, quota / period) : UINT64_MAX; }

/// The quota of one control group of version 2, from `cpu.max`: "max 100000" or "150000 100000".
static uint64_t groupQuota(const char *root, const char *group, int groupLength) {
  char path[512], text[64];
  snprintf(path, sizeof(path), "%s/sys/fs/cgroup%.*s/cpu.max", root, groupLength, group);
  uint64_t quota = 0, period = 0;
  const char *rest = text;
  if (!readTextFile(path, text, sizeof(text)) || !readDigits(rest, UINT32_MAX, quota) || *rest++ != ' ' ||
      !readDigits(rest, UINT32_MAX, period))
    return UINT64_MAX;
  return wholeCpus(quota, period);
}

static uint64_t quotaCpus(const char *root) {
  char path[256], text[512], number[32];
  uint64_t least = UINT64_MAX;
  snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
  // "0::/a/b" is the group in version 2; limits of its parents hold too.
  const char *group = readTextFile(path, text, sizeof(text)) && memcmp(text, "0::", 3) == 0 ? text + 3 : "";
  int length = 0;
  while (group[length] && group[length] != '\n')
    ++length;
  for (;; --length) {
    if (length == 0 || group[length] == '\n' || group[length] == '/' || !group[length])
      least = minOf(least, groupQuota(root, group, length));
    if (length == 0)
      break;
  }
  uint64_t quota = 0, period = 0;
  const char *digits = number;
  snprintf(path, sizeof(path), "%s/sys/fs/cgroup/cpu/cpu.cfs_quota_us", root); // version 1; -1 = no quota
  if (readTextFile(path, number, sizeof(number)) && readDigits(digits, UINT32_MAX, quota)) {
    digits = number;
    snprintf(path, sizeof(path), "%s/sys/fs/cgroup/cpu/cpu.cfs_period_us", root);
    if (readTextFile(path, number, sizeof(number)) && readDigits(digits, UINT32_MAX, period))
      least = minOf(least, wholeCpus(quota, period));
  }
  return least;
}

uint32_t performanceCpus(const CpuSet &allowed, const char *root) {
  constexpr uint64_t kHalf = 2, kThreeQuarters = 3;
  uint32_t count = fastCpus(allowed, root, "cpu_capacity", kHalf);
  if (!count)
    count = fastCpus(allowed, root, "cpufreq/cpuinfo_max_freq", kThreeQuarters);
  if (!count)
    count = allowed.count();
  return static_cast<uint32_t>(maxOf(1, minOf(count, quotaCpus(root))));
}

} // namespace moert
