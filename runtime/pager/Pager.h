// SPDX-License-Identifier: Apache-2.0
/// \file
/// The expert pager: a fixed number of page slots in anonymous memory, filled by reader threads. Mutex, queue, threads;
/// what a slot holds is the slot table's matter, what makes room for what the eviction's.
#ifndef RUNTIME_PAGER_PAGER_H
#define RUNTIME_PAGER_PAGER_H

#include "moert/Generated.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Sync.h"
#include "runtime/pack/PackFile.h"
#include "runtime/pager/Eviction.h"
#include "runtime/pager/SlotTable.h"

namespace moert {

/// Where an expert lies in the pack. `bytes` 0 = the model has no such expert.
struct ExpertRecord {
  uint64_t offset, bytes, checksum;
};

struct PagerCounters {
  Atomic<uint64_t> hits, misses, bytesRead, stallNs;
  /// Loads ahead of need that had ended, and that had not, when the need showed.
  Atomic<uint64_t> usefulAhead, lateAhead;
};

/// Invariants, checked by `assertState` under the mutex: those of the slot table, and
///  (5) the queue holds only loading slots, each at most once; queued + reading = loading
class Pager {
public:
  struct Lane {
    Pager *pager;
    Thread thread;
    Region stack;
  };
  struct Storage {
    ExpertRecord *records; /// [numExperts]
    SlotTable::Storage table;
    Eviction::Storage eviction;
    int32_t *queue; /// [numSlots]
    Lane *lanes;    /// [numLanes]
  };

  /// Takes the slots' memory from the ledger. The number of experts is layers * experts, holes included.
  moert_status create(Ledger &ledger, const PackFile &pack, const Storage &storage, moert_eviction policy,
                      uint32_t numLayers, uint32_t expertsPerLayer, uint32_t numSlots, uint64_t slotBytes, bool checks,
                      moert_error *error);
  /// Tries one direct read if the pack is open for that, and closes it for them unless the checksum is right.
  void probeDirect(PackFile &writablePack);
  /// Each read begins `delayNs` later than it could.
  moert_status startLanes(Ledger &ledger, uint32_t numLanes, uint64_t delayNs, moert_error *error);
  /// Reads every expert; afterwards there are no misses. Needs a slot for each.
  moert_status loadAll(moert_error *error);
  void stop(Ledger &ledger);

  // All below need the mutex.
  /// Has a slot read in which `table` started a load.
  void enqueue(int32_t slot);
  void unpin(int32_t slot);
  /// Error of the last load that failed.
  moert_status failure(moert_error *error) const;
  /// 0, or the number of the violated invariant.
  int assertState() const;
  bool isBroken() const { return brokenInvariant != 0; }

  const uint8_t *slotData(int32_t slot) const { return memory.data + static_cast<uint64_t>(slot) * slotBytes; }
  bool hasExpert(int32_t expert) const { return records[expert].bytes != 0; }

  Mutex mutex;
  Condition loaded; /// signalled when a load ends and when a slot becomes free
  SlotTable table;  /// with `eviction` the caller's to use, under the mutex
  Eviction eviction;
  PagerCounters counters;
  ExpertRecord *records;

private:
  static void *laneMain(void *argument);
  moert_status readRecord(int32_t expert, uint8_t *destination, ReadMode mode, moert_error *error) const;
  void finishLoad(int32_t slot);
  void failLoad(int32_t slot, const moert_error &error);
  void check();

  const PackFile *pack;
  Condition work; /// signalled when the queue grows
  int32_t *queue;
  Lane *lanes;
  uint32_t numLanes;
  uint64_t slotBytes, readDelayNs;
  Region memory;
  uint32_t queueHead, queueLength, numReading;
  bool stopping, checks;
  int brokenInvariant;
  moert_error lastError;
};

} // namespace moert
#endif
