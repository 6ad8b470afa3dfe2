// SPDX-License-Identifier: Apache-2.0
/// \file
/// Claiming, waking and parking.
#include "runtime/pool/ThreadPool.h"

#include "runtime/base/Checked.h"
#include "runtime/base/FloatMode.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace moert {

// The word of a range: begin and end in 32 bits each.
static constexpr uint64_t kRangeMask = UINT32_MAX;

static uint64_t makeWord(uint64_t begin, uint64_t end) { return begin << 32 | end; }

moert_status ThreadPool::start(Ledger &ledger, HomeRange *rangeArray, Worker *workerArray, uint32_t threadCount,
                               const CpuSet &cpuSet, moert_error *error) {
  ranges = rangeArray;
  workers = workerArray;
  numThreads = threadCount;
  cpus = cpuSet;
  // A waiting thread spins while the others finish a launch (tens of microseconds), unless it would take a core from
  // them.
  spinNs = threadCount <= (cpus.count() ? cpus : allowedCpus()).count() ? 30000 : 0;
  for (uint32_t i = 1; i < threadCount; ++i) {
    Worker &worker = workers[i];
    worker.pool = this;
    worker.index = i;
    if (!worker.stack.create(ledger, kStackBytes, Populate::OnTouch))
      return fail(error, MOERT_STATUS_NO_MEMORY, "no memory for the stack of compute thread %u of %u (%llu bytes)",
                  i + 1, threadCount, static_cast<unsigned long long>(kStackBytes));
    if (int status = startThread(worker.thread, worker.stack.data, worker.stack.sizeBytes, workerMain, &worker))
      return fail(error, MOERT_STATUS_NO_MEMORY, "the system refused compute thread %u of %u: %s (%d)", i + 1,
                  threadCount, errnoText(status), status);
    numStarted = i;
  }
  return MOERT_STATUS_OK;
}

void ThreadPool::stop(Ledger &ledger) {
  stopping.store(1);
  epoch.fetchAdd(1);
  futexWake(&epoch.value, INT32_MAX);
  for (uint32_t i = 1; workers && i < numThreads; ++i) {
    joinThread(workers[i].thread);
    workers[i].stack.destroy(ledger);
  }
}

bool ThreadPool::claim(HomeRange &range, bool own, uint64_t &begin, uint64_t &end) {
  uint64_t word = range.word.load();
  for (;;) {
    uint64_t first = word >> 32, last = word & kRangeMask;
    if (first >= last)
      return false;
    // An eighth of what is left: few claims, and little to wait for at the end.
    uint64_t take = maxOf(1, (last - first) / 8);
    uint64_t next = own ? makeWord(first + take, last) : makeWord(first, last - take);
    if (!range.word.compareExchange(word, next))
      continue;
    begin = own ? first : last - take;
    end = begin + take;
    return true;
  }
}

void ThreadPool::runClaimed(uint64_t begin, uint64_t end) {
  kernel(context, args, static_cast<int64_t>(begin * unitTiles),
         static_cast<int64_t>(minOf(end * unitTiles, numTiles)));
  uint32_t count = static_cast<uint32_t>(end - begin);
  if (unitsLeft.fetchSub(count) == count && callerSleeps.load())
    futexWake(&unitsLeft.value, 1);
}

void ThreadPool::work(uint32_t home) {
  uint64_t begin = 0, end = 0;
  while (claim(ranges[home], true, begin, end))
    runClaimed(begin, end);
  for (uint32_t step = 1; step < numThreads; ++step) {
    HomeRange &other = ranges[(home + step) % numThreads];
    while (claim(other, false, begin, end))
      runClaimed(begin, end);
  }
}

bool ThreadPool::launch(const moert_context *ctx, moert_kernel function, void *const *arguments, int64_t tiles) {
  if (tiles <= 0)
    return false;
  if (tiles == 1 || numThreads == 1) {
    function(ctx, arguments, 0, tiles);
    return false;
  }
  Lock lock(launchMutex);
  context = ctx;
  kernel = function;
  args = arguments;
  numTiles = static_cast<uint64_t>(tiles);
  unitTiles = (numTiles + kRangeMask - 1) / kRangeMask;
  uint64_t units = (numTiles + unitTiles - 1) / unitTiles;
  unitsLeft.store(static_cast<uint32_t>(units));
  uint32_t number = epoch.load() + 1;
  for (uint32_t i = 0; i < numThreads; ++i)
    ranges[i].word.store(makeWord(units * i / numThreads, units * (i + 1) / numThreads));
  epoch.store(number);
  if (numSleeping.load())
    futexWake(&epoch.value, static_cast<int>(minOf(numThreads - 1, units - 1)));
  work(0);
  awaitDone();
  return true;
}

void ThreadPool::awaitDone() {
  if (spinNs && unitsLeft.load()) {
    uint64_t end = monotonicNs() + spinNs;
    do
      for (int i = 0; i < 32 && unitsLeft.load(); ++i)
        cpuRelax();
    while (unitsLeft.load() && monotonicNs() < end);
  }
  if (!unitsLeft.load())
    return;
  callerSleeps.store(1);
  while (uint32_t left = unitsLeft.load())
    futexWait(&unitsLeft.value, left);
  callerSleeps.store(0);
}

void ThreadPool::awaitEpoch(uint32_t seen) {
  if (spinNs) {
    uint64_t end = monotonicNs() + spinNs;
    do
      for (int i = 0; i < 32 && epoch.load() == seen; ++i)
        cpuRelax();
    while (epoch.load() == seen && monotonicNs() < end);
  }
  numSleeping.fetchAdd(1);
  while (epoch.load() == seen)
    futexWait(&epoch.value, seen);
  numSleeping.fetchSub(1);
}

void *ThreadPool::workerMain(void *argument) {
  Worker &worker = *static_cast<Worker *>(argument);
  ThreadPool &pool = *worker.pool;
  // A refusal (a CPU that went offline meanwhile) costs speed, not results.
  if (pool.cpus.count())
    restrictThread(pool.cpus);
  FloatMode mode;
  uint32_t seen = 0;
  for (;;) {
    pool.awaitEpoch(seen);
    if (pool.stopping.load())
      return nullptr;
    seen = pool.epoch.load();
    pool.work(worker.index);
  }
}

} // namespace moert
