// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which processors there are for computing: affinity, speed as the kernel publishes it, and the quota of the process.
/// Main source: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu and admin-guide/cgroup-v2.
#ifndef RUNTIME_BASE_PROCESSORS_H
#define RUNTIME_BASE_PROCESSORS_H

#include <stddef.h>
#include <stdint.h>

namespace moert {

inline constexpr uint32_t kMaxCpus = 1024; // as glibc's cpu_set_t

struct CpuSet {
  uint64_t words[kMaxCpus / 64];

  bool has(uint32_t cpu) const { return cpu < kMaxCpus && ((words[cpu / 64] >> (cpu % 64)) & 1); }
  void add(uint32_t cpu) { words[cpu / 64] |= 1ull << (cpu % 64); }
  void remove(uint32_t cpu) {
    if (cpu < kMaxCpus)
      words[cpu / 64] &= ~(1ull << (cpu % 64));
  }
  uint32_t count() const;
};

/// Reads a list such as `0-3,6`. False if it is anything else, or names a CPU from kMaxCpus on.
bool parseCpuList(const char *text, CpuSet &set);
/// Writes such a list; a longer one than fits ends in `...`. `text` holds kCpuListBytes.
inline constexpr unsigned kCpuListBytes = 160;
const char *cpuListText(const CpuSet &set, char *text);

/// CPUs that the calling thread may use.
CpuSet allowedCpus();
/// The CPU that the calling thread runs on, for the moment.
uint32_t currentCpu();
/// Restricts the calling thread. False if the system refuses.
bool restrictThread(const CpuSet &set);

/// The number of threads that computing should take: the performance cores among `allowed`, at most the quota, at least
/// 1. A core counts if it has half of the largest capacity, or, where the kernel publishes no capacity, three quarters
/// of the highest frequency. `root` stands before /sys and /proc: empty but for tests.
uint32_t performanceCpus(const CpuSet &allowed, const char *root);

} // namespace moert
#endif
