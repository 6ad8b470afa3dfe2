// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading the files, which all have one line.
#include "runtime/base/Slowdown.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Processors.h"
#include "runtime/base/SystemCall.h"
#include "runtime/base/TextFile.h"

#include <stdio.h>

namespace moert {

float slowShare(uint64_t lostNs, uint64_t totalNs) {
  if (lostNs >= totalNs)
    return lostNs ? 1 : 0;
  return static_cast<float>(lostNs) / static_cast<float>(totalNs);
}

uint32_t currentThread() { return static_cast<uint32_t>(systemCall(kSysGetTid)); }

bool readThreadTimes(const char *root, uint32_t thread, ThreadTimes &times) {
  char path[256], text[96];
  if (thread)
    snprintf(path, sizeof(path), "%s/proc/self/task/%u/schedstat", root, thread);
  else
    snprintf(path, sizeof(path), "%s/proc/self/schedstat", root);
  const char *at = text;
  return readTextFile(path, text, sizeof(text)) && readDigits(at, UINT64_MAX, times.runNs) && *at++ == ' ' &&
         readDigits(at, UINT64_MAX, times.waitNs);
}

bool readMajorFaults(const char *root, uint64_t &count) {
  char path[256], text[512];
  snprintf(path, sizeof(path), "%s/proc/self/stat", root);
  if (!readTextFile(path, text, sizeof(text)))
    return false;
  // The name of the program, in parentheses, may hold anything. The state is field 3, major faults are field 12.
  const char *at = text;
  for (const char *next = text; *next; ++next)
    at = *next == ')' ? next : at;
  for (int field = 2; field < 12 && *at; ++at)
    field += *at == ' ';
  return readDigits(at, UINT64_MAX, count);
}

static uint64_t readClock(const char *root, uint32_t cpu, const char *name) {
  char path[256], text[32];
  uint64_t kilohertz = 0;
  snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%u/cpufreq/%s", root, cpu, name);
  const char *at = text;
  return readTextFile(path, text, sizeof(text)) && readDigits(at, UINT32_MAX, kilohertz) ? kilohertz : 0;
}

float clockShare(const char *root, uint32_t cpu) {
  uint64_t highest = readClock(root, cpu, "cpuinfo_max_freq");
  if (!highest)
    return 1;
  uint64_t limit = readClock(root, cpu, "scaling_max_freq"), now = readClock(root, cpu, "scaling_cur_freq");
  uint64_t clock = minOf(limit ? limit : highest, now ? now : highest);
  return clock < highest ? static_cast<float>(clock) / static_cast<float>(highest) : 1;
}

float lowestClockShare(const char *root) {
  uint64_t fastest = 0;
  for (uint32_t cpu = 0; cpu < kMaxCpus; ++cpu)
    fastest = maxOf(fastest, readClock(root, cpu, "cpuinfo_max_freq"));
  float lowest = 1;
  for (uint32_t cpu = 0; fastest && cpu < kMaxCpus; ++cpu)
    if (readClock(root, cpu, "cpuinfo_max_freq") * 4 >= fastest * 3) {
      float share = clockShare(root, cpu);
      lowest = share < lowest ? share : lowest;
    }
  return lowest;
}

} // namespace moert
