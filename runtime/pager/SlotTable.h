// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which page slot holds which expert, and what may happen to a slot: states, named transitions, numbered invariants.
/// No thread, no lock and no file is known here: the pager drives it under its mutex, a simulation drives it alone. The
/// model for the form is SQLite's pager.
#ifndef RUNTIME_PAGER_SLOTTABLE_H
#define RUNTIME_PAGER_SLOTTABLE_H

#include "moert/moert.h"

#include <stdint.h>

namespace moert {

/// empty -> loading (startLoad) -> resident or, with waiters, pinned (finishLoad) <-> pinned (pin, unpin);
/// resident -> empty (evict); loading -> failed (failLoad) -> empty (unpin of the last waiter); failed -> loading
/// (retryLoad); loading without waiters -> empty (cancelLoad). Loading and failed slots count their waiters as pins; a
/// load that nobody waits for is one ahead of need.
enum class SlotState : uint32_t { Empty, Loading, Resident, Pinned, Failed };

struct PageSlot {
  SlotState state;
  uint32_t pins;
  int32_t expert;      /// tag: layer * experts + expert, -1 = none
  int32_t layer;       /// tag
  uint32_t generation; /// tag: counts the loads of this slot, so that who remembers a slot sees whether it is the same
  int32_t next;        /// in the list of empty slots
  bool isAhead;        /// loaded, or being loaded, ahead of a need that did not show yet
  moert_status failure : 8; /// of a failed slot: why
};

/// Invariants, checked by `assertState`:
///  (1) slotOf[e] = s  <=>  slots[s].expert = e and slots[s].state is loading, resident or pinned
///  (2) state is pinned <=> pins > 0, among resident and pinned slots
///  (3) the counts of empty and of loading slots are right
///  (4) the empty list holds exactly the empty slots, each once, with tag -1 and no pins
///  (6) failed slots have pins, and a tag that no longer maps to them
///  (7) the layer of a tag is that of its expert, and a slot that was ever loaded has a generation
/// (5) is the pager's: what is queued.
class SlotTable {
public:
  struct Storage {
    int32_t *slotOf; /// [numExperts]
    PageSlot *slots; /// [numSlots]
  };

  /// All slots empty. `numExperts` counts layers * experts, holes included.
  void create(const Storage &storage, uint32_t numExperts, uint32_t expertsPerLayer, uint32_t numSlots);

  /// Takes an empty slot, of which there must be one; the load has `pins` waiters: 1, or 0 ahead of need.
  int32_t startLoad(int32_t expert, uint32_t pins);
  void finishLoad(int32_t slot);
  void failLoad(int32_t slot, moert_status why);
  void cancelLoad(int32_t slot);
  /// For all waiters of a failed load, whose expert must have no other slot by now.
  void retryLoad(int32_t slot);
  /// A load that nobody waited for was not ahead of a need.
  void forgetAhead(int32_t slot) { slots[slot].isAhead = false; }
  void pin(int32_t slot);
  /// True if that was the last pin.
  bool unpin(int32_t slot);
  void evict(int32_t slot);

  /// The slot in which an expert is, or into which it is being loaded; -1 = none.
  int32_t slotOf(int32_t expert) const { return slotOfExpert[expert]; }
  const PageSlot &operator[](int32_t slot) const { return slots[slot]; }
  uint32_t numSlots() const { return slotCount; }
  uint32_t numEmpty() const { return emptyCount; }
  uint32_t numLoading() const { return loadingCount; }
  uint32_t numExperts() const { return expertCount; }
  uint32_t expertsPerLayer() const { return layerExperts; }

  /// 0, or the number of the violated invariant.
  int assertState() const;

private:
  void release(int32_t slot);

  int32_t *slotOfExpert;
  PageSlot *slots;
  uint32_t expertCount, layerExperts, slotCount, emptyCount, loadingCount;
  int32_t firstEmpty;
};

} // namespace moert
#endif
