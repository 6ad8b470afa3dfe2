// SPDX-License-Identifier: Apache-2.0
/// \file
/// The expert pager: a fixed number of page slots in anonymous memory, filled by reader threads. Mutex, queue, threads;
/// what a slot holds is the slot table's matter, what makes room for what the eviction's. What is demanded is read
/// before anything else; then guesses, where no demanded read is under way; then, if there is a slot for every expert,
/// what was never asked for.
#ifndef RUNTIME_PAGER_PAGER_H
#define RUNTIME_PAGER_PAGER_H

#include "moert/Generated.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Sync.h"
#include "runtime/pack/PackFile.h"
#include "runtime/pager/Eviction.h"
#include "runtime/pager/ReadAhead.h"
#include "runtime/pager/SlotTable.h"
#include "runtime/pager/Transfer.h"

namespace moert {

/// Where an expert lies in the pack. `bytes` 0 = the model has no such expert.
struct ExpertRecord {
  uint64_t offset, bytes, checksum;
};

struct PagerCounters {
  Atomic<uint64_t> hits, misses, bytesRead, stallNs;
  /// Loads ahead of need that had ended, and that had not, when the need showed.
  Atomic<uint64_t> usefulAhead, lateAhead;
  /// Loads ahead of need that began and that were given up, and what was read for those that were not late.
  Atomic<uint64_t> issuedAhead, cancelledAhead, bytesAhead;
};

/// Invariants, checked by `assertState` under the mutex: those of the slot table, and
///  (5) each loading slot is either queued or has a transfer, and the other way round
class Pager {
public:
  /// One that a lane has in hand, and one that waits because something more urgent came.
  static constexpr uint32_t kTransfersPerLane = 2;
  struct Lane {
    Pager *pager;
    Thread thread;
    Region stack;
  };
  struct Storage {
    ExpertRecord *records; /// [numExperts]
    SlotTable::Storage table;
    Eviction::Storage eviction;
    int32_t *queue;                /// [numSlots]
    Lane *lanes;                   /// [numLanes]
    Transfer *transfers;           /// [numLanes * kTransfersPerLane]
    ReadAhead::LayerScore *scores; /// [numLayers]
  };

  /// Takes the slots' memory from the ledger. The number of experts is layers * experts, holes included.
  moert_status create(Ledger &ledger, const PackFile &pack, const Storage &storage, moert_eviction policy,
                      moert_prediction prediction, uint32_t numLayers, uint32_t expertsPerLayer, uint32_t numSlots,
                      uint64_t slotBytes, const Hooks &hooks, moert_error *error);
  /// Tries one direct read if the pack is open for that, and closes it for them unless the checksum is right.
  void probeDirect(PackFile &writablePack);
  /// Each expert costs a lane `delayNs` more than its reading.
  moert_status startLanes(Ledger &ledger, uint32_t numLanes, uint64_t delayNs, moert_error *error);
  /// Reads every expert; afterwards there are no misses. Needs a slot for each.
  moert_status loadAll(moert_error *error);
  /// The same whenever the lanes have nothing else to do, without waiting. One that cannot be read is left to who needs
  /// it.
  void loadAllLater();
  void stop(Ledger &ledger);

  /// Whether guesses for `layer` may pay; asked once for each of its turns.
  bool wantsPrediction(int32_t layer);
  /// Replaces the guesses for one layer: experts (layer * experts + expert), the likeliest first. Does not block for
  /// long.
  void predict(int32_t layer, const int32_t *experts, uint32_t count);

  // All below need the mutex.
  /// Has a slot read in which `table` started a load, once the lanes were woken.
  void enqueue(int32_t slot);
  /// All of them: the pieces of one record are work for several, and one that wakes another comes late where
  /// computing threads hold the processors.
  void wakeLanes() { work.wakeAll(); }
  void unpin(int32_t slot);
  /// The turn of `layer` began, and what it needs is pinned: `numUseful` and `numLate` of what was read ahead. What was
  /// read ahead for it in vain is given up.
  void settleAhead(int32_t layer, int32_t numUseful, int32_t numLate);
  /// Error of the failed load of `slot`: whole if it was the last that failed, else its status and the last one's text.
  moert_status failure(int32_t slot, moert_error *error) const;
  /// 0, or the number of the violated invariant.
  int assertState() const;
  bool isBroken() const { return brokenInvariant != 0; }

  const uint8_t *slotData(int32_t slot) const { return memory.data + static_cast<uint64_t>(slot) * slotBytes; }
  /// Whether no layer between the two has experts.
  bool isNextLayer(int32_t layer, int32_t later) const;
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
  moert_status damaged(int32_t expert, moert_error *error) const;

  // Of the lanes, under the mutex.
  Transfer *claim();
  Transfer *startDemanded(Transfer &transfer);
  Transfer *startAhead(Transfer &transfer);
  bool isDemanded(const Transfer &transfer) const { return table[transfer.slot].pins != 0; }
  /// Whether lanes that sleep would find something to do.
  bool hasMore(const Transfer &claimed) const;
  /// These two let go of the mutex meanwhile.
  void readPiece(Transfer &transfer, uint32_t piece);
  void hashArrived(Transfer &transfer);
  void noteFailure(Transfer &transfer, const moert_error &error);
  /// What is due when no lane has the transfer in hand.
  void settle(Transfer &transfer);
  void finishLoad(const Transfer &transfer);
  void check();

  const PackFile *pack;
  Condition work; /// signalled when there may be something to read
  int32_t *queue;
  Lane *lanes;
  Transfer *transfers;
  ReadAhead ahead;
  uint32_t numLanes, numTransfers;
  uint64_t slotBytes, readDelayNs, pieceBytes;
  Region memory;
  uint32_t queueHead, queueLength, numExperts;
  uint32_t nextFill; /// the first expert that was not yet considered to be loaded for lack of anything better
  uint64_t sequence; /// of the next transfer
  int32_t turn;      /// the layer whose turn it is
  bool stopping, checks;
  int brokenInvariant;
  int32_t lastFailed; /// the expert of `lastError`
  moert_error lastError;
};

} // namespace moert
#endif
