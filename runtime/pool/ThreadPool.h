// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs the tiles of a kernel on all threads. Each thread has a home range and takes from the tail of others' when its
/// own is empty, so that a thread that the system took away delays at most the tiles that it holds.
#ifndef RUNTIME_POOL_THREADPOOL_H
#define RUNTIME_POOL_THREADPOOL_H

#include "moert/Generated.h"
#include "moert/moert.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Processors.h"
#include "runtime/base/Sync.h"

namespace moert {

/// The tiles of one thread that nobody claimed: `begin | end` in one word. A thread that wakes late may claim from a
/// later launch than the one that woke it: whatever is in the word may be claimed, and the job is read after the claim.
struct alignas(64) HomeRange {
  Atomic<uint64_t> word;
};

/// Invariants: (1) a claimed tile belongs to the current launch, since the launch ends only when all of its tiles are
/// done; (2) the job's fields change only while no tile of it is claimed; (3) one launch at a time (`launchMutex`).
class ThreadPool {
public:
  struct Worker {
    ThreadPool *pool;
    uint32_t index;
    Thread thread;
    Region stack;
  };

  /// `ranges` and `workers` have `threads` elements each and live as long as the pool. Starts threads - 1 workers, on
  /// `cpus` unless that is empty.
  moert_status start(Ledger &ledger, HomeRange *ranges, Worker *workers, uint32_t threads, const CpuSet &cpus,
                     moert_error *error);
  /// Joins the workers that were started.
  void stop(Ledger &ledger);
  /// Blocks until `kernel` ran over [0, numTiles). True if that was a join.
  bool launch(const moert_context *context, moert_kernel kernel, void *const *args, int64_t numTiles);
  uint32_t threads() const { return numThreads; }

private:
  static void *workerMain(void *argument);
  void work(uint32_t home);
  /// Claims tiles from a range, from its front (own) or tail (others'). False if it is empty.
  bool claim(HomeRange &range, bool own, uint64_t &begin, uint64_t &end);
  void runClaimed(uint64_t begin, uint64_t end);
  void awaitEpoch(uint32_t seen);
  void awaitDone();

  Mutex launchMutex;
  HomeRange *ranges;
  Worker *workers;
  uint32_t numThreads, numStarted, spinNs;
  CpuSet cpus;
  // The job.
  const moert_context *context;
  moert_kernel kernel;
  void *const *args;
  uint64_t numTiles, unitTiles;
  alignas(64) Atomic<uint32_t> epoch; /// number of launches; workers sleep on it
  Atomic<uint32_t> numSleeping, stopping;
  alignas(64) Atomic<uint32_t> unitsLeft; /// the caller sleeps on it
  Atomic<uint32_t> callerSleeps;
};

} // namespace moert
#endif
