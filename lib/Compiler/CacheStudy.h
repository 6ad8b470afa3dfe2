// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a routing would find in memory, by the runtime's own policies and by Belady's, which knows the future. Main
/// source: docs/paging.md.
#ifndef LIB_COMPILER_CACHESTUDY_H
#define LIB_COMPILER_CACHESTUDY_H

#include "include/moert/moert.h"
#include "lib/Compiler/RoutingTrace.h"

namespace moec {

struct CacheCounts {
  uint64_t uses = 0, misses = 0; ///< different experts of each request
  uint64_t hits() const { return uses - misses; }
  double hitRate() const { return uses ? double(hits()) / double(uses) : 1; }
};

struct CachePolicy {
  const char *name; ///< as of `moe-run --eviction`
  moert_eviction eviction;
};
/// The default stands last.
llvm::ArrayRef<CachePolicy> cachePolicies();

/// Replays with the runtime's slots, from empty ones.
CacheCounts simulateCache(const RoutingTrace &routing, uint64_t numSlots, moert_eviction eviction);
/// The fewest misses that are possible: after each request, what stays is what is used soonest, out of what was there
/// and what was asked for.
CacheCounts simulateBelady(const RoutingTrace &routing, uint64_t numSlots);

struct CacheRow {
  uint64_t slots;
  std::vector<CacheCounts> policies; ///< as of cachePolicies
  CacheCounts belady;
};

/// A plot of hit rates over the share of experts in memory.
std::string plotCache(const RoutingTrace &routing, llvm::ArrayRef<CacheRow> rows);

} // namespace moec

#endif
