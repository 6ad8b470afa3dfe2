// SPDX-License-Identifier: Apache-2.0
/// \file
/// The fake model's entry functions, as generated code would look. Linked into the test program and, alone with the
/// runtime archive and the stub of libc, into a shared object.
#include "FakeEntries.h"

#include <string.h>

using namespace fake;

moert_model_descriptor moert_model_v1 = {.prefill = feedEntry, .decode = feedEntry, .head = headEntry};

static LayerHook layerHook = nullptr;
static BesideHook besideHook = nullptr;

void fake::setLayerHook(LayerHook hook) { __atomic_store_n(&layerHook, hook, __ATOMIC_SEQ_CST); }

void fake::setBesideHook(BesideHook hook) { __atomic_store_n(&besideHook, hook, __ATOMIC_SEQ_CST); }

static void expertKernel(const moert_context *context, void *const *args, int64_t begin, int64_t end) {
  Arena &arena = *reinterpret_cast<Arena *>(context->arena);
  (void)args;
  for (int64_t e = begin; e < end; ++e) {
    const auto *words = reinterpret_cast<const uint32_t *>(context->wave.records[e]);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < kRecordBytes / 4; ++i)
      sum += words[i];
    for (int32_t i = context->wave.pair_begin[e]; i < context->wave.pair_begin[e + 1]; ++i) {
      int32_t pair = context->wave.pairs[i];
      arena.products[pair] = pairValue(sum, arena.hidden[pair / kTopK][0], pair % kTopK);
    }
  }
}

static int32_t runLayer(moert_context *context, int32_t layer) {
  Arena &arena = *reinterpret_cast<Arena *>(context->arena);
  if (int32_t status = context->calls->poll(context, layer))
    return status;
  if (LayerHook hook = __atomic_load_n(&layerHook, __ATOMIC_SEQ_CST))
    if (int32_t status = hook(context, layer))
      return status;
  int64_t used = context->experts_used;
  for (int64_t t = 0; t < context->n; ++t) {
    route(arena.hidden[t][0], *reinterpret_cast<int32_t (*)[kTopK]>(arena.ids + t * kTopK));
    for (int64_t r = used; r < kTopK; ++r)
      arena.ids[t * kTopK + r] = -1;
  }
  if (int32_t status = context->calls->begin_experts(context, layer, arena.ids, kTopK))
    return status;
  if (layer + 1 < static_cast<int32_t>(kLayers) && context->calls->wants_prediction(context, layer + 1)) {
    // What the next layer would choose if this one added nothing.
    int32_t guess[kTopK];
    route(arena.hidden[0][0], guess);
    for (int64_t r = used; r < kTopK; ++r)
      guess[r] = -1;
    if (int32_t status = context->calls->prefetch(context, layer + 1, guess, kTopK))
      return status;
  }
  int32_t count;
  bool isFirst = true;
  while ((count = context->calls->next_wave(context, layer)) > 0) {
    if (BesideHook hook = __atomic_load_n(&besideHook, __ATOMIC_SEQ_CST); hook && isFirst)
      hook(layer);
    isFirst = false;
    int32_t numExperts = count & (MOERT_WAVE_MORE - 1);
    if (int32_t status = numExperts ? context->calls->launch(context, expertKernel, nullptr, numExperts) : 0)
      return status;
  }
  if (count < 0)
    return count;
  for (int64_t t = 0; t < context->n; ++t)
    for (uint32_t r = 0; r < used; ++r)
      arena.hidden[t][0] += arena.products[t * kTopK + r] * (2 * r + 1);
  return 0;
}

int32_t fake::feedEntry(moert_context *context) {
  Arena &arena = *reinterpret_cast<Arena *>(context->arena);
  uint64_t blockBytes = moert_model_v1.plan.kv_block_bytes;
  if (int32_t status = context->calls->read_rows(context, 0, arena.rows))
    return status;
  auto *state = reinterpret_cast<uint32_t *>(context->state);
  const moert_kv_window &window = context->kv_window;
  auto slot = [&](int64_t position) -> int32_t & {
    int64_t block = moert_kv_physical_block(&window, position / 64);
    return *reinterpret_cast<int32_t *>(context->kv + block * blockBytes + position % 64 * 4);
  };
  for (int64_t t = 0; t < context->n; ++t)
    slot(context->position + t) = context->tokens[t];
  for (int64_t t = 0; t < context->n; ++t) {
    int64_t position = context->position + t;
    uint32_t h;
    memcpy(&h, arena.rows + t * kRowBytes, 4);
    for (int64_t q = 0; q <= position; ++q)
      if (q > position - window.window || q < window.sinks)
        h += static_cast<uint32_t>((q + 1) * slot(q));
    if (state)
      h += advanceState(state[0], state[moert_model_v1.plan.state_bytes / 4 - 1], context->tokens[t]);
    arena.hidden[t][0] = h;
  }
  for (uint32_t layer = 0; layer < kLayers; ++layer)
    if (int32_t status = runLayer(context, static_cast<int32_t>(layer)))
      return status;
  return 0;
}

int32_t fake::headEntry(moert_context *context) {
  Arena &arena = *reinterpret_cast<Arena *>(context->arena);
  for (int64_t i = 0; i < context->n; ++i)
    for (uint32_t v = 0; v < kVocab; ++v)
      arena.logits[i][v] = logit(arena.hidden[context->position + i][0], v);
  return 0;
}
