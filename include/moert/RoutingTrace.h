/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// A recorded routing trace: which experts each layer's routers chose in a run, what that cost and when. Written by
/// `moe-run --trace`, read by `moec simulate-cache`. Little-endian; a header, then records, each followed by its ids.
/// Main source: docs/paging.md.
#ifndef MOERT_ROUTINGTRACE_H
#define MOERT_ROUTINGTRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOERT_TRACE_MAGIC "MOETRACE"
#define MOERT_TRACE_VERSION 1u

typedef struct moert_trace_header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes; /* the first record begins there */
  uint32_t num_layers;
  uint32_t num_experts; /* per layer */
  uint32_t top_k;       /* ids of each token in a record */
  uint32_t eviction;    /* moert_eviction, as asked for */
  uint64_t num_slots;   /* page slots of the run */
  uint64_t slot_bytes;
  uint64_t num_records;
  uint64_t expert_hits; /* the runtime's counters at the end */
  uint64_t expert_misses;
  uint64_t expert_bytes_read;
  uint32_t experts_used; /* of top_k */
  uint32_t prediction;   /* moert_prediction, as asked for */
  uint64_t prefetch_issued;
  uint64_t num_expert_records; /* of the model: layers without experts do not count */
  uint64_t reserved;
} moert_trace_header;

/// One layer in one call. int16 ids[num_tokens][top_k] follow, best first, -1 = not used; then zeros to a multiple of
/// 8 bytes.
typedef struct moert_trace_record {
  uint32_t layer;
  uint32_t num_tokens;
  uint64_t position;     /* of the first token */
  uint32_t num_distinct; /* experts */
  uint32_t num_missed;   /* of those, not in memory when the router had spoken */
  uint64_t bytes_read;   /* of the missed ones */
  uint64_t begin_ns;     /* the router had spoken; monotonic clock */
  uint64_t end_ns;       /* all experts were computed; 0 = the call failed before */
} moert_trace_record;

/// Bytes of the ids behind a record, with padding.
static inline uint64_t moert_trace_id_bytes(uint32_t num_tokens, uint32_t top_k) {
  return ((uint64_t)num_tokens * top_k * sizeof(int16_t) + 7) / 8 * 8;
}

#ifdef __cplusplus
}
static_assert(sizeof(moert_trace_header) == 112 && sizeof(moert_trace_record) == 48);
#endif
#endif
