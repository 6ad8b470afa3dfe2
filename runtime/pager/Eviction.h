// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an expert in memory is worth, by one of several policies, in integers: the same on every machine, and a
/// function of what the routers chose alone. No thread, no lock. Main source: docs/paging.md.
#ifndef RUNTIME_PAGER_EVICTION_H
#define RUNTIME_PAGER_EVICTION_H

#include "moert/moert.h"
#include "runtime/base/Memory.h"
#include "runtime/pager/SlotTable.h"

namespace moert {

/// Slots that may be emptied, the least worth first.
struct VictimList {
  struct Victim {
    uint64_t worth;
    int32_t slot, expert;
  };
  Victim *victims; /// [capacity]
  uint32_t count, capacity;

  /// Keeps the `capacity` least worth of all that are offered; equal ones by the expert's number.
  void offer(uint64_t worth, int32_t slot, int32_t expert);
};

class Eviction {
public:
  struct Storage {
    void place(Carver &carver, uint64_t numLayers, uint64_t expertsPerLayer) {
      weights = carver.take<uint32_t>(numLayers * expertsPerLayer);
      lastUses = carver.take<uint64_t>(numLayers * expertsPerLayer);
      layerBegins = carver.take<uint64_t>(numLayers);
    }
    uint32_t *weights;     /// [numExperts] by policy: uses, or faded uses
    uint64_t *lastUses;    /// [numExperts] in uses of any expert
    uint64_t *layerBegins; /// [numLayers] the same when the layer's last turn began
  };

  void create(moert_eviction policy, const Storage &storage, uint32_t numLayers, uint32_t expertsPerLayer);

  /// The turn of a layer begins, for `numTokens` tokens. Then `use` tells what they need, in ascending order.
  void beginLayer(int32_t layer, uint32_t numTokens);
  void use(int32_t expert, uint32_t numTokens);

  /// Larger is better kept, when it is the turn of `layer`.
  uint64_t worth(int32_t expert, int32_t expertLayer, int32_t layer) const;
  /// Offers every resident slot without pins: one pass over the slots.
  void offerVictims(const SlotTable &table, int32_t layer, VictimList &list) const;
  /// Whether `victim`, resident without pins, may be emptied in the turn of `layer` to load `expert` ahead of its
  /// need: only if it is worth less, as if the expert had just been asked for, and if its own turn is not nearer.
  bool yieldsTo(int32_t expert, const PageSlot &victim, int32_t layer) const;

  moert_eviction policy() const { return chosen; }

private:
  uint32_t distance(int32_t expertLayer, int32_t layer) const;
  uint64_t fadedWorth(uint64_t weight, uint32_t turns) const;

  moert_eviction chosen;
  Storage arrays;
  uint32_t numLayers, layerExperts;
  uint64_t clock;
  uint64_t share; /// of one token in a weight, after those of its chunk
};

} // namespace moert
#endif
