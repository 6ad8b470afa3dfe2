/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// What a model learns about the machine when it opens, for programs that look without opening. Compiled into programs,
/// such as moe-run; a compiled model offers no such function.
#ifndef MOERT_MACHINECHECK_H
#define MOERT_MACHINECHECK_H

#include "moert/Generated.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MOERT_CPU_SET_WORDS 16u

/// CPU n is bit n % 64 of word n / 64.
typedef struct moert_cpu_set {
  uint64_t words[MOERT_CPU_SET_WORDS];
} moert_cpu_set;

/// MOERT_FEATURE_* bits that this processor and system have.
uint32_t moert_cpu_features(void);
/// Name of one such bit.
const char *moert_feature_name(uint32_t feature);

/// CPUs that the calling thread may use, and the one that it runs on.
void moert_allowed_cpus(moert_cpu_set *set);
uint32_t moert_current_cpu(void);
/// Reads a list such as "0-3,6". 0 if it is anything else.
int32_t moert_parse_cpus(const char *text, moert_cpu_set *set);
uint32_t moert_count_cpus(const moert_cpu_set *set);
/// The number of threads that computing takes by itself: the performance cores among `allowed`, at most the quota of
/// the process, at least 1. `root` stands before /sys and /proc.
uint32_t moert_performance_cpus(const moert_cpu_set *allowed, const char *root);

/// What a described machine says that a run of `elapsed_ns` lost, as moert_statistics names it. Its files tell of the
/// run alone: their counters began with it.
typedef struct moert_slow_shares {
  float swap;
  float throttled;
  float oversubscribed;
} moert_slow_shares;
void moert_described_slowdown(const char *root, uint64_t elapsed_ns, uint32_t threads, moert_slow_shares *shares);

#ifdef __cplusplus
}
#endif
#endif
