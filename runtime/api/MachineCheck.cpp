// SPDX-License-Identifier: Apache-2.0
/// \file
/// For programs that look at the machine without opening a model.
#include "moert/MachineCheck.h"

#include "runtime/api/Features.h"
#include "runtime/base/Processors.h"
#include "runtime/base/Slowdown.h"

#include <string.h>

using namespace moert;

static_assert(sizeof(moert_cpu_set) == sizeof(CpuSet));

uint32_t moert_cpu_features(void) { return cpuFeatures(); }

const char *moert_feature_name(uint32_t feature) { return featureName(feature); }

void moert_allowed_cpus(moert_cpu_set *set) {
  CpuSet allowed = allowedCpus();
  memcpy(set, &allowed, sizeof(allowed));
}

uint32_t moert_current_cpu(void) { return currentCpu(); }

int32_t moert_parse_cpus(const char *text, moert_cpu_set *set) {
  CpuSet parsed;
  bool isList = parseCpuList(text, parsed);
  memcpy(set, &parsed, sizeof(parsed));
  return isList;
}

static CpuSet setOf(const moert_cpu_set *set) {
  CpuSet result;
  memcpy(&result, set, sizeof(result));
  return result;
}

uint32_t moert_count_cpus(const moert_cpu_set *set) { return setOf(set).count(); }

uint32_t moert_performance_cpus(const moert_cpu_set *allowed, const char *root) {
  return performanceCpus(setOf(allowed), root);
}

void moert_described_slowdown(const char *root, uint64_t elapsedNs, uint32_t threads, moert_slow_shares *shares) {
  uint64_t faults = 0;
  ThreadTimes times = {};
  *shares = {};
  if (readMajorFaults(root, faults) && threads)
    shares->swap = slowShare(faults < elapsedNs ? faults * kFaultNs / threads : elapsedNs, elapsedNs);
  if (readThreadTimes(root, 0, times))
    shares->oversubscribed = slowShare(times.waitNs, elapsedNs);
  shares->throttled = 1 - lowestClockShare(root);
}
