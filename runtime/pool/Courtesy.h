// SPDX-License-Identifier: Apache-2.0
/// \file
/// A thread that shares its core with another process is taken away for milliseconds, and with it the tiles that it
/// holds, for which all others wait. It cannot prevent that, but choose the moment: between two claims it holds
/// nothing. So a thread that was taken away offers its core whenever it has run for a while; and a worker that finds
/// itself on the core of a thread with a lower index goes to another one, where the scheduler alone would leave it for
/// long. Main source: docs/architecture.md ("Task regions"), with measurements.
#ifndef RUNTIME_POOL_COURTESY_H
#define RUNTIME_POOL_COURTESY_H

#include "runtime/base/Atomic.h"
#include "runtime/base/Platform.h"
#include "runtime/base/Processors.h"

namespace moert {

/// What one thread of a pool knows of its core. Zero-filled memory is a valid object: alone -> (a look at the clock
/// comes late) contended -> (kFreeYields yields in a row came back at once) alone. Used by its thread, but for `cpu`.
class alignas(64) Courtesy {
public:
  /// The thread begins to work on a region: the time since the last look says nothing. `slept`: it did.
  void begin(bool slept);
  /// The thread holds no tile. Cheap while alone.
  void look();
  bool isContended() const { return contended; }
  /// Publishes the CPU of the thread, and leaves it if one of the `count` threads at `others` runs there. `all`: where
  /// it may be.
  void avoid(const Courtesy *others, uint32_t count, const CpuSet &all);
  /// Undoes `avoid`.
  void settle(const CpuSet &all);

private:
  /// Looks between two of the clock while alone: reading it takes as long as a claim.
  static constexpr uint32_t kLooks = 8;
  static constexpr uint32_t kFreeYields = 8;
  /// Longer than the tiles of some claims take, shorter than any time slice.
  static constexpr uint64_t kGapNs = 200000;
  /// Shorter than the slices of Linux since 6.6 (1.4 ms on two CPUs, more on more).
  static constexpr uint64_t kTurnNs = 1000000;
  /// A yield that took less gave the core to nobody.
  static constexpr uint64_t kFreeNs = 20000;

  /// Says whether the thread was taken from its core since the last call.
  bool noteSwitches();

  uint64_t lastNs, resumedNs; /// last look; since when the thread runs without a break
  uint64_t numSwitches;
  uint32_t numLooks, numFree;
  bool contended, isRestricted;
  Atomic<uint32_t> cpu; /// 1 + the CPU; 0 = not known
};

} // namespace moert
#endif
