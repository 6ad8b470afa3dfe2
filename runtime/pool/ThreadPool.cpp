// SPDX-License-Identifier: Apache-2.0
/// \file
/// Claiming, waking and parking.
#include "runtime/pool/ThreadPool.h"

#include "runtime/base/Checked.h"
#include "runtime/base/FloatMode.h"
#include "runtime/base/Slowdown.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace moert {

//===--- the word of a slot ---------------------------------------------------------------------------------------===//

static constexpr unsigned kUnitBits = 20, kPhaseShift = 2 * kUnitBits, kTagShift = kPhaseShift + 2;
static constexpr uint64_t kMostUnits = (1ull << kUnitBits) - 1, kTagMask = (1ull << (64 - kTagShift)) - 1;

/// Where a slot is: its phase, and whether that is the last one.
enum Stage : uint64_t { kFirstOfTwo = 0, kSecond = 1, kOnly = 2 };

static uint64_t makeWord(uint64_t tag, uint64_t stage, uint64_t begin, uint64_t end) {
  return tag << kTagShift | stage << kPhaseShift | begin << kUnitBits | end;
}
static uint64_t tagOf(uint64_t word) { return word >> kTagShift; }
static uint64_t stageOf(uint64_t word) { return word >> kPhaseShift & 3; }
static uint64_t phaseOf(uint64_t word) { return stageOf(word) == kSecond; }
static uint64_t beginOf(uint64_t word) { return word >> kUnitBits & kMostUnits; }
static uint64_t endOf(uint64_t word) { return word & kMostUnits; }

//===--- threads --------------------------------------------------------------------------------------------------===//

moert_status ThreadPool::start(Ledger &ledger, TaskSlot *slotArray, Worker *workerArray, Courtesy *courtesyArray,
                               uint32_t threadCount, const CpuSet &cpuSet, moert_error *error) {
  slots = slotArray;
  workers = workerArray;
  manners = courtesyArray;
  numThreads = threadCount;
  cpus = cpuSet;
  allowed = cpus.count() ? cpus : allowedCpus();
  // A waiting thread spins while the others finish a region or run serial steps (tens of microseconds), unless it would
  // take a core from them.
  constexpr uint32_t kSpinNs = 40000;
  spinNs = threadCount <= allowed.count() ? kSpinNs : 0;
  // The others may run wherever this thread may, on `cpus` or not.
  crowded = numOthers && threadCount + numOthers > allowedCpus().count();
  for (uint32_t i = 1; i < threadCount; ++i) {
    Worker &worker = workers[i];
    worker.pool = this;
    worker.index = i;
    if (!worker.stack.create(ledger, kStackBytes, Populate::OnTouch))
      return fail(error, MOERT_STATUS_NO_MEMORY, "no memory for the stack of compute thread %u of %u (%llu bytes)%s",
                  i + 1, threadCount, static_cast<unsigned long long>(kStackBytes), kWhenNoMemory);
    if (int status = startThread(ledger, worker.thread, worker.stack, workerMain, &worker))
      return fail(error, MOERT_STATUS_NO_MEMORY, "the system refused compute thread %u of %u: %s (%d)%s", i + 1,
                  threadCount, errnoText(status), status, kWhenNoThread);
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

void *ThreadPool::workerMain(void *argument) {
  Worker &worker = *static_cast<Worker *>(argument);
  ThreadPool &pool = *worker.pool;
  worker.id.store(currentThread());
  // A refusal (a CPU that went offline meanwhile) costs speed, not results.
  if (pool.cpus.count())
    restrictThread(pool.cpus);
  FloatMode mode;
  uint32_t seen = 0;
  for (;;) {
    bool slept = pool.awaitEpoch(seen);
    if (pool.stopping.load())
      return nullptr;
    seen = pool.epoch.load();
    pool.work(worker.index, seen, slept);
  }
}

//===--- regions --------------------------------------------------------------------------------------------------===//

/// Tiles of one unit: more than one only where a phase has more tiles than a word can hold.
static uint64_t unitOf(uint64_t tiles) { return (tiles + kMostUnits - 1) / kMostUnits; }
static uint64_t unitsIn(uint64_t tiles) {
  return tiles <= kMostUnits ? tiles : (tiles + unitOf(tiles) - 1) / unitOf(tiles);
}

void ThreadPool::open(uint64_t slot, uint64_t tag, uint64_t stage, uint64_t begin, uint64_t end) {
  slots[slot].unitsLeft.store(static_cast<uint32_t>(end - begin));
  slots[slot].word.store(makeWord(tag, stage, begin, end));
}

void ThreadPool::runRegion(uint64_t count, uint32_t number) {
  numSlots.store(static_cast<uint32_t>(count));
  slotsLeft.store(static_cast<uint32_t>(count));
  numJoins.fetchAdd(1);
  epoch.store(number);
  if (numParked.load())
    futexWake(&epoch.value, static_cast<int>(numThreads - 1));
  work(0, number, callerSlept);
  callerSlept = awaitDone();
}

void ThreadPool::launch(const moert_context *ctx, moert_kernel kernel, void *const *args, int64_t tiles) {
  if (tiles <= 0)
    return;
  if (tiles == 1 || numThreads == 1) {
    kernel(ctx, args, 0, tiles);
    return;
  }
  Lock lock(regionMutex);
  context = ctx;
  chains = nullptr;
  plain = {kernel, args, tiles};
  hasSecondPhase.store(0);
  uint64_t units = unitsIn(static_cast<uint64_t>(tiles)), count = minOf(numThreads, units);
  uint32_t number = epoch.load() + 1;
  for (uint64_t i = 0; i < count; ++i)
    open(i, number & kTagMask, kOnly, units * i / count, units * (i + 1) / count);
  runRegion(count, number);
}

void ThreadPool::launchChains(const moert_context *ctx, const moert_chain *array, uint32_t count) {
  uint64_t groups = 0, tiles = 0;
  for (uint32_t i = 0; i < count; ++i) {
    groups += static_cast<uint64_t>(array[i].num_groups);
    tiles += static_cast<uint64_t>(array[i].num_groups * array[i].phases[0].num_tiles);
  }
  if (numThreads == 1 || tiles < 2) {
    for (uint32_t phase = 0; phase < 2; ++phase)
      for (uint32_t i = 0; i < count; ++i)
        if (const moert_phase &p = array[i].phases[phase]; array[i].num_groups && p.num_tiles)
          p.kernel(ctx, p.args, 0, array[i].num_groups * p.num_tiles);
    return;
  }
  Lock lock(regionMutex);
  context = ctx;
  chains = array;
  numChains = count;
  uint32_t number = epoch.load() + 1, second = 0;
  uint64_t slot = 0;
  for (uint32_t i = 0; i < count; ++i) {
    bool hasTwo = array[i].phases[1].num_tiles != 0;
    second |= hasTwo;
    for (int64_t group = 0; group < array[i].num_groups; ++group)
      open(slot++, number & kTagMask, hasTwo ? kFirstOfTwo : kOnly, 0,
           unitsIn(static_cast<uint64_t>(array[i].phases[0].num_tiles)));
  }
  hasSecondPhase.store(second);
  runRegion(groups, number);
}

const moert_chain &ThreadPool::chainOf(uint64_t slot, uint64_t &group) const {
  const moert_chain *chain = chains;
  for (group = slot; group >= static_cast<uint64_t>(chain->num_groups); ++chain)
    group -= static_cast<uint64_t>(chain->num_groups);
  return *chain;
}

//===--- work -----------------------------------------------------------------------------------------------------===//

ThreadPool::Claim ThreadPool::claim(uint64_t slot, bool own, uint64_t tag, uint64_t phase, Units &units) {
  Atomic<uint64_t> &place = slots[slot].word;
  uint64_t word = place.load();
  for (;;) {
    if (tagOf(word) != tag)
      return Claim::Stale;
    if (stageOf(word) == kFirstOfTwo && phase == 1)
      return Claim::Blocked;
    uint64_t begin = beginOf(word), end = endOf(word);
    if (begin >= end || phaseOf(word) != phase)
      return Claim::Empty;
    // An eighth of what is left: few claims, and little to wait for at the end.
    uint64_t take = maxOf(1, (end - begin) / 8);
    uint64_t next =
        own ? makeWord(tag, stageOf(word), begin + take, end) : makeWord(tag, stageOf(word), begin, end - take);
    if (!place.compareExchange(word, next))
      continue;
    units = {slot, phase, own ? begin : end - take, own ? begin + take : end};
    return Claim::Some;
  }
}

void ThreadPool::runUnits(const Units &units) {
  uint64_t group = 0;
  const moert_phase &phase = chains ? chainOf(units.slot, group).phases[units.phase] : plain;
  uint64_t tiles = static_cast<uint64_t>(phase.num_tiles), unit = unitOf(tiles), base = group * tiles;
  phase.kernel(context, phase.args, static_cast<int64_t>(base + units.begin * unit),
               static_cast<int64_t>(base + minOf(units.end * unit, tiles)));
}

void ThreadPool::finishUnits(const Units &units, uint64_t tag) {
  uint32_t count = static_cast<uint32_t>(units.end - units.begin);
  // What is read of the job after this may be of a later region, unless these were the slot's last units.
  if (slots[units.slot].unitsLeft.fetchSub(count) != count)
    return;
  uint64_t group = 0;
  uint64_t tiles =
      chains && units.phase == 0 ? static_cast<uint64_t>(chainOf(units.slot, group).phases[1].num_tiles) : 0;
  if (tiles)
    open(units.slot, tag, kSecond, 0, unitsIn(tiles));
  else if (slotsLeft.fetchSub(1) != 1)
    return;
  progress.fetchAdd(1);
  if (numWaiting.load())
    futexWake(&progress.value, INT32_MAX);
}

ThreadPool::Claim ThreadPool::drain(uint32_t home, uint64_t slot, bool own, uint64_t tag, uint64_t phase) {
  Units units;
  Claim result;
  while ((result = claim(slot, own, tag, phase, units)) == Claim::Some) {
    runUnits(units);
    finishUnits(units, tag);
    manners[home].look();
  }
  return result;
}

ThreadPool::Claim ThreadPool::workPhase(uint32_t home, uint64_t tag, uint64_t phase) {
  uint64_t count = numSlots.load();
  uint64_t first = count * home / numThreads, last = count * (home + 1) / numThreads;
  bool isBlocked = false;
  for (uint64_t i = 0; i < count; ++i) {
    // Own slots ascending; then those of the others from the far end, where their owners come last.
    uint64_t numOwn = last - first;
    bool own = i < numOwn;
    uint64_t slot = own ? first + i : (first + count - 1 - (i - numOwn)) % count;
    Claim result = drain(home, slot, own, tag, phase);
    if (result == Claim::Stale)
      return result;
    isBlocked |= result == Claim::Blocked;
  }
  return isBlocked ? Claim::Blocked : Claim::Empty;
}

void ThreadPool::settle(uint32_t home) {
  // Most of the time one load: nobody is contended.
  if (numContended.load())
    manners[home].avoid(manners, home, allowed);
  else if (home)
    manners[home].settle(allowed);
}

void ThreadPool::work(uint32_t home, uint32_t number, bool slept) {
  Courtesy &manner = manners[home];
  bool wasContended = manner.isContended();
  settle(home);
  manner.begin(slept);
  workPhases(home, number);
  if (manner.isContended() != wasContended)
    wasContended ? numContended.fetchSub(1) : numContended.fetchAdd(1);
}

void ThreadPool::workPhases(uint32_t home, uint32_t number) {
  uint64_t tag = number & kTagMask;
  if (workPhase(home, tag, 0) == Claim::Stale || !hasSecondPhase.load())
    return;
  for (;;) {
    uint32_t seen = progress.load();
    if (workPhase(home, tag, 1) != Claim::Blocked)
      return;
    numJoins.fetchAdd(1);
    awaitProgress(seen);
  }
}

//===--- waiting --------------------------------------------------------------------------------------------------===//

void ThreadPool::sleepOnProgress(uint32_t seen) {
  numWaiting.fetchAdd(1);
  if (progress.load() == seen)
    futexWait(&progress.value, seen);
  numWaiting.fetchSub(1);
}

template <typename Done> bool ThreadPool::spin(Done done) const {
  // First without a look at the clock: most waits end here.
  constexpr int kFirstSpins = 64, kSpinsPerLook = 32;
  for (int i = 0; i < kFirstSpins; ++i) {
    if (done())
      return true;
    cpuRelax();
  }
  if (!spinNs)
    return false;
  for (uint64_t end = monotonicNs() + spinNs; monotonicNs() < end;) {
    for (int i = 0; i < kSpinsPerLook; ++i) {
      if (done())
        return true;
      cpuRelax();
    }
    // What was woken meanwhile may stand behind this thread.
    if (crowded)
      yieldThread();
  }
  return done();
}

void ThreadPool::awaitProgress(uint32_t seen) {
  if (!spin([&] { return progress.load() != seen; }))
    sleepOnProgress(seen);
}

bool ThreadPool::awaitDone() {
  if (spin([&] { return slotsLeft.load() == 0; }))
    return false;
  for (;;) {
    uint32_t seen = progress.load();
    if (!slotsLeft.load())
      return true;
    sleepOnProgress(seen);
  }
}

bool ThreadPool::awaitEpoch(uint32_t seen) {
  if (spin([&] { return epoch.load() != seen; }))
    return false;
  numParked.fetchAdd(1);
  while (epoch.load() == seen)
    futexWait(&epoch.value, seen);
  numParked.fetchSub(1);
  return true;
}

int ThreadPool::brokenInvariant() {
  Lock lock(regionMutex);
  uint64_t tag = epoch.load() & kTagMask;
  if (slotsLeft.load())
    return 3;
  for (uint64_t i = 0; i < numSlots.load(); ++i) {
    uint64_t word = slots[i].word.load();
    if (tagOf(word) != tag)
      return 1;
    if (beginOf(word) < endOf(word))
      return 2;
    if (slots[i].unitsLeft.load())
      return 3;
    if (stageOf(word) == kFirstOfTwo)
      return 4;
  }
  return 0;
}

} // namespace moert
