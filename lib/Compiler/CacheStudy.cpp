// SPDX-License-Identifier: Apache-2.0
/// \file
/// Replays of a routing.
#include "lib/Compiler/CacheStudy.h"

#include "include/moert/CacheSimulation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

namespace moec {

namespace {

constexpr CachePolicy kPolicies[] = {
    {"lru", MOERT_EVICTION_LRU}, {"lfu", MOERT_EVICTION_LFU}, {"faded", MOERT_EVICTION_FREQUENCY_RECENCY}};

struct FreeMemory {
  void operator()(void *memory) const { std::free(memory); }
};

/// An expert of a request, and the request that asks for it next.
struct Use {
  uint32_t expert;
  size_t next;
};

/// The different experts of each request, with their next uses.
std::vector<std::vector<Use>> findNextUses(const RoutingTrace &routing) {
  std::vector<std::vector<Use>> uses(routing.requests.size());
  std::vector<size_t> nextOf(size_t(routing.layers) * routing.experts, SIZE_MAX);
  for (size_t r = routing.requests.size(); r-- > 0;) {
    const RoutingRequest &request = routing.requests[r];
    std::vector<int32_t> ids = routing.idsOf(request).vec();
    llvm::sort(ids);
    ids.erase(llvm::unique(ids), ids.end());
    for (int32_t id : ids) {
      if (id < 0)
        continue;
      uint32_t expert = request.layer * routing.experts + static_cast<uint32_t>(id);
      uses[r].push_back({expert, nextOf[expert]});
      nextOf[expert] = r;
    }
  }
  return uses;
}

} // namespace

llvm::ArrayRef<CachePolicy> cachePolicies() { return kPolicies; }

CacheCounts simulateCache(const RoutingTrace &routing, uint64_t numSlots, moert_eviction eviction) {
  moert_cache_shape shape = {routing.layers, routing.experts, static_cast<uint32_t>(numSlots),
                             routing.maxTokens * routing.topK};
  constexpr size_t kAlign = 64;
  size_t sizeBytes = llvm::alignTo(moert_cache_bytes(&shape), kAlign);
  std::unique_ptr<void, FreeMemory> memory(std::aligned_alloc(kAlign, sizeBytes));
  std::memset(memory.get(), 0, sizeBytes);
  moert_cache_simulation *cache = moert_cache_create(memory.get(), &shape, eviction);
  CacheCounts counts;
  for (const RoutingRequest &request : routing.requests) {
    moert_cache_result result = {};
    [[maybe_unused]] bool isDone = moert_cache_request(cache, request.layer, routing.idsOf(request).data(),
                                                       request.numTokens, routing.topK, &result);
    assert(isDone && "ids were checked when the routing was made");
    counts.uses += result.num_distinct;
    counts.misses += result.num_missed;
  }
  return counts;
}

CacheCounts simulateBelady(const RoutingTrace &routing, uint64_t numSlots) {
  std::vector<std::vector<Use>> uses = findNextUses(routing);
  std::vector<size_t> nextOf(size_t(routing.layers) * routing.experts, 0);
  std::set<std::pair<size_t, uint32_t>> inMemory; // by next use
  CacheCounts counts;
  for (const std::vector<Use> &request : uses) {
    for (auto [expert, next] : request) {
      ++counts.uses;
      counts.misses += inMemory.erase({nextOf[expert], expert}) == 0;
      nextOf[expert] = next;
      inMemory.insert({next, expert});
    }
    while (inMemory.size() > numSlots)
      inMemory.erase(std::prev(inMemory.end()));
  }
  return counts;
}

} // namespace moec
