// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transitions and invariants of the page slots.
#include "runtime/pager/SlotTable.h"

namespace moert {

void SlotTable::create(const Storage &storage, uint32_t numExperts, uint32_t expertsPerLayer, uint32_t numSlots) {
  slotOfExpert = storage.slotOf;
  slots = storage.slots;
  expertCount = numExperts;
  layerExperts = expertsPerLayer;
  slotCount = numSlots;
  emptyCount = loadingCount = 0;
  firstEmpty = -1;
  for (uint32_t e = 0; e < numExperts; ++e)
    slotOfExpert[e] = -1;
  for (uint32_t s = numSlots; s-- > 0;)
    release(static_cast<int32_t>(s));
}

//===--- transitions ----------------------------------------------------------------------------------------------===//

void SlotTable::release(int32_t slot) {
  PageSlot &page = slots[slot];
  page.state = SlotState::Empty;
  page.expert = page.layer = -1;
  page.pins = 0;
  page.next = firstEmpty;
  firstEmpty = slot;
  ++emptyCount;
}

int32_t SlotTable::startLoad(int32_t expert, uint32_t pins) {
  int32_t slot = firstEmpty;
  PageSlot &page = slots[slot];
  firstEmpty = page.next;
  --emptyCount;
  page.state = SlotState::Loading;
  page.pins = pins;
  page.expert = expert;
  page.layer = expert / static_cast<int32_t>(layerExperts);
  page.next = -1;
  page.isAhead = pins == 0;
  ++page.generation;
  slotOfExpert[expert] = slot;
  ++loadingCount;
  return slot;
}

void SlotTable::finishLoad(int32_t slot) {
  PageSlot &page = slots[slot];
  page.state = page.pins ? SlotState::Pinned : SlotState::Resident;
  --loadingCount;
}

void SlotTable::failLoad(int32_t slot, moert_status why) {
  PageSlot &page = slots[slot];
  page.failure = why;
  slotOfExpert[page.expert] = -1;
  --loadingCount;
  if (page.pins)
    page.state = SlotState::Failed;
  else
    release(slot);
}

void SlotTable::retryLoad(int32_t slot) {
  slots[slot].state = SlotState::Loading;
  slotOfExpert[slots[slot].expert] = slot;
  ++loadingCount;
}

void SlotTable::cancelLoad(int32_t slot) {
  slotOfExpert[slots[slot].expert] = -1;
  --loadingCount;
  release(slot);
}

void SlotTable::pin(int32_t slot) {
  PageSlot &page = slots[slot];
  if (page.state == SlotState::Resident)
    page.state = SlotState::Pinned;
  ++page.pins;
  page.isAhead = false;
}

bool SlotTable::unpin(int32_t slot) {
  PageSlot &page = slots[slot];
  if (--page.pins)
    return false;
  if (page.state == SlotState::Pinned)
    page.state = SlotState::Resident;
  else if (page.state == SlotState::Failed)
    release(slot);
  return true;
}

void SlotTable::evict(int32_t slot) {
  slotOfExpert[slots[slot].expert] = -1;
  release(slot);
}

//===--- invariants -----------------------------------------------------------------------------------------------===//

int SlotTable::assertState() const {
  uint32_t numFoundLoading = 0, numFoundEmpty = 0;
  for (uint32_t s = 0; s < slotCount; ++s) {
    const PageSlot &page = slots[s];
    bool mapped = page.expert >= 0 && slotOfExpert[page.expert] == static_cast<int32_t>(s);
    bool tagged = page.state != SlotState::Empty && page.state != SlotState::Failed;
    if (mapped != tagged && page.state != SlotState::Failed)
      return 1;
    if ((page.state == SlotState::Resident && page.pins) || (page.state == SlotState::Pinned && !page.pins))
      return 2;
    if (page.state == SlotState::Empty && (page.expert != -1 || page.pins))
      return 4;
    if (page.state == SlotState::Failed && (!page.pins || mapped))
      return 6;
    if (page.state != SlotState::Empty &&
        (page.layer != page.expert / static_cast<int32_t>(layerExperts) || !page.generation))
      return 7;
    numFoundLoading += page.state == SlotState::Loading;
    numFoundEmpty += page.state == SlotState::Empty;
  }
  for (uint32_t e = 0; e < expertCount; ++e)
    if (slotOfExpert[e] >= 0 && (static_cast<uint32_t>(slotOfExpert[e]) >= slotCount ||
                                 slots[slotOfExpert[e]].expert != static_cast<int32_t>(e)))
      return 1;
  if (numFoundEmpty != emptyCount || numFoundLoading != loadingCount)
    return 3;
  uint32_t numListed = 0;
  for (int32_t s = firstEmpty; s >= 0 && numListed <= slotCount; s = slots[s].next, ++numListed)
    if (slots[s].state != SlotState::Empty)
      return 4;
  return numListed == emptyCount ? 0 : 4;
}

} // namespace moert
