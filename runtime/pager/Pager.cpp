// SPDX-License-Identifier: Apache-2.0
/// \file
/// Transitions and invariants of the page slots.
#include "runtime/pager/Pager.h"

#include "runtime/base/Status.h"

namespace moert {

//===--- lists ----------------------------------------------------------------------------------------------------===//

void Pager::listPush(int32_t slot) {
  slots[slot].older = newest;
  slots[slot].next = -1;
  if (newest >= 0)
    slots[newest].next = slot;
  else
    oldest = slot;
  newest = slot;
}

void Pager::listRemove(int32_t slot) {
  PageSlot &page = slots[slot];
  (page.older >= 0 ? slots[page.older].next : oldest) = page.next;
  (page.next >= 0 ? slots[page.next].older : newest) = page.older;
  page.older = page.next = -1;
}

//===--- transitions ----------------------------------------------------------------------------------------------===//

void Pager::release(int32_t slot) {
  PageSlot &page = slots[slot];
  page.state = SlotState::Empty;
  page.expert = -1;
  page.pins = 0;
  page.older = -1;
  page.next = firstEmpty;
  firstEmpty = slot;
}

void Pager::evict(int32_t slot) {
  listRemove(slot);
  slotOf[slots[slot].expert] = -1;
  release(slot);
}

int32_t Pager::takeSlot() {
  if (firstEmpty < 0 && oldest >= 0)
    evict(oldest);
  int32_t slot = firstEmpty;
  if (slot >= 0) {
    firstEmpty = slots[slot].next;
    slots[slot].next = -1;
  }
  return slot;
}

void Pager::startLoad(int32_t slot, int32_t expert) {
  PageSlot &page = slots[slot];
  page.state = SlotState::Loading;
  page.expert = expert;
  page.pins = 1;
  ++page.generation;
  slotOf[expert] = slot;
  queue[(queueHead + queueLength++) % numSlots] = slot;
  work.wakeOne();
}

void Pager::finishLoad(int32_t slot) {
  PageSlot &page = slots[slot];
  page.state = page.pins ? SlotState::Pinned : SlotState::Resident;
  if (!page.pins)
    listPush(slot);
  --numReading;
  check();
  loaded.wakeAll();
}

void Pager::failLoad(int32_t slot, const moert_error &error) {
  PageSlot &page = slots[slot];
  lastError = error;
  slotOf[page.expert] = -1;
  --numReading;
  if (page.pins)
    page.state = SlotState::Failed;
  else
    release(slot);
  check();
  loaded.wakeAll();
}

void Pager::pin(int32_t slot) {
  PageSlot &page = slots[slot];
  if (page.state == SlotState::Resident) {
    listRemove(slot);
    page.state = SlotState::Pinned;
  }
  ++page.pins;
}

void Pager::unpin(int32_t slot) {
  PageSlot &page = slots[slot];
  if (--page.pins)
    return;
  if (page.state == SlotState::Pinned) {
    page.state = SlotState::Resident;
    listPush(slot);
  } else if (page.state == SlotState::Failed) {
    release(slot);
  }
  check();
  loaded.wakeAll();
}

PageRequest Pager::request(int32_t expert, bool startMissing, int32_t &slot) {
  slot = slotOf[expert];
  if (slot >= 0) {
    pin(slot);
    check();
    return PageRequest::Hit;
  }
  slot = startMissing ? takeSlot() : -1;
  if (slot < 0)
    return PageRequest::NoSlot;
  startLoad(slot, expert);
  check();
  return PageRequest::Started;
}

moert_status Pager::failure(moert_error *error) const {
  if (error)
    *error = lastError;
  return lastError.status;
}

//===--- invariants -----------------------------------------------------------------------------------------------===//

void Pager::check() {
  if (checks && !brokenInvariant)
    brokenInvariant = assertState();
}

int Pager::assertState() const {
  uint32_t numLoading = 0, numResident = 0, numEmpty = 0;
  for (uint32_t s = 0; s < numSlots; ++s) {
    const PageSlot &page = slots[s];
    bool mapped = page.expert >= 0 && slotOf[page.expert] == static_cast<int32_t>(s);
    bool tagged = page.state != SlotState::Empty && page.state != SlotState::Failed;
    if (mapped != tagged && page.state != SlotState::Failed)
      return 1;
    if ((page.state == SlotState::Resident && page.pins) || (page.state == SlotState::Pinned && !page.pins))
      return 2;
    if (page.state == SlotState::Empty && (page.expert != -1 || page.pins))
      return 4;
    if (page.state == SlotState::Failed && (!page.pins || mapped))
      return 6;
    numLoading += page.state == SlotState::Loading;
    numResident += page.state == SlotState::Resident;
    numEmpty += page.state == SlotState::Empty;
  }
  [[maybe_unused]] uint32_t numMapped = 0;
  for (uint32_t e = 0; e < numExperts; ++e) {
    if (slotOf[e] < 0)
      continue;
    ++numMapped;
    if (static_cast<uint32_t>(slotOf[e]) >= numSlots || slots[slotOf[e]].expert != static_cast<int32_t>(e))
      return 1;
  }
  uint32_t listed = 0;
  int32_t previous = -1;
  for (int32_t s = oldest; s >= 0 && listed <= numSlots; previous = s, s = slots[s].next, ++listed)
    if (slots[s].state != SlotState::Resident || slots[s].older != previous)
      return 3;
  if (listed != numResident || newest != previous)
    return 3;
  uint32_t free = 0;
  for (int32_t s = firstEmpty; s >= 0 && free <= numSlots; s = slots[s].next, ++free)
    if (slots[s].state != SlotState::Empty)
      return 4;
  if (free != numEmpty)
    return 4;
  for (uint32_t i = 0; i < queueLength; ++i)
    if (slots[queue[(queueHead + i) % numSlots]].state != SlotState::Loading)
      return 5;
  return queueLength + numReading == numLoading ? 0 : 5;
}

} // namespace moert
