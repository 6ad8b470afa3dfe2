/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The binary interface between compiled model code and the runtime. Generated code includes nothing; it reaches the
/// runtime only through `moert_context::calls`, and the runtime reaches the model only through `moert_model_v1`.
/// Field offsets are part of the ABI: `passes/lower` reads them, the size assertions below freeze them.
/// Main source: docs/architecture.md, "ABI".
#ifndef MOERT_GENERATED_H
#define MOERT_GENERATED_H

#include "moert/KvWindow.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Version of everything in this file. A `.so` and a runtime archive of different versions are refused at link time.
#define MOERT_GENERATED_ABI_VERSION 5u

/// Logits of which the head leaves the largest, so that a sampler need not look at all of them.
#define MOERT_LOGIT_TILE 1024u

/// Answer of next_wave: no expert is there yet, but some will come. What runs beside the experts may begin.
#define MOERT_WAVE_MORE 0x40000000

/// CPU features that generated code may need (bits of `moert_model_descriptor::features_required`).
enum {
  MOERT_FEATURE_ARM_DOTPROD = 1u << 0,
  MOERT_FEATURE_ARM_I8MM = 1u << 1,
  MOERT_FEATURE_ARM_FP16 = 1u << 2,
  MOERT_FEATURE_X86_AVX2 = 1u << 16,
  MOERT_FEATURE_X86_FMA = 1u << 17,
  MOERT_FEATURE_X86_F16C = 1u << 18,
  MOERT_FEATURE_X86_AVX512 = 1u << 19, /* F, BW, DQ, VL */
  MOERT_FEATURE_X86_AVX512_VNNI = 1u << 20,
  MOERT_FEATURE_X86_AVX_VNNI = 1u << 21 /* the form with VEX encoding, 256 bit */
};

struct moert_context;
struct moert_calls;

/// A kernel over a range of tiles. `args` is the array built by the entry function. Thread-safe for disjoint ranges.
typedef void (*moert_kernel)(const struct moert_context *context, void *const *args, int64_t tile_begin,
                             int64_t tile_end);

/// Kernel and tiles of one phase of a chain, for each of its groups: tile t of group g is tile g * num_tiles + t of the
/// kernel.
typedef struct moert_phase {
  moert_kernel kernel;
  void *const *args;
  int64_t num_tiles; /* of a group; 0 = no such phase */
} moert_phase;

/// Groups of tiles in two phases: a tile of the second one may run when all tiles of the first one of its group ran.
typedef struct moert_chain {
  int64_t num_groups; /* 0 = nothing to do */
  moert_phase phases[2];
} moert_chain;

/// The experts that may be computed now: expert i of the wave has the weights at `records[i]` and the routed
/// (token, rank) pairs `pairs[pair_begin[i] .. pair_begin[i + 1])`, where a pair is `token * top_k + rank`, ascending.
typedef struct moert_wave {
  int32_t num_experts;
  int32_t reserved;
  const uint8_t *const *records;
  const int32_t *pair_begin;
  const int32_t *pairs;
} moert_wave;

/// What an entry function sees. One per session; the runtime fills it before each call.
typedef struct moert_context {
  const struct moert_calls *calls; /* 0  */
  int64_t n;                       /* 8  tokens in this call (prefill), 1 (decode), rows (head) */
  int64_t position;                /* 16 absolute position of the first token; for head: first row */
  uint8_t *arena;                  /* 24 activations, 64-byte aligned */
  const uint8_t *resident;         /* 32 resident weights, 64-byte aligned */
  uint8_t *kv;                     /* 40 KV cache: physical block b (64 positions, all layers) at b * kv_block_bytes */
  uint8_t *state;                  /* 48 recurrent state */
  const int32_t *tokens;           /* 56 [n] token ids, already checked against the vocabulary */
  moert_wave wave;                 /* 64 set by next_wave */
  void *runtime;                   /* 96 opaque */
  moert_kv_window kv_window;       /* 104 which positions are seen, and where their blocks lie */
  int64_t experts_used;            /* 120 ranks of the router that count, 1 to top_k */
} moert_context;

/// Calls that generated code makes. All return 0 or a negative `-moert_status`; non-zero leaves the entry function.
typedef struct moert_calls {
  uint32_t abi_version;
  uint32_t reserved;
  /// 8: runs `kernel` over [0, num_tiles), on all threads of the pool when num_tiles > 1 (that is one join).
  int32_t (*launch)(moert_context *context, moert_kernel kernel, void *const *args, int64_t num_tiles);
  /// 16: copies row tokens[i] of streamed table `table` to destination + i * row_bytes, for i < n; checks row
  /// checksums.
  int32_t (*read_rows)(moert_context *context, int32_t table, uint8_t *destination);
  /// 24: tells the pager which experts the tokens of this call need: ids[n * top_k], row-major by token, by rank. Ranks
  /// from `experts_used` on hold -1 and are skipped.
  int32_t (*begin_experts)(moert_context *context, int32_t layer, const int32_t *ids, int32_t top_k);
  /// 32: blocks until at least one not yet computed expert is resident and describes those in context->wave.
  /// Returns their number, 0 when all are done (pins of the last wave are dropped), or a negative status. The first
  /// answer may be MOERT_WAVE_MORE, without waiting: context->wave is then empty.
  int32_t (*next_wave)(moert_context *context, int32_t layer);
  /// 40: called between layers; a non-zero answer cancels.
  int32_t (*poll)(moert_context *context, int32_t layer);
  /// 48: a hint that `count` experts of `layer` may be needed soon; never blocks.
  int32_t (*prefetch)(moert_context *context, int32_t layer, const int32_t *ids, int32_t count);
  /// 56: runs all tiles of the chains as one task region (that is one join, and one more whenever a thread has to wait
  /// for a group).
  int32_t (*launch_chains)(moert_context *context, const moert_chain *chains, int32_t num_chains);
  /// 64: 1 if it may pay to predict the experts of `layer` now, so that `prefetch` is worth its price; 0 if not.
  int32_t (*wants_prediction)(moert_context *context, int32_t layer);
} moert_calls;

/// An entry function: returns 0 or a negative status.
typedef int32_t (*moert_entry)(moert_context *context);

/// A table that is read from the pack by rows and never resident (the embedding, unless it is a
/// tied head).
typedef struct moert_streamed_table {
  uint32_t record;    /* index in the pack directory */
  uint32_t row_bytes; /* payload of one row; in the pack an 8-byte checksum of the payload follows each row */
  uint64_t num_rows;
} moert_streamed_table;

/// Byte-level BPE tables, built at compile time (lib/Tokenizer). All offsets are from the start of the blob.
typedef struct moert_tokenizer_blob {
  const uint8_t *data;
  uint64_t size_bytes;
} moert_tokenizer_blob;

/// Defaults from generation_config.json.
typedef struct moert_generation_defaults {
  float temperature; /* 0 = greedy */
  float top_p;
  int32_t top_k; /* 0 = off */
  uint32_t num_stop_ids;
  const int32_t *stop_ids;
} moert_generation_defaults;

/// Where the bytes of the plan go, in bytes. The runtime adds slots, threads and its own buffers (moert_plan_info).
typedef struct moert_plan_table {
  uint64_t arena_bytes;          /* activations and scratch of one session */
  uint64_t resident_bytes;       /* resident weights */
  uint64_t kv_block_bytes;       /* 64 positions, all layers */
  uint64_t state_bytes;          /* recurrent state of one session */
  uint64_t record_bytes;         /* one page slot = largest expert record, multiple of 16 KiB; 0 = no experts */
  uint64_t num_expert_records;   /* layers * experts */
  uint64_t min_slots;            /* fewest page slots that still run */
  uint64_t default_budget_bytes; /* 0 = everything resident */
} moert_plan_table;

/// The one data symbol of a compiled model.
typedef struct moert_model_descriptor {
  char magic[8]; /* "MOERTMDL" */
  uint32_t abi_version;
  uint32_t struct_bytes;
  uint32_t features_required; /* MOERT_FEATURE_* */
  uint32_t layout_family;     /* moepack_layout_family of the pack */
  const char *model_name;
  const char *target_name;
  uint8_t plan_id[16];
  uint8_t weights_id[16];
  uint32_t vocab_size;
  uint32_t hidden_size;
  uint32_t num_layers;
  uint32_t num_experts; /* per layer; 0 = dense */
  uint32_t top_k;
  uint32_t context; /* compiled context */
  uint32_t max_chunk;
  uint32_t head_rows;     /* most rows in one call of head */
  uint64_t hidden_offset; /* arena: float32 [max_chunk, hidden_size], written by prefill and decode */
  uint64_t logits_offset; /* arena: float32 [head_rows, vocab_size], written by head */
  moert_plan_table plan;
  uint32_t num_streamed_tables;
  uint32_t reserved;
  const moert_streamed_table *streamed_tables;
  moert_tokenizer_blob tokenizer;
  moert_generation_defaults generation;
  moert_entry prefill; /* tokens[n] at position..; leaves hidden rows in the arena */
  moert_entry decode;  /* the same for n = 1 */
  moert_entry head;    /* logits of hidden rows [position, position + n), n <= head_rows */
  const char *report_json;
  uint32_t window; /* compiled attention window in positions; 0 = none */
  uint32_t sinks;  /* first positions that are always seen */
  /* arena: float32 [head_rows, tiles of MOERT_LOGIT_TILE logits], written by head: the largest of each tile, minus
     infinity where all are NaN; 0 = none */
  uint64_t maxima_offset;
  uint64_t token_resident_bytes;    /* resident weights that each decoded token reads */
  uint64_t expert_bytes;            /* of the largest expert, without padding */
  uint64_t memory_bytes_per_second; /* of the target; 0 = unknown */
  uint64_t flash_bytes_per_second;
} moert_model_descriptor;

#ifdef __cplusplus
}
static_assert(sizeof(void *) == 8, "64-bit targets only");
static_assert(sizeof(moert_wave) == 32 && sizeof(moert_context) == 128 && sizeof(moert_calls) == 72);
static_assert(sizeof(moert_phase) == 24 && sizeof(moert_chain) == 56);
static_assert(sizeof(moert_plan_table) == 64 && sizeof(moert_streamed_table) == 16);
static_assert(sizeof(moert_model_descriptor) == 320);
#endif
#endif
