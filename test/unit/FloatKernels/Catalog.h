// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels under test, as lists that the generator and the cases expand. No MLIR here: the cases are also compiled
/// for ARM. Main source: passes/lower/kernels/FloatKernels.h.
#ifndef TEST_UNIT_FLOATKERNELS_CATALOG_H
#define TEST_UNIT_FLOATKERNELS_CATALOG_H

#include <cstdint>

constexpr int64_t kMaxTokens = 8;
constexpr int64_t kContext = 1216; // 19 blocks: two whole spans and a part
constexpr int64_t kNumBlocks = kContext / 64;

// X(name, encoding, columns, rowBytes, group, multiplier)
#define EMBED_KERNELS(X)                                                                                               \
  X(embed_f32, f32, 40, 160, 32, 1.0f)                                                                                 \
  X(embed_f16, f16, 40, 80, 32, 1.0f)                                                                                  \
  X(embed_i8, i8, 96, 104, 32, 1.0f)                                                                                   \
  X(embed_i8m, i8m, 96, 108, 32, 1.0f)                                                                                 \
  X(embed_i6, i6, 96, 80, 32, 1.0f)                                                                                    \
  X(embed_i6_wide, i6, 256, 196, 128, 11.25f)                                                                          \
  X(embed_i4m, i4m, 128, 72, 64, 11.25f)                                                                               \
  X(embed_i4, i4, 128, 68, 64, 11.25f)

// X(name, columns, unitOffset, storesFloat, group)
#define NORM_KERNELS(X)                                                                                                \
  X(norm_f32, 50, false, true, 0)                                                                                      \
  X(norm_both, 128, true, true, 32)                                                                                    \
  X(norm_codes, 256, false, false, 64)

// X(name, columns, group)
#define QUANTIZE_KERNELS(X)                                                                                            \
  X(quantize_32, 96, 32)                                                                                               \
  X(quantize_128, 256, 128)

// X(name, heads, kvHeads, keyDim, valueDim, element, layerOffset, rotaryDim, headNorms, unitOffset)
#define ROPE_KERNELS(X)                                                                                                \
  X(rope_f32, 4, 2, 32, 32, f32, 0, 32, true, false)                                                                   \
  X(rope_f16, 2, 1, 80, 48, f16, 64, 24, false, false)                                                                 \
  X(rope_i8, 4, 2, 24, 40, i8, 128, 16, true, false)                                                                   \
  X(rope_f32_256, 1, 1, 256, 256, f32, 0, 64, true, true)                                                              \
  X(rope_i8_112, 2, 1, 112, 112, i8, 0, 112, true, false)                                                              \
  X(rope_i4, 4, 2, 24, 40, i4, 128, 16, true, true)                                                                    \
  X(rope_i4_long, 2, 1, 192, 256, i4, 0, 64, false, false)                                                             \
  X(rope_i8_256, 2, 1, 256, 256, i8, 0, 64, true, true)                                                                \
  X(rope_i4_even, 1, 1, 128, 64, i4, 0, 128, true, false)

// X(name, heads, kvHeads, keyDim, valueDim, element, layerOffset)
#define ATTENTION_KERNELS(X)                                                                                           \
  X(attention_f32, 4, 2, 32, 32, f32, 0)                                                                               \
  X(attention_f16, 2, 1, 80, 48, f16, 64)                                                                              \
  X(attention_i8, 4, 2, 24, 40, i8, 128)                                                                               \
  X(attention_i8_wide, 2, 1, 128, 144, i8, 0)                                                                          \
  X(attention_i4, 4, 2, 24, 40, i4, 128)                                                                               \
  X(attention_f16_24, 4, 2, 24, 24, f16, 0)                                                                            \
  X(attention_f32_40, 2, 1, 40, 40, f32, 0)                                                                            \
  X(attention_f16_64, 2, 2, 64, 64, f16, 0)                                                                            \
  X(attention_f32_80, 2, 1, 80, 80, f32, 0)                                                                            \
  X(attention_i8_112, 2, 1, 112, 112, i8, 0)                                                                           \
  X(attention_f16_128, 1, 1, 128, 128, f16, 0)                                                                         \
  X(attention_f32_192, 2, 1, 192, 192, f32, 0)                                                                         \
  X(attention_i8_256, 1, 1, 256, 256, i8, 0)                                                                           \
  X(attention_f32_256, 1, 1, 256, 256, f32, 0)                                                                         \
  X(attention_f16_112, 3, 1, 112, 112, f16, 0)                                                                         \
  X(attention_i8_96, 2, 2, 96, 96, i8, 0)                                                                              \
  X(attention_i8_192, 1, 1, 192, 192, i8, 0)                                                                           \
  X(attention_i4_24, 2, 1, 24, 24, i4, 0)                                                                              \
  X(attention_i4_40, 2, 2, 40, 40, i4, 0)                                                                              \
  X(attention_i4_64, 1, 1, 64, 64, i4, 0)                                                                              \
  X(attention_i4_80, 1, 1, 80, 80, i4, 0)                                                                              \
  X(attention_i4_96, 1, 1, 96, 96, i4, 0)                                                                              \
  X(attention_i4_112, 1, 1, 112, 112, i4, 0)                                                                           \
  X(attention_i4_128, 2, 1, 128, 128, i4, 0)                                                                           \
  X(attention_i4_192, 1, 1, 192, 192, i4, 0)                                                                           \
  X(attention_i4_256, 1, 1, 256, 256, i4, 0)                                                                           \
  X(attention_i8_shared_8, 16, 2, 128, 128, i8, 0)                                                                     \
  X(attention_i8_shared_7, 14, 2, 32, 24, i8, 64)                                                                      \
  X(attention_i8_shared_16, 16, 1, 24, 32, i8, 0)                                                                      \
  X(attention_i8_alone, 2, 2, 32, 72, i8, 0)                                                                           \
  X(attention_i4_shared_8, 8, 1, 128, 96, i4, 0)                                                                       \
  X(attention_i4_shared_5, 10, 2, 32, 56, i4, 64)                                                                      \
  X(attention_f16_shared_6, 6, 1, 32, 40, f16, 0)

constexpr int64_t kSplits = 2;
constexpr int64_t kMaxSpans = (kContext + 511) / 512;

/// Units of attention: as many query heads as share a KV head and divide it into parts of at most 8.
constexpr int64_t attentionUnits(int64_t heads, int64_t kvHeads) {
  int64_t shared = heads / kvHeads, each = shared < 8 ? shared : 8;
  while (shared % each != 0)
    --each;
  return heads / each;
}

// X(name, experts, topK, score, renormalize, renormEpsilon, factor)
#define ROUTER_KERNELS(X)                                                                                              \
  X(router_softmax, 16, 4, softmax, true, 0.0f, 1.0f)                                                                  \
  X(router_tail, 60, 6, softmax, false, 0.0f, 1.0f)                                                                    \
  X(router_sigmoid, 128, 8, sigmoid, true, 1e-20f, 2.5f)                                                               \
  X(router_none, 9, 9, none, false, 0.0f, 1.0f)

// X(name, columns, topK)
#define COMBINE_KERNELS(X)                                                                                             \
  X(combine_4, 50, 4)                                                                                                  \
  X(combine_1, 64, 1)

// X(name, columns, group)
#define GLU_KERNELS(X)                                                                                                 \
  X(glu_f32, 50, 0)                                                                                                    \
  X(glu_32, 96, 32)                                                                                                    \
  X(glu_128, 256, 128)

// X(name, columns, isPerToken, activation, hasResidual, group)
#define GATE_KERNELS(X)                                                                                                \
  X(gate_f32, 50, false, sigmoid, false, 0)                                                                            \
  X(gate_silu, 96, false, silu, false, 32)                                                                             \
  X(gate_codes, 128, false, sigmoid, false, 64)                                                                        \
  X(gate_token, 50, true, sigmoid, true, 0)                                                                            \
  X(gate_residual, 64, false, sigmoid, true, 0)                                                                        \
  X(gate_one, 1, false, sigmoid, false, 0)

constexpr int64_t kDeltaTokens = 64;

// X(name, keyHeads, valueHeads, keyDim, valueDim, length, perChannel, tiled, sigmoid, group)
#define DELTA_KERNELS(X)                                                                                               \
  X(delta_16, 2, 4, 16, 16, 4, false, false, false, 0)                                                                 \
  X(delta_odd, 3, 3, 24, 40, 4, false, false, true, 0)                                                                 \
  X(delta_tiled, 2, 6, 8, 80, 3, false, true, false, 0)                                                                \
  X(delta_channels, 1, 3, 20, 32, 2, true, false, false, 32)                                                           \
  X(delta_128, 1, 2, 128, 128, 4, false, true, false, 64)                                                              \
  X(delta_narrow, 5, 5, 3, 7, 4, true, true, true, 0)

/// Bytes that a KV layer has in a block, and the offsets of its parts (include/moert and the pack format's notes).
struct KvShape {
  int64_t kvHeads, keyDim, valueDim, elementBits, layerOffset;
  constexpr int64_t scaleBytes() const { return elementBits == 8 ? 4 : elementBits == 4 ? 2 : 0; }
  constexpr int64_t valueGroups() const { return elementBits == 4 ? (valueDim + 31) / 32 : 1; }
  constexpr int64_t valueLanes() const { return elementBits == 4 ? valueGroups() * 32 : (valueDim + 15) / 16 * 16; }
  constexpr int64_t keyCodes() const { return layerOffset; }
  constexpr int64_t keyScales() const { return keyCodes() + kvHeads * keyDim * 64 * elementBits / 8; }
  constexpr int64_t valueCodes() const { return keyScales() + kvHeads * 64 * scaleBytes(); }
  constexpr int64_t valueScales() const { return valueCodes() + kvHeads * valueDim * 64 * elementBits / 8; }
  constexpr int64_t blockBytes() const { return valueScales() + kvHeads * valueGroups() * 64 * scaleBytes() + 64; }
  constexpr int64_t regionBytes() const { return blockBytes() * kNumBlocks; }
};

namespace element {
constexpr int64_t f32 = 32, f16 = 16, i8 = 8, i4 = 4;
}

#endif
