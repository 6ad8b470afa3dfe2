/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Where a block of the KV cache lies: the first blocks hold the sinks and never move, behind them a ring holds the
/// window. Compiler and runtime plan with these functions, generated code computes `moert_kv_physical_block`.
/// Main source: docs/architecture.md, "KV cache".
#ifndef MOERT_KVWINDOW_H
#define MOERT_KVWINDOW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MOERT_KV_BLOCK_POSITIONS = 64 };

/// A token at position p attends to the positions q <= p with q > p - window or q < sinks.
typedef struct moert_kv_window {
  int32_t window;      /* 0  at least 1; the context: everything is seen */
  int32_t sinks;       /* 4  */
  int32_t sink_blocks; /* 8  blocks that never move */
  int32_t ring_blocks; /* 12 blocks that later ones follow in, at least 1 */
} moert_kv_window;

/// The window for a context of `context` positions, of which at most `chunk` are appended before the first of them
/// attends. `window` 0: none. All arguments are below 2^31.
static inline moert_kv_window moert_make_kv_window(uint32_t context, uint32_t window, uint32_t sinks, uint32_t chunk) {
  uint64_t blocks = ((uint64_t)context + MOERT_KV_BLOCK_POSITIONS - 1) / MOERT_KV_BLOCK_POSITIONS;
  uint64_t visible = window && window < context ? window : context;
  uint64_t sink_blocks = ((uint64_t)sinks + MOERT_KV_BLOCK_POSITIONS - 1) / MOERT_KV_BLOCK_POSITIONS;
  if (visible == context)
    sinks = 0;
  if (visible == context || sink_blocks > blocks)
    sink_blocks = visible == context ? 0 : blocks;
  /* The chunk's first token sees window - 1 positions before itself: so many in a row touch at most these blocks. */
  uint64_t positions = visible + chunk - 1;
  uint64_t ring = (positions + MOERT_KV_BLOCK_POSITIONS - 2) / MOERT_KV_BLOCK_POSITIONS + 1;
  if (ring > blocks - sink_blocks)
    ring = blocks - sink_blocks;
  moert_kv_window result;
  result.window = (int32_t)visible;
  result.sinks = (int32_t)sinks;
  result.sink_blocks = (int32_t)sink_blocks;
  result.ring_blocks = (int32_t)(ring ? ring : 1);
  return result;
}

/// Blocks that are ever in use.
static inline uint64_t moert_kv_num_blocks(const moert_kv_window *w, uint32_t context) {
  uint64_t blocks = ((uint64_t)context + MOERT_KV_BLOCK_POSITIONS - 1) / MOERT_KV_BLOCK_POSITIONS;
  uint64_t held = (uint64_t)w->sink_blocks + (uint64_t)w->ring_blocks;
  return held < blocks ? held : blocks;
}

/// Where block `number` lies.
static inline int64_t moert_kv_physical_block(const moert_kv_window *w, int64_t number) {
  return number < w->sink_blocks ? number : w->sink_blocks + (number - w->sink_blocks) % w->ring_blocks;
}

#ifdef __cplusplus
}
static_assert(sizeof(moert_kv_window) == 16);
#endif
#endif
