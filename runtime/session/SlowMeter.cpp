// SPDX-License-Identifier: Apache-2.0
/// \file
/// Differences between two looks.
#include "runtime/session/SlowMeter.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Slowdown.h"

namespace moert {

void SlowMeter::begin(ThreadPool &pool, uint64_t stallNs, uint64_t nowNs) {
  if (nowNs - lastNs.load() >= kPeriodNs)
    look(pool, stallNs, nowNs, false);
}

void SlowMeter::note(ThreadPool &pool, uint64_t stallNs, uint64_t nowNs) {
  if (nowNs - lastNs.load() >= kPeriodNs)
    look(pool, stallNs, nowNs, true);
}

/// `now` - `last`, which becomes `now`; 0 if it went back.
static uint64_t advance(uint64_t &last, uint64_t now) {
  uint64_t before = last;
  last = now;
  return now > before ? now - before : 0;
}

void SlowMeter::look(ThreadPool &pool, uint64_t stallNs, uint64_t nowNs, bool counts) {
  Lock lock(mutex);
  const char *prefix = root ? root : "";
  uint64_t elapsedNs = nowNs - lastNs.load();
  // Another session may have looked meanwhile, at a later time even.
  if (elapsedNs < kPeriodNs || nowNs < lastNs.load())
    return;
  lastNs.store(nowNs);
  uint64_t stalledNs = minOf(advance(lastStallNs, stallNs), elapsedNs);
  ThreadTimes times = {};
  uint32_t thread = currentThread();
  bool isSame = thread == caller;
  caller = thread;
  uint64_t ranNs = 0, longestNs = 0, faults = 0;
  if (readThreadTimes(prefix, thread, times)) {
    ranNs = advance(lastRunNs, times.runNs);
    longestNs = advance(lastWaitNs, times.waitNs);
  }
  if (!isSame)
    ranNs = longestNs = 0;
  for (uint32_t i = 1; i < pool.threads(); ++i) {
    ThreadPool::Worker &worker = pool.worker(i);
    if (uint32_t id = worker.id.load(); id && readThreadTimes(prefix, id, times))
      longestNs = maxOf(longestNs, advance(worker.seenWaitNs, times.waitNs));
  }
  uint64_t newFaults = readMajorFaults(prefix, faults) ? advance(lastFaults, faults) : 0;
  if (!counts)
    return;
  double awake = 1 - static_cast<double>(stalledNs) / static_cast<double>(elapsedNs);
  waitingNs.fetchAdd(static_cast<uint64_t>(awake * static_cast<double>(minOf(longestNs, elapsedNs))));
  numFaults.fetchAdd(newFaults);
  auto lacking = static_cast<double>(1 - clockShare(prefix, currentCpu()));
  throttledNs.fetchAdd(static_cast<uint64_t>(lacking * static_cast<double>(minOf(ranNs, elapsedNs))));
}

} // namespace moert
