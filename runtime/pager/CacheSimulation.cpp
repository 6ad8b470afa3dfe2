// SPDX-License-Identifier: Apache-2.0
/// \file
/// Page slots, eviction and requests, driven as a session drives them, with loads that end at once. Main source:
/// include/moert/CacheSimulation.h.
#include "moert/CacheSimulation.h"

#include "runtime/pager/LayerRequest.h"

struct moert_cache_simulation {
  moert::SlotTable table;
  moert::Eviction eviction;
  moert::LayerRequest request;
};

namespace moert {

static moert_cache_simulation *placeSimulation(Carver &carver, const moert_cache_shape &shape,
                                               SlotTable::Storage &table, Eviction::Storage &eviction) {
  auto *simulation = carver.take<moert_cache_simulation>(1);
  uint64_t numExperts = static_cast<uint64_t>(shape.num_layers) * shape.num_experts;
  table.slotOf = carver.take<int32_t>(numExperts);
  table.slots = carver.take<PageSlot>(shape.num_slots);
  eviction.place(carver, shape.num_layers, shape.num_experts);
  LayerRequest measured = {};
  (simulation ? simulation->request : measured).place(carver, shape.num_experts, shape.max_pairs);
  return simulation;
}

} // namespace moert

using namespace moert;

extern "C" uint64_t moert_cache_bytes(const moert_cache_shape *shape) {
  Carver carver = {nullptr, 0};
  SlotTable::Storage table;
  Eviction::Storage eviction;
  placeSimulation(carver, *shape, table, eviction);
  return carver.offset;
}

extern "C" moert_cache_simulation *moert_cache_create(void *memory, const moert_cache_shape *shape,
                                                      moert_eviction policy) {
  Carver carver = {static_cast<uint8_t *>(memory), 0};
  SlotTable::Storage table;
  Eviction::Storage eviction;
  moert_cache_simulation *simulation = placeSimulation(carver, *shape, table, eviction);
  simulation->table.create(table, shape->num_layers * shape->num_experts, shape->num_experts, shape->num_slots);
  simulation->eviction.create(policy, eviction, shape->num_layers, shape->num_experts);
  return simulation;
}

extern "C" int32_t moert_cache_request(moert_cache_simulation *simulation, uint32_t layer, const int32_t *ids,
                                       uint32_t num_tokens, uint32_t top_k, moert_cache_result *result) {
  SlotTable &table = simulation->table;
  LayerRequest &request = simulation->request;
  int32_t atLayer = static_cast<int32_t>(layer), topK = static_cast<int32_t>(top_k);
  request.clear();
  if (request.sort(atLayer, static_cast<int32_t>(table.expertsPerLayer()), ids,
                   static_cast<int32_t>(num_tokens * top_k)) >= 0)
    return 0;
  request.begin(table, simulation->eviction, atLayer, num_tokens, static_cast<uint32_t>(topK));
  *result = {static_cast<uint32_t>(request.numRouted), static_cast<uint32_t>(request.numMissing)};
  // The hits are computed first, then each miss as it comes.
  for (int32_t i = 0; i < request.numRouted; ++i)
    if (request.routed[i].state == RoutedState::Requested)
      table.unpin(request.routed[i].slot);
  int32_t index = -1;
  while (request.startNext(table, simulation->eviction, index) == LoadStart::Started) {
    table.finishLoad(request.routed[index].slot);
    table.unpin(request.routed[index].slot);
  }
  return 1;
}

extern "C" int32_t moert_cache_holds(const moert_cache_simulation *simulation, uint32_t layer, uint32_t expert) {
  return simulation->table.slotOf(static_cast<int32_t>(layer * simulation->table.expertsPerLayer() + expert)) >= 0;
}

extern "C" int32_t moert_cache_check(const moert_cache_simulation *simulation) {
  return simulation->table.assertState();
}
