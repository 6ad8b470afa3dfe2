// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory that is available, swapped, and may be locked.
#include "tools/moe-run/doctor/Checks.h"
#include "tools/moe-run/doctor/MemoryGroup.h"

#include <stdio.h>

namespace moerun {

/// What the system and other apps need to stay quiet beside the model.
static constexpr uint64_t kSpareBytes = 2000000000;

static unsigned long long print(uint64_t value) { return static_cast<unsigned long long>(value); }

/// Where only the room for everything else is too small: a lower budget, if one leaves it.
static void adviseWarned(Finding &finding, const moert_plan_info &plan, uint64_t available) {
  double missing = mebibytes(plan.planned_bytes + kSpareBytes - available);
  if (available >= plan.min_bytes + kSpareBytes)
    finding.advise("free %.1f MiB (close other apps), or run with --memory %llu: same text, lower speed", missing,
                   print(available - kSpareBytes));
  else if (plan.min_bytes < plan.planned_bytes)
    finding.advise("free %.1f MiB (close other apps); no --memory leaves 2 GB: with the minimum, --memory %llu, %.1f "
                   "MiB are missing still",
                   missing, print(plan.min_bytes), mebibytes(plan.min_bytes + kSpareBytes - available));
  else
    finding.advise("free %.1f MiB (close other apps), or lower --context: the plan is the minimum already", missing);
}

void checkMemory(Patient &patient) {
  const moert_plan_info &plan = patient.plan;
  Findings &findings = patient.findings;
  if (patient.planError.status == MOERT_STATUS_BUDGET) {
    findings.add("memory", State::Error, "%s", patient.planError.message)
        .need("at least %.1f MiB", mebibytes(plan.min_bytes))
        .advise("raise --memory or lower --context")
        .measure(static_cast<double>(plan.budget_bytes), static_cast<double>(plan.min_bytes), "bytes");
    return;
  }
  uint64_t available = 0, total = 0, wanted = plan.planned_bytes + kSpareBytes;
  if (!patient.machine.readMemory("MemAvailable:", &available)) {
    findings.addUnknown("memory", "/proc/meminfo cannot be read");
    return;
  }
  patient.machine.readMemory("MemTotal:", &total);
  MemoryGroup group = readMemoryGroup(patient.machine);
  bool isGroups = group.isLimited && group.availableBytes < available;
  if (isGroups) {
    available = group.availableBytes;
    total = group.limitBytes;
  }
  State state = available < plan.min_bytes ? State::Error : available < wanted ? State::Warning : State::Ok;
  Finding &f =
      findings.add("memory", state, "%.1f MiB available of %.1f MiB%s%s", mebibytes(available), mebibytes(total),
                   isGroups ? ", the limit of the control group " : "", isGroups ? group.name : "");
  f.need("%.1f MiB: %.1f MiB under this budget and 2 GB for everything else; minimum %.1f MiB, with every expert "
         "resident %.1f MiB",
         mebibytes(wanted), mebibytes(plan.planned_bytes), mebibytes(plan.min_bytes), mebibytes(plan.plan_bytes));
  f.measure(static_cast<double>(available), static_cast<double>(state == State::Error ? plan.min_bytes : wanted),
            "bytes");
  if (state == State::Error)
    f.advise("close other apps, or lower --context; below the minimum this model does not run");
  else if (state == State::Warning)
    adviseWarned(f, plan, available);
}

bool readSwapped(const Machine &machine, uint64_t *pages) {
  char text[16384];
  uint64_t in = 0, out = 0;
  bool isKnown = machine.readText(text, sizeof(text), "/proc/vmstat") && findField(text, "pswpin ", &in) &&
                 findField(text, "pswpout ", &out);
  *pages = in + out;
  return isKnown;
}

void checkSwap(Patient &patient) {
  // Below the first lie pages of the start-up that nobody asked for again, below the second the usual background while
  // some hundred MiB are read.
  constexpr uint64_t kMostUsedBytes = 1048576, kMostMoved = 1000;
  uint64_t total = 0, left = 0, now = 0;
  if (!patient.machine.readMemory("SwapTotal:", &total) || !patient.machine.readMemory("SwapFree:", &left)) {
    patient.findings.addUnknown("swap", "/proc/meminfo cannot be read");
    return;
  }
  bool isKnown = patient.hasPagesSwapped && readSwapped(patient.machine, &now);
  uint64_t moved = isKnown && now > patient.pagesSwapped ? now - patient.pagesSwapped : 0;
  uint64_t used = total > left ? total - left : 0;
  State state = used > kMostUsedBytes || moved > kMostMoved ? State::Warning : State::Ok;
  char activity[64] = "activity unknown";
  if (isKnown)
    snprintf(activity, sizeof(activity), "%llu pages moved during these checks", print(moved));
  patient.findings
      .add("swap", state, "%.1f of %.1f MiB used (swap or zram), %s", mebibytes(used), mebibytes(total), activity)
      .need("at most 1 MiB used and 1000 pages moved")
      .advise("the system is short of memory: close other apps or lower --memory; --lock keeps the model out of swap")
      .measure(static_cast<double>(used), kMostUsedBytes, "bytes");
}

void checkMemoryLock(Patient &patient) {
  uint64_t limit = 0, wanted = patient.plan.planned_bytes;
  if (!patient.machine.readLockLimit(&limit)) {
    patient.findings.addUnknown("memory_lock", "the limit cannot be read");
    return;
  }
  bool isFree = limit == UINT64_MAX || patient.machine.maySkipLockLimit();
  // Who does not ask for --lock does not need it.
  State state = patient.options.lock && !isFree && limit < wanted ? State::Warning : State::Ok;
  Finding &f = isFree ? patient.findings.add("memory_lock", state, "no limit for this process")
                      : patient.findings.add("memory_lock", state, "%.2f MiB may be locked", mebibytes(limit));
  f.need(patient.options.lock ? "%.1f MiB for --lock" : "nothing without --lock, which would lock %.1f MiB",
         mebibytes(wanted));
  f.advise("raise RLIMIT_MEMLOCK (ulimit -l %llu), or run without --lock: the rest stays unlocked and may be swapped",
           print(wanted / 1024 + 1));
  if (!isFree)
    f.measure(static_cast<double>(limit), patient.options.lock ? static_cast<double>(wanted) : 0, "bytes");
}

} // namespace moerun
