// SPDX-License-Identifier: Apache-2.0
/// \file
/// Adds up what slows the calls of a model down. A look at /proc takes 5 us for each thread and 10 us besides
/// (measured on x86-64), so there is one every 20 ms at most. Main source: docs/debugging.md ("What slowed a run
/// down").
#ifndef RUNTIME_SESSION_SLOWMETER_H
#define RUNTIME_SESSION_SLOWMETER_H

#include "runtime/base/Sync.h"
#include "runtime/pool/ThreadPool.h"

namespace moert {

/// Zero-filled memory is a valid object. Used by all sessions of a model at once.
class SlowMeter {
public:
  /// A call begins: what happened since the last look, if that is long ago, is not its time.
  void begin(ThreadPool &pool, uint64_t stallNs, uint64_t nowNs);
  /// Some tokens are done: what happened since the last look was in a call. `stallNs`: how long the model waited for
  /// experts, ever.
  void note(ThreadPool &pool, uint64_t stallNs, uint64_t nowNs);

  /// Of the thread that waited for a core for longest, between two looks; but not where all waited for experts anyway,
  /// which is taken to be spread evenly.
  Atomic<uint64_t> waitingNs;
  /// What the calling thread ran, times what its core lacked to its highest clock.
  Atomic<uint64_t> throttledNs;
  Atomic<uint64_t> numFaults;

  static constexpr uint64_t kPeriodNs = 20000000;
  /// Stands before /proc and /sys; null = nothing. Set by tests.
  const char *root;

private:
  void look(ThreadPool &pool, uint64_t stallNs, uint64_t nowNs, bool counts);

  Mutex mutex;
  Atomic<uint64_t> lastNs;
  uint64_t lastStallNs, lastFaults;
  uint64_t lastRunNs, lastWaitNs; /// of the calling thread
  uint32_t caller;
};

} // namespace moert
#endif
