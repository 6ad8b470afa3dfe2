// SPDX-License-Identifier: Apache-2.0
/// \file
/// The expert pager: a fixed number of page slots in anonymous memory, filled by reader threads on demand, evicted by
/// least recent use. The model for the form is SQLite's pager: states, named transitions, numbered invariants.
#ifndef RUNTIME_PAGER_PAGER_H
#define RUNTIME_PAGER_PAGER_H

#include "moert/Generated.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Sync.h"
#include "runtime/pack/PackFile.h"

namespace moert {

/// Where an expert lies in the pack. `bytes` 0 = the model has no such expert.
struct ExpertRecord {
  uint64_t offset, bytes, checksum;
};

/// empty -> loading (startLoad) -> resident (finishLoad) <-> pinned (pin, unpin); resident -> empty (evict);
/// loading -> failed (failLoad) -> empty (unpin of the last waiter). Loading and failed slots count their waiters as
/// pins.
enum class SlotState : uint32_t { Empty, Loading, Resident, Pinned, Failed };

struct PageSlot {
  SlotState state;
  uint32_t pins;
  int32_t expert;      /// tag: layer * experts + expert, -1 = none
  int32_t next, older; /// list of empty slots (next), or of resident ones by last use (next = more recent)
  uint32_t generation; /// counts the loads of this slot
};

struct PagerCounters {
  Atomic<uint64_t> hits, misses, bytesRead, stallNs;
};

/// Result of `request`.
enum class PageRequest : uint32_t { Hit, Started, NoSlot };

/// Invariants, checked by `assertState` under the mutex:
///  (1) slotOf[e] = s  <=>  slots[s].expert = e and slots[s].state is loading, resident or pinned
///  (2) state is pinned <=> pins > 0, among resident and pinned slots
///  (3) the use list holds exactly the resident slots, each once, and its links agree in both directions
///  (4) the empty list holds exactly the empty slots, each once, with tag -1 and no pins
///  (5) the queue holds only loading slots, each at most once; queued + reading = loading
///  (6) failed slots have pins, and a tag that no longer maps to them
class Pager {
public:
  struct Lane {
    Pager *pager;
    Thread thread;
    Region stack;
  };
  struct Storage {
    ExpertRecord *records; /// [numExperts]
    int32_t *slotOf;       /// [numExperts]
    PageSlot *slots;       /// [numSlots]
    int32_t *queue;        /// [numSlots]
    Lane *lanes;           /// [numLanes]
  };

  /// Takes the slots' memory from the ledger. `numExperts` counts layers * experts, holes included.
  moert_status create(Ledger &ledger, const PackFile &pack, const Storage &storage, uint32_t numExperts,
                      uint32_t expertsPerLayer, uint32_t numSlots, uint64_t slotBytes, bool checks, moert_error *error);
  /// Tries one direct read; true if it proved itself by the checksum.
  bool probeDirect(PackFile &writablePack);
  moert_status startLanes(Ledger &ledger, uint32_t numLanes, moert_error *error);
  /// Reads every expert; afterwards there are no misses. Needs a slot for each.
  moert_status loadAll(moert_error *error);
  void stop(Ledger &ledger);

  // All below need the mutex.
  /// Pins the slot of an expert, or starts to load it into a free or evicted slot. The pin is the caller's until
  /// `unpin`.
  PageRequest request(int32_t expert, bool startMissing, int32_t &slot);
  void unpin(int32_t slot);
  /// Error of the last load that failed.
  moert_status failure(moert_error *error) const;
  /// 0, or the number of the violated invariant.
  int assertState() const;
  bool isBroken() const { return brokenInvariant != 0; }

  const uint8_t *slotData(int32_t slot) const { return memory.data + static_cast<uint64_t>(slot) * slotBytes; }
  const PageSlot &slotAt(int32_t slot) const { return slots[slot]; }
  bool hasExpert(int32_t expert) const { return records[expert].bytes != 0; }

  Mutex mutex;
  Condition loaded; /// signalled when a load ends and when a slot becomes free
  PagerCounters counters;
  ExpertRecord *records;
  bool useDirect;

private:
  static void *laneMain(void *argument);
  moert_status readRecord(int32_t expert, uint8_t *destination, bool direct, moert_error *error) const;
  int32_t takeSlot();
  void startLoad(int32_t slot, int32_t expert);
  void finishLoad(int32_t slot);
  void failLoad(int32_t slot, const moert_error &error);
  void pin(int32_t slot);
  void evict(int32_t slot);
  void release(int32_t slot);
  void listPush(int32_t slot);
  void listRemove(int32_t slot);
  void check();

  const PackFile *pack;
  Condition work; /// signalled when the queue grows
  int32_t *slotOf;
  PageSlot *slots;
  int32_t *queue;
  Lane *lanes;
  uint32_t numExperts, expertsPerLayer, numSlots, numLanes;
  uint64_t slotBytes;
  Region memory;
  uint32_t queueHead, queueLength, numReading;
  int32_t firstEmpty, oldest, newest;
  bool stopping, checks;
  int brokenInvariant;
  moert_error lastError;
};

} // namespace moert
#endif
