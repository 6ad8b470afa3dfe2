// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the kernel says of time that a process lost: cores that others used, clocks that were lowered, pages that had
/// to be read back. Main sources: Linux, Documentation/scheduler/sched-stats.rst, admin-guide/pm/cpufreq.rst,
/// proc_pid_stat(5). In all functions `root` stands before /proc and /sys: empty but for described machines.
#ifndef RUNTIME_BASE_SLOWDOWN_H
#define RUNTIME_BASE_SLOWDOWN_H

#include <stdint.h>

namespace moert {

/// What a major page fault costs, estimated: a random read of 4 KiB from flash or a small disk queue. From zram it is
/// less.
inline constexpr uint64_t kFaultNs = 100000;

/// The share of a time that was lost, at most 1.
float slowShare(uint64_t lostNs, uint64_t totalNs);

/// Since the start of a thread.
struct ThreadTimes {
  uint64_t runNs;  /// on a core
  uint64_t waitNs; /// ready to run, without a core
};

/// The calling thread as /proc numbers it.
uint32_t currentThread();
/// `thread` 0: the first thread of the process. False where the kernel does not tell.
bool readThreadTimes(const char *root, uint32_t thread, ThreadTimes &times);
/// Page faults of the process, since its start, that waited for storage.
bool readMajorFaults(const char *root, uint64_t &count);
/// The clock of a CPU, or the limit that is set for it if that is lower, as a share of its highest; 1 if not known.
float clockShare(const char *root, uint32_t cpu);
/// The lowest such share of the CPUs that have three quarters of the highest clock of all.
float lowestClockShare(const char *root);

} // namespace moert
#endif
