// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is settled when a request begins, and the start of its loads.
#include "runtime/pager/LayerRequest.h"

#include "runtime/base/Checked.h"

#include <string.h>

namespace moert {

/// With more misses than this, and than an eighth of the slots, a slot may serve several of them one after the other;
/// so many are under way at a time, which keeps reader threads and kernels busy.
static constexpr uint32_t kStreamingSlots = 16;

void LayerRequest::place(Carver &carver, uint64_t expertsPerLayer, uint64_t maxPairs) {
  counts = carver.take<int32_t>(expertsPerLayer + 1);
  pairs = carver.take<int32_t>(maxPairs);
  routed = carver.take<RoutedExpert>(expertsPerLayer);
  missing = carver.take<int32_t>(expertsPerLayer);
  places = carver.take<Place>(expertsPerLayer);
  victims = carver.take<VictimList::Victim>(expertsPerLayer);
}

int32_t LayerRequest::sort(int32_t atLayer, int32_t expertsPerLayer, const int32_t *ids, int32_t numPairs) {
  memset(counts, 0, sizeof(int32_t) * (static_cast<size_t>(expertsPerLayer) + 1));
  for (int32_t p = 0; p < numPairs; ++p) {
    if (ids[p] < kUnusedRank || ids[p] >= expertsPerLayer)
      return p;
    if (ids[p] != kUnusedRank)
      ++counts[ids[p] + 1];
  }
  for (int32_t e = 0; e < expertsPerLayer; ++e) {
    int32_t begin = counts[e], end = begin + counts[e + 1];
    counts[e + 1] = end;
    if (begin != end)
      routed[numRouted++] = {atLayer * expertsPerLayer + e, begin, end, -1, 0, RoutedState::Waiting, false};
  }
  for (int32_t p = 0; p < numPairs; ++p)
    if (ids[p] != kUnusedRank)
      pairs[counts[ids[p]]++] = p;
  return -1;
}

void LayerRequest::hold(const SlotTable &table, RoutedExpert &entry, int32_t slot) {
  entry.slot = slot;
  entry.generation = table[slot].generation;
  entry.state = RoutedState::Requested;
  entry.isOthers = table[slot].state == SlotState::Loading;
}

void LayerRequest::begin(SlotTable &table, Eviction &eviction, int32_t atLayer, uint32_t numTokens, uint32_t topK) {
  layer = atLayer;
  numMissing = numResident = numUseful = numLate = numStarted = numPlaces = 0;
  eviction.beginLayer(layer, numTokens);
  // What is there is pinned first, so that the misses do not push it out.
  for (int32_t i = 0; i < numRouted; ++i) {
    RoutedExpert &entry = routed[i];
    eviction.use(entry.expert, static_cast<uint32_t>(entry.pairEnd - entry.pairBegin));
    int32_t slot = table.slotOf(entry.expert);
    if (slot < 0) {
      missing[numMissing++] = i;
      continue;
    }
    bool isResident = table[slot].state != SlotState::Loading, isAhead = table[slot].isAhead;
    numResident += isResident;
    numUseful += isResident && isAhead;
    numLate += !isResident && isAhead;
    table.pin(slot);
    hold(table, entry, slot);
  }
  if (numMissing)
    choosePlaces(table, eviction, topK);
}

/// The least worth first; equal ones stay in ascending order.
void LayerRequest::orderMisses(const Eviction &eviction) {
  VictimList list = {victims, 0, static_cast<uint32_t>(numMissing)};
  for (int32_t k = 0; k < numMissing; ++k)
    list.offer(eviction.worth(routed[missing[k]].expert, layer, layer), missing[k], routed[missing[k]].expert);
  for (int32_t k = 0; k < numMissing; ++k)
    missing[k] = victims[k].slot;
}

void LayerRequest::choosePlaces(const SlotTable &table, const Eviction &eviction, uint32_t topK) {
  uint32_t numLoads = static_cast<uint32_t>(numMissing), numEmpty = table.numEmpty();
  uint32_t streaming = static_cast<uint32_t>(minOf(kStreamingSlots, table.numSlots() / 8));
  uint32_t least = static_cast<uint32_t>(minOf(numLoads, maxOf(topK, streaming)));
  if (numLoads > least)
    orderMisses(eviction);
  while (static_cast<uint32_t>(numPlaces) < minOf(numEmpty, numLoads))
    places[numPlaces++] = {-1, -1};
  // A slot more is worth it as long as what is there is worth less than the best miss that would not stay.
  VictimList list = {victims, 0, numLoads - static_cast<uint32_t>(numPlaces)};
  eviction.offerVictims(table, layer, list);
  for (uint32_t v = 0; v < list.count; ++v) {
    uint32_t count = static_cast<uint32_t>(numPlaces);
    if (count >= least) {
      int32_t next = routed[missing[numLoads - 1 - count]].expert;
      if (list.victims[v].worth >= eviction.worth(next, layer, layer))
        break;
    }
    places[numPlaces++] = {list.victims[v].slot, list.victims[v].expert};
  }
  // Where everything is a hit of this very request, half of it makes room, after it was computed.
  uint32_t wanted = static_cast<uint32_t>(minOf(least, (table.numSlots() + 1) / 2));
  if (static_cast<uint32_t>(numPlaces) >= wanted)
    return;
  list = {victims, 0, wanted - static_cast<uint32_t>(numPlaces)};
  for (int32_t i = 0; i < numRouted; ++i)
    if (routed[i].state == RoutedState::Requested && table[routed[i].slot].pins == 1)
      list.offer(eviction.worth(routed[i].expert, layer, layer), routed[i].slot, routed[i].expert);
  for (uint32_t v = 0; v < list.count; ++v)
    places[numPlaces++] = {list.victims[v].slot, list.victims[v].expert};
}

/// Empties the slot that was chosen for the next load. Where another session took it, any other will do.
LoadStart LayerRequest::makeRoom(SlotTable &table, const Eviction &eviction) const {
  Place chosen = {-1, -1};
  if (numStarted < numPlaces) {
    chosen = places[numStarted];
  } else if (numPlaces) {
    const RoutedExpert &before = routed[missing[numStarted - numPlaces]];
    chosen = {before.slot, before.expert};
  }
  if (chosen.slot >= 0 && table[chosen.slot].expert == chosen.expert) {
    if (table[chosen.slot].state != SlotState::Resident)
      return LoadStart::Blocked;
    table.evict(chosen.slot);
    return LoadStart::Started;
  }
  if (table.numEmpty())
    return LoadStart::Started;
  VictimList::Victim victim;
  VictimList list = {&victim, 0, 1};
  eviction.offerVictims(table, layer, list);
  if (!list.count)
    return LoadStart::Blocked;
  table.evict(victim.slot);
  return LoadStart::Started;
}

LoadStart LayerRequest::startNext(SlotTable &table, const Eviction &eviction, int32_t &index) {
  if (numStarted == numMissing)
    return LoadStart::None;
  index = missing[numStarted];
  RoutedExpert &entry = routed[index];
  int32_t slot = table.slotOf(entry.expert);
  if (slot >= 0) {
    table.pin(slot);
    hold(table, entry, slot);
    ++numStarted;
    return LoadStart::Present;
  }
  if (makeRoom(table, eviction) == LoadStart::Blocked)
    return LoadStart::Blocked;
  hold(table, entry, table.startLoad(entry.expert, 1));
  entry.isOthers = false;
  ++numStarted;
  return LoadStart::Started;
}

} // namespace moert
