/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// What a decoded token moves and how long that takes: the one formula behind `moert_plan_info`, the compile report and
/// `moec estimate`, for programs that link the runtime archive. A model of bandwidths, never a measurement. Not part of
/// a model's exported API. Main source: docs/estimates.md.
#ifndef MOERT_TOKENCOST_H
#define MOERT_TOKENCOST_H

#include "moert/Generated.h"
#include "moert/moert.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Shares of the memory's bandwidth that kernels reach, in percent: measured on x86-64 with AVX-512
/// (docs/benchmarks.md, docs/architecture.md), taken to hold elsewhere.
#define MOERT_WEIGHTS_PERCENT 90 /* products of one token: 0.91 and 0.92 for int4 and int8 */
#define MOERT_KV_PERCENT 50      /* attention: 1.9 to 2.1 times the time of reading the cache */
#define MOERT_STATE_PERCENT 60   /* a recurrent step, read and write: 0.53 to 0.95 */

/// What one of the reader lanes, of which there are as many as by default, verifies in a second, from the time by which
/// a layer's reads exceed those of a loop that only reads: measured on x86-64 (docs/estimates.md), taken to hold
/// elsewhere.
#define MOERT_VERIFIED_BYTES_PER_SECOND 7300000000

typedef struct moert_token_traffic {
  uint64_t resident_bytes; /* of resident weights, each read once */
  uint64_t row_bytes;      /* of streamed rows, from the pack */
  uint64_t kv_bytes;       /* of the cache that the token sees */
  uint64_t state_bytes;    /* of recurrent states, read and written */
  uint64_t expert_bytes;   /* of one expert without padding */
  uint64_t record_bytes;   /* of one expert in the pack, what a miss reads */
  uint32_t num_layers;     /* with experts */
  uint32_t experts_used;   /* of a layer */
  double hit_rate;         /* share of uses that find the expert in memory, 0 to 1 */
  double predicted_rate;   /* share of the misses whose read began during the layer before, 0 to 1 */
  uint64_t memory_bytes_per_second, flash_bytes_per_second; /* 0 = unknown */
} moert_token_traffic;

typedef struct moert_token_cost {
  uint64_t memory_bytes;       /* read, and written where an expert or a state is */
  uint64_t flash_bytes;        /* read */
  double misses;               /* experts */
  double tokens_per_second;    /* 0 = a bandwidth that counts is not known */
  double seconds_of_computing; /* as with every expert resident; 0 as before */
  double seconds_of_flash;     /* of reading alone */
} moert_token_cost;

/// Fills `traffic` from a checked descriptor and its plan: even routing over the slots, nothing predicted, `depth`
/// positions seen, the bandwidths of the descriptor.
void moert_describe_token(const moert_model_descriptor *descriptor, const moert_plan_info *plan, uint32_t experts_used,
                          uint64_t depth, moert_token_traffic *traffic);

/// Fills `cost`. Uses hit independently of each other. For each layer with experts, time is that of the dense part,
/// then the larger of (experts that are there, reads that are not over yet), then the last expert that arrives is
/// verified and computed. The reads of predicted misses have the dense part of the layer as a lead. A read takes its
/// bytes at the flash memory's bandwidth and its share of the lanes that verify. Allocates nothing; ranges are those of
/// a checked descriptor.
void moert_cost_token(const moert_token_traffic *traffic, moert_token_cost *cost);

#ifdef __cplusplus
}
#endif
#endif
