// SPDX-License-Identifier: Apache-2.0
/// \file
/// The queue of loads, and what happens when they end.
#include "runtime/pager/Pager.h"

#include "runtime/base/Status.h"

namespace moert {

void Pager::enqueue(int32_t slot) {
  queue[(queueHead + queueLength++) % table.numSlots()] = slot;
  check();
  work.wakeOne();
}

void Pager::finishLoad(int32_t slot) {
  table.finishLoad(slot);
  --numReading;
  check();
  loaded.wakeAll();
}

void Pager::failLoad(int32_t slot, const moert_error &error) {
  lastError = error;
  table.failLoad(slot);
  --numReading;
  check();
  loaded.wakeAll();
}

void Pager::unpin(int32_t slot) {
  if (!table.unpin(slot))
    return;
  check();
  loaded.wakeAll();
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
  if (int violated = table.assertState())
    return violated;
  for (uint32_t i = 0; i < queueLength; ++i)
    if (table[queue[(queueHead + i) % table.numSlots()]].state != SlotState::Loading)
      return 5;
  return queueLength + numReading == table.numLoading() ? 0 : 5;
}

} // namespace moert
