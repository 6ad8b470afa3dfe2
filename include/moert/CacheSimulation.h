/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The runtime's own page slots and eviction without weights, files and threads, for programs that link the runtime
/// archive: a replayed routing misses exactly what a run would. Not part of a model's exported API.
#ifndef MOERT_CACHESIMULATION_H
#define MOERT_CACHESIMULATION_H

#include "moert/moert.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct moert_cache_shape {
  uint32_t num_layers;
  uint32_t num_experts; /* per layer */
  uint32_t num_slots;
  uint32_t max_pairs; /* most tokens of a request times the most ids of a token */
} moert_cache_shape;

/// For one thread at a time.
typedef struct moert_cache_simulation moert_cache_simulation;

/// What a request cost.
typedef struct moert_cache_result {
  uint32_t num_distinct; /* experts */
  uint32_t num_missed;
} moert_cache_result;

/// Bytes that a simulation needs.
uint64_t moert_cache_bytes(const moert_cache_shape *shape);
/// Makes a simulation with empty slots in `memory`, which is zero-filled, aligned to 64 bytes and the caller's, and
/// needs no end. Shapes are the caller's to check: products of its numbers fit in 31 bits, and none is 0.
moert_cache_simulation *moert_cache_create(void *memory, const moert_cache_shape *shape, moert_eviction eviction);
/// A layer's turn: ids[num_tokens, top_k], row-major by token, -1 = not used. False, with nothing done, if an id is not
/// below num_experts. The layer and the number of ids (at least 1, at most max_pairs) are the caller's to check.
int32_t moert_cache_request(moert_cache_simulation *simulation, uint32_t layer, const int32_t *ids, uint32_t num_tokens,
                            uint32_t top_k, moert_cache_result *result);
/// Whether an expert is in memory.
int32_t moert_cache_holds(const moert_cache_simulation *simulation, uint32_t layer, uint32_t expert);
/// 0, or the number of the violated invariant of the slots.
int32_t moert_cache_check(const moert_cache_simulation *simulation);

#ifdef __cplusplus
}
#endif
#endif
