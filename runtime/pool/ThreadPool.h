// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs task regions on all threads. A region is cut into slots; each thread takes tiles from the front of its own
/// slots and from the tail of others' when those are empty, so that a thread that the system took away delays at most
/// the tiles that it holds, and what depends on them. Main source: docs/architecture.md ("Task regions").
#ifndef RUNTIME_POOL_THREADPOOL_H
#define RUNTIME_POOL_THREADPOOL_H

#include "moert/Generated.h"
#include "moert/moert.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Processors.h"
#include "runtime/base/Sync.h"
#include "runtime/pool/Courtesy.h"

namespace moert {

/// Tiles that one thread starts with, or a group of a chain.
struct alignas(64) TaskSlot {
  /// What nobody claimed of the slot's phase: `tag:22 | stage:2 | begin:20 | end:20`, in units of tiles. The tag is
  /// that of the region; the stage says which phase it is, and whether another one follows.
  Atomic<uint64_t> word;
  Atomic<uint32_t> unitsLeft; /// of the slot's phase, not done
};

/// Stages of a slot: first of two -> (its last unit is done) second -> (the same) done; only -> done. The thread that
/// finishes the last unit makes the transition, in `finishUnits`.
///
/// Invariants:
/// (1) one region at a time (`regionMutex`), with a tag that differs from those before;
/// (2) units are claimed by changing the word of a slot only, and only by a thread that expects the region's tag, so
///     each unit is claimed once;
/// (3) a region ends when all units of all slots are done, so its job does not change while a unit of it is claimed; it
///     is read after a claim, except for fields that are atomic;
/// (4) units of phase 1 of a slot are there to be claimed only when all units of its phase 0 are done;
/// (5) a thread waits inside a region only if nothing is there to be claimed: every open slot is empty;
/// (6) a thread yields its core only while it holds no unit;
/// (7) whoever waits has announced it in `numWaiting` (or `numParked`) before it looks at the condition a last time,
///     and whoever changes the condition looks there afterwards: no wake-up is lost.
/// `brokenInvariant` checks what can be seen of them between regions.
class ThreadPool {
public:
  struct Worker {
    ThreadPool *pool;
    uint32_t index;
    Thread thread;
    Region stack;
    Atomic<uint32_t> id; /// as /proc numbers the thread; 0 = not started yet
    uint64_t seenWaitNs; /// the last that a SlowMeter saw
  };

  /// `slots` has as many elements as there are threads, and groups in any call of launchChains; `workers` and `manners`
  /// have one for each thread; all live as long as the pool. Starts threads - 1 workers, on `cpus` unless that is
  /// empty.
  moert_status start(Ledger &ledger, TaskSlot *slots, Worker *workers, Courtesy *manners, uint32_t threads,
                     const CpuSet &cpus, moert_error *error);
  /// Joins the workers that were started.
  void stop(Ledger &ledger);
  /// Blocks until `kernel` ran over [0, numTiles).
  void launch(const moert_context *context, moert_kernel kernel, void *const *args, int64_t numTiles);
  /// Blocks until all tiles of the chains ran, those of a second phase after those of the first one of their group.
  void launchChains(const moert_context *context, const moert_chain *chains, uint32_t numChains);
  /// Points where a thread may have waited for others: one for each region that more than one thread could work on, and
  /// one for each time that a thread of a region did wait for a group.
  uint64_t joins() const { return numJoins.load(); }
  uint32_t threads() const { return numThreads; }
  /// From 1 on; thread 0 is the caller's.
  Worker &worker(uint32_t index) { return workers[index]; }
  /// Between regions: the number of the first invariant that does not hold, 0 if all do. For tests.
  int brokenInvariant();

  /// Before `start`: so many other threads are to run at once, whenever they have something to do.
  void shareWith(uint32_t count) { numOthers = count; }
  /// Whether those have to share processors with threads of the pool.
  bool isCrowded() const { return crowded; }

private:
  enum class Claim { Some, Empty, Blocked, Stale };
  /// Claimed units of a slot.
  struct Units {
    uint64_t slot, phase, begin, end;
  };

  static void *workerMain(void *argument);
  void open(uint64_t slot, uint64_t tag, uint64_t stage, uint64_t begin, uint64_t end);
  /// Runs the region `number` of `count` open slots, as one of its threads.
  void runRegion(uint64_t count, uint32_t number);
  const moert_chain &chainOf(uint64_t slot, uint64_t &group) const;
  /// Works on a region as thread `home` until nothing of it is left to be claimed. `slept`: the thread did before.
  void work(uint32_t home, uint32_t number, bool slept);
  void workPhases(uint32_t home, uint32_t number);
  /// Keeps threads on cores of their own where one of them is contended.
  void settle(uint32_t home);
  /// Claims and runs units of one phase until there are none. Blocked: some slots have not reached it yet.
  Claim workPhase(uint32_t home, uint64_t tag, uint64_t phase);
  Claim drain(uint32_t home, uint64_t slot, bool own, uint64_t tag, uint64_t phase);
  /// From the front of an own slot, from the tail of others'.
  Claim claim(uint64_t slot, bool own, uint64_t tag, uint64_t phase, Units &units);
  void runUnits(const Units &units);
  void finishUnits(const Units &units, uint64_t tag);
  void sleepOnProgress(uint32_t seen);
  void awaitProgress(uint32_t seen);
  /// Both say whether the thread slept.
  bool awaitEpoch(uint32_t seen);
  bool awaitDone();
  /// Spins until `done()`, for `spinNs` at most. Says whether it is done.
  template <typename Done> bool spin(Done done) const;

  Mutex regionMutex;
  TaskSlot *slots;
  Worker *workers;
  Courtesy *manners;
  uint32_t numThreads, numStarted, numOthers, spinNs;
  bool crowded;
  CpuSet cpus, allowed; /// as given; where the threads may be
  bool callerSlept;
  // The job.
  const moert_context *context;
  const moert_chain *chains; /// null: one phase whose slots are ranges of `plain`
  uint32_t numChains;
  moert_phase plain;
  Atomic<uint32_t> numSlots, hasSecondPhase; /// of the job; read by threads that are late, too
  Atomic<uint64_t> numJoins;
  alignas(64) Atomic<uint32_t> epoch; /// number of regions; workers park on it
  Atomic<uint32_t> numParked, stopping;
  Atomic<uint32_t> numContended;          /// threads that share their core with others
  alignas(64) Atomic<uint32_t> slotsLeft; /// not done
  Atomic<uint32_t> progress;              /// changes when a slot enters phase 1 and when the region ends
  Atomic<uint32_t> numWaiting;            /// that sleep on `progress`
};

} // namespace moert
#endif
