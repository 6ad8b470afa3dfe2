// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is read next, and what happens when it was read.
#include "runtime/pager/Pager.h"

#include "runtime/base/Status.h"
#include "runtime/pager/LoadAhead.h"

namespace moert {

void Pager::enqueue(int32_t slot) {
  queue[(queueHead + queueLength++) % table.numSlots()] = slot;
  check();
}

void Pager::unpin(int32_t slot) {
  if (!table.unpin(slot))
    return;
  check();
  loaded.wakeAll();
}

moert_status Pager::failure(int32_t slot, moert_error *error) const {
  const PageSlot &page = table[slot];
  if (page.expert != lastFailed || page.failure != lastError.status)
    return fail(error, page.failure, "cannot load expert %d of layer %d (%s); another load failed after it: %s",
                page.expert % static_cast<int32_t>(table.expertsPerLayer()), page.layer, statusName(page.failure),
                lastError.message);
  if (error)
    *error = lastError;
  return lastError.status;
}

bool Pager::isNextLayer(int32_t layer, int32_t later) const {
  int32_t perLayer = static_cast<int32_t>(table.expertsPerLayer());
  while (++layer < later && !hasExpert(layer * perLayer)) {
  }
  return layer >= later;
}

//===--- ahead of need --------------------------------------------------------------------------------------------===//

bool Pager::wantsPrediction(int32_t layer) {
  Lock lock(mutex);
  return table.numSlots() < numExperts && ahead.wants(layer);
}

void Pager::predict(int32_t layer, const int32_t *experts, uint32_t count) {
  Lock lock(mutex);
  if (table.numSlots() >= numExperts)
    return;
  ahead.propose(layer, experts, count);
  work.wakeOne();
}

void Pager::settleAhead(int32_t layer, int32_t numUseful, int32_t numLate) {
  turn = layer;
  ahead.settle(layer, static_cast<uint32_t>(numUseful + numLate));
  for (uint32_t i = 0; i < numTransfers; ++i) {
    Transfer &transfer = transfers[i];
    if (!transfer.isUsed || table[transfer.slot].layer != layer)
      continue;
    if (isDemanded(transfer)) {
      if (!transfer.aheadBytes && !transfer.isFill)
        continue;
      // A miss from here on.
      counters.lateAhead.fetchSub(transfer.isFill);
      counters.bytesAhead.fetchSub(transfer.aheadBytes);
      counters.bytesRead.fetchAdd(transfer.recordBytes);
      transfer.aheadBytes = 0;
      transfer.isFill = false;
      work.wakeOne();
    } else if (table[transfer.slot].isAhead && !transfer.isFill && !transfer.isCancelled) {
      transfer.isCancelled = true;
      counters.cancelledAhead.fetchAdd(1);
      if (!transfer.numHands)
        settle(transfer);
    }
  }
  check();
}

//===--- what a lane reads next -----------------------------------------------------------------------------------===//

Transfer *Pager::claim() {
  Transfer *unused = nullptr, *demanded = nullptr, *waiting = nullptr;
  bool isBusy = queueLength != 0;
  uint32_t numAhead = 0;
  for (uint32_t i = 0; i < numTransfers; ++i) {
    Transfer &transfer = transfers[i];
    if (!transfer.isUsed) {
      unused = &transfer;
      continue;
    }
    bool isNeeded = isDemanded(transfer);
    // Somebody waited for it since it was given up, and gave up, too.
    if (transfer.isCancelled && !isNeeded && !transfer.numHands) {
      settle(transfer);
      unused = &transfer;
      continue;
    }
    isBusy = isBusy || (isNeeded && (transfer.hasUnclaimed() || transfer.numReading));
    numAhead += !isNeeded;
    if (!transfer.hasUnclaimed() || (transfer.isCancelled && !isNeeded))
      continue;
    Transfer *&best = isNeeded ? demanded : waiting;
    if (!best || transfer.sequence < best->sequence)
      best = &transfer;
  }
  if (demanded)
    return demanded;
  if (queueLength && unused)
    return startDemanded(*unused);
  // Without a free transfer, one that nobody waits for has to be brought to its end.
  if (waiting && (queueLength || !isBusy))
    return waiting;
  return isBusy || !unused || numAhead >= numLanes ? nullptr : startAhead(*unused);
}

Transfer *Pager::startDemanded(Transfer &transfer) {
  int32_t slot = queue[queueHead];
  queueHead = (queueHead + 1) % table.numSlots();
  --queueLength;
  transfer.start(slot, records[table[slot].expert].bytes, pieceBytes, sequence++);
  return &transfer;
}

Transfer *Pager::startAhead(Transfer &transfer) {
  while (ahead.hasGuesses()) {
    auto [layer, expert] = ahead.takeGuess();
    int32_t slot = -1;
    VictimList::Victim scratch;
    if (table.slotOf(expert) >= 0)
      continue;
    if (!startLoadsAhead(table, eviction, turn, &expert, 1, &scratch, &slot)) {
      // There is no slot for it, and less for those that are less likely.
      ahead.dropGuesses(layer);
      continue;
    }
    ahead.noteIssued(layer);
    counters.issuedAhead.fetchAdd(1);
    transfer.start(slot, records[expert].bytes, pieceBytes, sequence++);
    return &transfer;
  }
  while (nextFill < numExperts && table.numEmpty()) {
    int32_t expert = static_cast<int32_t>(nextFill++);
    if (!hasExpert(expert) || table.slotOf(expert) >= 0)
      continue;
    int32_t slot = table.startLoad(expert, 0);
    transfer.start(slot, records[expert].bytes, pieceBytes, sequence++, true);
    return &transfer;
  }
  return nullptr;
}

bool Pager::hasMore(const Transfer &claimed) const {
  return claimed.hasUnclaimed() || queueLength ||
         (!isDemanded(claimed) && (ahead.hasGuesses() || nextFill < numExperts));
}

//===--- when something was read ----------------------------------------------------------------------------------===//

void Pager::finishLoad(const Transfer &transfer) {
  if (transfer.isFill)
    table.forgetAhead(transfer.slot);
  table.finishLoad(transfer.slot);
}

void Pager::settle(Transfer &transfer) {
  int32_t slot = transfer.slot;
  if (transfer.status != MOERT_STATUS_OK)
    table.failLoad(slot, transfer.status);
  else if (transfer.isWhole())
    finishLoad(transfer);
  else if (transfer.isCancelled && !isDemanded(transfer))
    table.cancelLoad(slot);
  else
    return;
  transfer.isUsed = false;
  check();
  loaded.wakeAll();
}

//===--- invariants -----------------------------------------------------------------------------------------------===//

void Pager::check() {
  if (checks && !brokenInvariant)
    brokenInvariant = assertState();
}

int Pager::assertState() const {
  if (int violated = table.assertState())
    return violated;
  uint32_t numLoading = queueLength;
  for (uint32_t i = 0; i < queueLength; ++i)
    if (table[queue[(queueHead + i) % table.numSlots()]].state != SlotState::Loading)
      return 5;
  for (uint32_t i = 0; i < numTransfers; ++i) {
    if (!transfers[i].isUsed)
      continue;
    ++numLoading;
    if (table[transfers[i].slot].state != SlotState::Loading)
      return 5;
  }
  return numLoading == table.numLoading() ? 0 : 5;
}

} // namespace moert
