// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loads that begin before anybody asked: into empty slots, or in the place of what is worth less. No thread, no lock.
#ifndef RUNTIME_PAGER_LOADAHEAD_H
#define RUNTIME_PAGER_LOADAHEAD_H

#include "runtime/pager/Eviction.h"
#include "runtime/pager/SlotTable.h"

namespace moert {

/// Starts loads without waiters for those of `experts` (layer * experts + expert, the likeliest first) that are neither
/// in memory nor under way, during the turn of `layer`. Never in the place of what is pinned, of what is worth more, or
/// of what has its turn before. Returns the number of loads; `slots` receives their slots. `scratch` has room for
/// `count` entries. Cost: one pass over the slots, none while there are empty ones.
uint32_t startLoadsAhead(SlotTable &table, const Eviction &eviction, int32_t layer, const int32_t *experts,
                         uint32_t count, VictimList::Victim *scratch, int32_t *slots);

} // namespace moert
#endif
