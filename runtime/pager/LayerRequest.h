// SPDX-License-Identifier: Apache-2.0
/// \file
/// The experts that the tokens of one call need in one layer: which are there, in which order the others are loaded,
/// and in whose place. All of it is settled when the request begins, from the slots and what routers chose so far; when
/// pages arrive changes nothing, so that a simulation counts the misses of a run exactly. No thread, no lock.
#ifndef RUNTIME_PAGER_LAYERREQUEST_H
#define RUNTIME_PAGER_LAYERREQUEST_H

#include "runtime/base/Memory.h"
#include "runtime/pager/Eviction.h"
#include "runtime/pager/SlotTable.h"

namespace moert {

/// What routers write in place of an expert for ranks that are not used.
inline constexpr int32_t kUnusedRank = -1;

/// waiting -> requested (its slot is pinned for us) -> computing (in the current wave) -> done (pin dropped).
enum class RoutedState : uint32_t { Waiting, Requested, Computing, Done };

struct RoutedExpert {
  int32_t expert;             /// layer * experts + expert
  int32_t pairBegin, pairEnd; /// its (token, rank) pairs
  int32_t slot;
  uint32_t generation; /// of the slot, when it was pinned
  RoutedState state;
  bool isOthers; /// its load had begun before we asked: ahead of need, or for another call
};

/// Result of `startNext`.
enum class LoadStart : uint32_t {
  Started, /// a load for which the request waits
  Present, /// another session loaded it meanwhile
  Blocked, /// what has the slot is still needed
  None     /// every load was started
};

/// Zero-filled memory is a valid object without a request. With more missing experts than slots to load them into, each
/// slot serves several, one after the other: the k-th load follows the (k - n)-th, and the n that are worth most come
/// last and stay.
class LayerRequest {
public:
  /// Takes the arrays from a region. A pair is an id of a token: token * ids of a token + rank.
  void place(Carver &carver, uint64_t expertsPerLayer, uint64_t maxPairs);
  /// Forgets the last request. Pins are the caller's matter.
  void clear() { numRouted = numMissing = numResident = numUseful = numLate = numStarted = numPlaces = 0; }
  /// Sorts the pairs by expert, before `begin`; -1 = not used. Returns the first pair with an id that is not below
  /// `expertsPerLayer`; -1 = none.
  int32_t sort(int32_t layer, int32_t expertsPerLayer, const int32_t *ids, int32_t numPairs);
  /// Marks the uses, pins what is there or on its way, and settles the rest.
  void begin(SlotTable &table, Eviction &eviction, int32_t layer, uint32_t numTokens, uint32_t topK);
  /// Starts the next load, for the expert `index` of the request.
  LoadStart startNext(SlotTable &table, const Eviction &eviction, int32_t &index);
  /// The expert is pinned for us in `slot`.
  void hold(const SlotTable &table, RoutedExpert &entry, int32_t slot);
  /// Whether the slot of a requested expert still holds it.
  bool holds(const SlotTable &table, const RoutedExpert &entry) const {
    const PageSlot &page = table[entry.slot];
    return page.expert == entry.expert && page.generation == entry.generation;
  }

  RoutedExpert *routed; /// [expertsPerLayer] in ascending order
  int32_t *pairs;       /// [maxPairs], sorted by expert, ascending inside
  int32_t numRouted;
  // What `begin` found: experts without a slot; of the others, those in memory, those in memory by a load ahead of
  // need, and those whose load ahead of need still runs.
  int32_t numMissing, numResident, numUseful, numLate;

  int32_t ofLayer() const { return layer; }

private:
  /// Where one of the first `numPlaces` loads goes: into the slot of `expert`, or into an empty one (-1).
  struct Place {
    int32_t slot, expert;
  };
  void orderMisses(const Eviction &eviction);
  void choosePlaces(const SlotTable &table, const Eviction &eviction, uint32_t topK);
  LoadStart makeRoom(SlotTable &table, const Eviction &eviction) const;

  int32_t *counts;             /// [expertsPerLayer + 1]
  int32_t *missing;            /// [expertsPerLayer] indices of `routed`, in the order of the loads
  Place *places;               /// [expertsPerLayer]
  VictimList::Victim *victims; /// [expertsPerLayer]
  int32_t layer, numStarted, numPlaces;
};

} // namespace moert
#endif
