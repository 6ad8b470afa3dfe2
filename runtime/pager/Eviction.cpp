// SPDX-License-Identifier: Apache-2.0
/// \file
/// The policies.
#include "runtime/pager/Eviction.h"

#include "runtime/base/Checked.h"

namespace moert {

/// 2^32 * 2^(-1/96): a use counts half after 96 tokens. This and the discount were chosen by simulation of traces with
/// other seeds than those of docs/paging.md.
static constexpr uint64_t kKeepOfToken = 4264068101;
/// An expert whose turn is a whole token away is worth this many eighths less than one whose turn is next.
static constexpr uint64_t kDiscountEighths = 7;
static constexpr uint64_t kOne = 1ull << 32;
/// A weight of 1: used by every token for a long time.
static constexpr uint32_t kWeightBits = 31;

void VictimList::offer(uint64_t worth, int32_t slot, int32_t expert) {
  auto precedes = [&](const Victim &other) {
    return worth < other.worth || (worth == other.worth && expert < other.expert);
  };
  if (count == capacity && (!capacity || !precedes(victims[count - 1])))
    return;
  uint32_t at = count == capacity ? count - 1 : count++;
  for (; at && precedes(victims[at - 1]); --at)
    victims[at] = victims[at - 1];
  victims[at] = {worth, slot, expert};
}

void Eviction::create(moert_eviction policy, const Storage &storage, uint32_t layers, uint32_t expertsPerLayer) {
  chosen = policy == MOERT_EVICTION_DEFAULT ? MOERT_EVICTION_FREQUENCY_RECENCY : policy;
  arrays = storage;
  numLayers = layers;
  layerExperts = expertsPerLayer;
  clock = 0;
  share = 0;
}

void Eviction::beginLayer(int32_t layer, uint32_t numTokens) {
  arrays.layerBegins[layer] = clock;
  if (chosen != MOERT_EVICTION_FREQUENCY_RECENCY)
    return;
  // keep^numTokens by squaring.
  uint64_t keep = kOne, power = kKeepOfToken;
  for (uint32_t n = numTokens; n; n >>= 1, power = power * power >> 32)
    if (n & 1)
      keep = keep * power >> 32;
  // The tokens of a chunk share evenly what one token after the other would have added.
  share = (kOne - keep) / numTokens;
  uint32_t *weights = arrays.weights + static_cast<uint64_t>(layer) * layerExperts;
  for (uint32_t e = 0; e < layerExperts; ++e)
    weights[e] = static_cast<uint32_t>(weights[e] * keep >> 32);
}

void Eviction::use(int32_t expert, uint32_t numTokens) {
  arrays.lastUses[expert] = ++clock;
  uint32_t &weight = arrays.weights[expert];
  if (chosen == MOERT_EVICTION_FREQUENCY_RECENCY)
    weight += static_cast<uint32_t>(share * numTokens >> (32 - kWeightBits));
  else
    weight = weight < UINT32_MAX - numTokens ? weight + numTokens : UINT32_MAX;
}

/// Turns of layers until it is that of `expertLayer`; a layer whose turn it is comes last.
uint32_t Eviction::distance(int32_t expertLayer, int32_t layer) const {
  int32_t turns = expertLayer - layer;
  return static_cast<uint32_t>(turns > 0 ? turns : turns + static_cast<int32_t>(numLayers));
}

/// Of two experts that tokens use equally often, the one that can be used earlier is worth more: its slot is free again
/// earlier, too. Among experts that are seldom used that order prevails, so what the layers just passed have loaded
/// goes first, and what the running token will still need stays.
uint64_t Eviction::fadedWorth(uint64_t weight, uint32_t turns) const {
  return weight * (8ull * numLayers - kDiscountEighths * turns);
}

uint64_t Eviction::worth(int32_t expert, int32_t expertLayer, int32_t layer) const {
  switch (chosen) {
  case MOERT_EVICTION_LRU:
    return arrays.lastUses[expert];
  case MOERT_EVICTION_LFU:
    // Of equally frequent ones the older goes first.
    return (static_cast<uint64_t>(arrays.weights[expert]) << 32) + (arrays.lastUses[expert] & UINT32_MAX);
  default:
    return fadedWorth(arrays.weights[expert], distance(expertLayer, layer));
  }
}

void Eviction::offerVictims(const SlotTable &table, int32_t layer, VictimList &list) const {
  for (uint32_t s = 0; s < table.numSlots(); ++s) {
    const PageSlot &page = table[static_cast<int32_t>(s)];
    if (page.state == SlotState::Resident)
      list.offer(worth(page.expert, page.layer, layer), static_cast<int32_t>(s), page.expert);
  }
}

bool Eviction::yieldsTo(int32_t expert, const PageSlot &victim, int32_t layer) const {
  int32_t expertLayer = expert / static_cast<int32_t>(layerExperts);
  uint32_t turns = distance(expertLayer, layer);
  if (distance(victim.layer, layer) <= turns)
    return false;
  if (chosen == MOERT_EVICTION_LRU)
    // What was used since this layer's last turn is one token's cycle.
    return arrays.lastUses[victim.expert] <= arrays.layerBegins[layer];
  if (chosen == MOERT_EVICTION_LFU)
    return arrays.weights[victim.expert] <= arrays.weights[expert];
  // As if a quarter of the tokens used it beside those that did. What most tokens use stays, however late its turn: a
  // wrong guess would cost the next token a read.
  uint64_t asked = arrays.weights[expert] + (1ull << (kWeightBits - 2));
  return arrays.weights[victim.expert] < asked && worth(victim.expert, victim.layer, layer) < fadedWorth(asked, turns);
}

} // namespace moert
