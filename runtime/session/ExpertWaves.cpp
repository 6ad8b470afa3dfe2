// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hand-out of waves.
#include "runtime/session/ExpertWaves.h"

#include "runtime/base/Status.h"

#include <string.h>

namespace moert {

void ExpertWaves::place(Carver &carver, const moert_model_descriptor &d) {
  uint64_t numExperts = d.plan.num_expert_records ? d.num_experts : 0;
  uint64_t numPairs = numExperts ? static_cast<uint64_t>(d.max_chunk) * d.top_k : 0;
  request.place(carver, numExperts, numPairs);
  wavePairs = carver.take<int32_t>(numPairs);
  wavePairBegin = carver.take<int32_t>(numExperts + 1);
  waveRecords = carver.take<const uint8_t *>(numExperts);
}

moert_status ExpertWaves::begin(Pager &pager, const moert_model_descriptor &d, int32_t layer, const int32_t *ids,
                                int64_t numTokens, int32_t topK, int64_t used, moert_error *error) {
  if (layer < 0 || static_cast<uint32_t>(layer) >= d.num_layers || topK < 1 || static_cast<uint32_t>(topK) > d.top_k ||
      numTokens < 1 || numTokens > static_cast<int64_t>(d.max_chunk) || !d.plan.num_expert_records)
    return fail(error, MOERT_STATUS_INTERNAL,
                "generated code asked for experts of layer %d, %d for each of %lld tokens", layer, topK,
                static_cast<long long>(numTokens));
  finish(pager);
  numExperts = static_cast<int32_t>(d.num_experts);
  int32_t numPairs = static_cast<int32_t>(numTokens) * topK;
  int32_t bad = request.sort(layer, numExperts, ids, numPairs);
  for (int32_t p = 0; p < numPairs && bad < 0; ++p)
    if (ids[p] == kUnusedRank ? p % topK < used : !pager.hasExpert(layer * numExperts + ids[p]))
      bad = p;
  if (bad >= 0) {
    request.clear();
    return fail(error, MOERT_STATUS_INTERNAL, "router of layer %d chose expert %d, expected 0 to %d", layer, ids[bad],
                numExperts - 1);
  }
  Lock lock(pager.mutex);
  request.begin(pager.table, pager.eviction, layer, static_cast<uint32_t>(numTokens), static_cast<uint32_t>(topK));
  noteRequest(pager, layer, numTokens, topK);
  pager.settleAhead(layer, request.numUseful, request.numLate);
  hasReads = startLoads(pager);
  return MOERT_STATUS_OK;
}

void ExpertWaves::noteRequest(Pager &pager, int32_t layer, int64_t numTokens, int32_t topK) {
  // What another session is loading is in memory as far as this one is concerned.
  pager.counters.hits.fetchAdd(static_cast<uint64_t>(request.numRouted - request.numMissing - request.numLate));
  pager.counters.misses.fetchAdd(static_cast<uint64_t>(request.numLate));
  pager.counters.usefulAhead.fetchAdd(static_cast<uint64_t>(request.numUseful));
  pager.counters.lateAhead.fetchAdd(static_cast<uint64_t>(request.numLate));
  routing = {};
  routing.layer = static_cast<uint32_t>(layer);
  routing.num_tokens = static_cast<uint32_t>(numTokens);
  routing.top_k = static_cast<uint32_t>(topK);
  routing.num_distinct = static_cast<uint32_t>(request.numRouted);
  routing.num_missed = static_cast<uint32_t>(request.numRouted - request.numResident);
  for (int32_t i = 0; i < request.numRouted; ++i) {
    const RoutedExpert &entry = request.routed[i];
    if (entry.state == RoutedState::Waiting || pager.table[entry.slot].state == SlotState::Loading)
      routing.bytes_read += pager.records[entry.expert].bytes;
  }
  routing.begin_ns = monotonicNs();
  hasRouting = true;
}

bool ExpertWaves::takeRouting(moert_routing &taken) {
  if (!hasRouting)
    return false;
  hasRouting = false;
  // Nobody reads the pairs of the last wave any more, and there is room for the ids.
  int32_t numPairs = static_cast<int32_t>(routing.num_tokens * routing.top_k);
  for (int32_t p = 0; p < numPairs; ++p)
    wavePairs[p] = kUnusedRank;
  for (int32_t i = 0; i < request.numRouted; ++i) {
    const RoutedExpert &entry = request.routed[i];
    for (int32_t p = entry.pairBegin; p < entry.pairEnd; ++p)
      wavePairs[request.pairs[p]] = entry.expert - static_cast<int32_t>(routing.layer) * numExperts;
  }
  taken = routing;
  taken.ids = wavePairs;
  taken.end_ns = numDone == request.numRouted ? monotonicNs() : 0;
  return true;
}

bool ExpertWaves::startLoads(Pager &pager) {
  for (bool hasStarted = false;;) {
    int32_t index = -1;
    switch (request.startNext(pager.table, pager.eviction, index)) {
    case LoadStart::None:
    case LoadStart::Blocked:
      if (hasStarted)
        pager.wakeLanes();
      return hasStarted;
    case LoadStart::Present:
      pager.counters.hits.fetchAdd(1);
      break;
    case LoadStart::Started:
      pager.counters.misses.fetchAdd(1);
      pager.counters.bytesRead.fetchAdd(pager.records[request.routed[index].expert].bytes);
      pager.enqueue(request.routed[index].slot);
      hasStarted = true;
      break;
    }
  }
}

void ExpertWaves::dropWave(Pager &pager) {
  for (int32_t i = 0; numComputing && i < request.numRouted; ++i) {
    RoutedExpert &entry = request.routed[i];
    if (entry.state != RoutedState::Computing)
      continue;
    entry.state = RoutedState::Done;
    ++numDone;
    --numComputing;
    pager.unpin(entry.slot);
  }
}

/// What failed before we asked for it, or for another call, may succeed now. Once: then the failure is ours.
void ExpertWaves::tryAgain(Pager &pager, RoutedExpert &entry) {
  int32_t slot = pager.table.slotOf(entry.expert);
  if (slot >= 0) {
    pager.table.pin(slot);
    pager.unpin(entry.slot);
    request.hold(pager.table, entry, slot);
  } else {
    pager.table.retryLoad(entry.slot);
    pager.counters.misses.fetchAdd(1);
    pager.counters.bytesRead.fetchAdd(pager.records[entry.expert].bytes);
    pager.enqueue(entry.slot);
    pager.wakeLanes();
  }
  entry.isOthers = false;
}

moert_status ExpertWaves::collect(Pager &pager, moert_error *error) {
  int32_t numPairs = 0;
  for (int32_t i = 0; i < request.numRouted; ++i) {
    RoutedExpert &entry = request.routed[i];
    if (entry.state != RoutedState::Requested)
      continue;
    if (!request.holds(pager.table, entry))
      return fail(error, MOERT_STATUS_INTERNAL, "page slot %d does not hold expert %d any more", entry.slot,
                  entry.expert);
    if (entry.isOthers && pager.table[entry.slot].state == SlotState::Failed)
      tryAgain(pager, entry);
    SlotState state = pager.table[entry.slot].state;
    if (state == SlotState::Failed)
      return pager.failure(entry.slot, error);
    if (state != SlotState::Pinned)
      continue;
    entry.state = RoutedState::Computing;
    int32_t count = entry.pairEnd - entry.pairBegin;
    waveRecords[numComputing] = pager.slotData(entry.slot);
    wavePairBegin[numComputing++] = numPairs;
    memcpy(wavePairs + numPairs, request.pairs + entry.pairBegin, sizeof(int32_t) * static_cast<size_t>(count));
    numPairs += count;
  }
  wavePairBegin[numComputing] = numPairs;
  return MOERT_STATUS_OK;
}

moert_status ExpertWaves::next(Pager &pager, moert_wave &wave, moert_error *error, bool mayComeBack) {
  Lock lock(pager.mutex);
  dropWave(pager);
  uint64_t waitBegin = 0;
  for (;;) {
    startLoads(pager);
    if (moert_status status = collect(pager, error))
      return status;
    if (pager.isBroken())
      return fail(error, MOERT_STATUS_INTERNAL, "pager invariant (%d) does not hold", pager.assertState());
    if (numComputing || isDone() || (mayComeBack && !hasWave))
      break;
    waitBegin = waitBegin ? waitBegin : monotonicNs();
    pager.loaded.wait(pager.mutex);
  }
  if (waitBegin)
    pager.counters.stallNs.fetchAdd(monotonicNs() - waitBegin);
  hasWave = true;
  wave.num_experts = numComputing;
  wave.records = waveRecords;
  wave.pair_begin = wavePairBegin;
  wave.pairs = wavePairs;
  return MOERT_STATUS_OK;
}

void ExpertWaves::finish(Pager &pager) {
  if (request.numRouted) {
    Lock lock(pager.mutex);
    for (int32_t i = 0; i < request.numRouted; ++i) {
      const RoutedExpert &entry = request.routed[i];
      if (entry.state == RoutedState::Requested || entry.state == RoutedState::Computing)
        pager.unpin(entry.slot);
    }
  }
  request.clear();
  hasRouting = hasReads = false;
  numDone = numComputing = 0;
  hasWave = false;
}

} // namespace moert
