// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sizes and arithmetic of the fake model, shared by its entry functions, which also make a shared object, and by its
/// reference. No C++ library.
#ifndef TEST_UNIT_RUNTIME_FAKEENTRIES_H
#define TEST_UNIT_RUNTIME_FAKEENTRIES_H

#include "moert/Generated.h"

/// The descriptor that the API table uses. Not constant: a test fills it in for the pack that it wrote.
extern "C" __attribute__((visibility("default"))) moert_model_descriptor moert_model_v1;

namespace fake {

constexpr uint32_t kVocab = 97, kHidden = 16, kLayers = 3, kExperts = 8, kTopK = 2, kChunk = 16, kContext = 256;
constexpr uint32_t kHeadRows = 4, kRecordBytes = 32768, kRowBytes = 64;
constexpr uint64_t kResidentBytes = 1024;

inline uint32_t expertWord(uint32_t layer, uint32_t expert) { return layer * 1000003u + expert * 7919u + 17u; }
inline uint32_t rowWord(uint32_t id) { return id * 2246822519u + 3u; }
inline void route(uint32_t h, int32_t (&ids)[kTopK]) {
  ids[0] = static_cast<int32_t>(h % kExperts);
  ids[1] = static_cast<int32_t>((ids[0] + 1 + (h / kExperts) % (kExperts - 1)) % kExperts);
}
inline uint32_t pairValue(uint32_t words, uint32_t h, uint32_t rank) { return words * (2 * h + rank + 1); }
/// The recurrent state: two running hashes of the tokens, in its first and its last word.
inline uint32_t advanceState(uint32_t &first, uint32_t &last, int32_t token) {
  first = first * 31 + static_cast<uint32_t>(token);
  last = last * 2654435761u + first + 1;
  return first ^ last;
}
inline float logit(uint32_t h, uint32_t v) {
  return static_cast<float>(((h ^ (v * 2654435761u)) * 40503u >> 8) & 0xffff);
}

/// The arena.
struct Arena {
  uint32_t hidden[kChunk][kHidden];
  float logits[kHeadRows][kVocab];
  int32_t ids[kChunk * kTopK];
  uint32_t products[kChunk * kTopK];
  uint8_t rows[kChunk * kRowBytes];
};

/// Tokens in, hidden rows in the arena; the entry of prefill and of decode.
int32_t feedEntry(moert_context *context);
int32_t headEntry(moert_context *context);

using LayerHook = int32_t (*)(moert_context *, int32_t layer);
/// Called in each layer by the entry functions, if set. A non-zero answer is the entry's result.
void setLayerHook(LayerHook hook);
using BesideHook = void (*)(int32_t layer);
/// Called with the first wave of each layer, where generated code runs what needs no expert, if set.
void setBesideHook(BesideHook hook);

} // namespace fake
#endif
