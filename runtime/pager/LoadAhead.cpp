// SPDX-License-Identifier: Apache-2.0
/// \file
/// Room for loads ahead of need.
#include "runtime/pager/LoadAhead.h"

namespace moert {

uint32_t startLoadsAhead(SlotTable &table, const Eviction &eviction, int32_t layer, const int32_t *experts,
                         uint32_t count, VictimList::Victim *scratch, int32_t *slots) {
  VictimList list = {scratch, 0, count};
  bool isScanned = false;
  uint32_t next = 0, numStarted = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (table.slotOf(experts[i]) >= 0)
      continue;
    if (!table.numEmpty() && !isScanned) {
      eviction.offerVictims(table, layer, list);
      isScanned = true;
    }
    if (!table.numEmpty()) {
      if (next == list.count || !eviction.yieldsTo(experts[i], table[list.victims[next].slot], layer))
        break;
      table.evict(list.victims[next++].slot);
    }
    slots[numStarted++] = table.startLoad(experts[i], 0);
  }
  return numStarted;
}

} // namespace moert
