// SPDX-License-Identifier: Apache-2.0
/// \file
/// How one layer of the KV cache lies in a block of 64 positions, and what that costs. Read by the plan, the kernel
/// generators and, for its constants, by the interpreter. Part of the plan step.
/// Main source: docs/architecture.md ("KV cache").
#ifndef LIB_PLAN_KVLAYOUT_H
#define LIB_PLAN_KVLAYOUT_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>

namespace moec {

/// How one element of the KV cache is stored: i8 as codes -127..127 with one f32 scale for each (token, head), i4 as
/// codes -7..7 with f16 scales for each (token, head) of keys and each (token, head, kKvValueGroup columns) of values.
enum class KvElement { f32, f16, i8, i4 };

/// Positions in one KV block, and positions in one attention span (N6).
inline constexpr int64_t kKvBlockPositions = 64;
inline constexpr int64_t kAttentionSpanPositions = 512;
/// Columns of an i4 value that share a scale; the last group of a head may be shorter.
inline constexpr int64_t kKvValueGroup = 32;
/// Largest code of an i4 element.
inline constexpr float kKvLargestNibble = 7.0f;
/// Largest head dimension that a kernel takes: twice that of any published model.
inline constexpr int64_t kKvLargestDim = 1024;

/// Values that one Hadamard transform of an i4 cache mixes: the largest power of two that divides the head.
inline int64_t kvRotationBlock(int64_t headDim) { return headDim & -headDim; }

/// Where a layer lies in the KV region: block b starts at b * blockBytes, in it the layer at layerOffset: K, K scales
/// [kvHeads][64], V, V scales [kvHeads][groups][64]. Floats: K [kvHeads][keyDim][64], V [kvHeads][64][valueDim].
/// Integers in words for dot products of four codes. i8: K [kvHeads][keyDim/4][64][4 columns], V [kvHeads][64/4]
/// [valueDim][4 positions]. i4: K [kvHeads][keyDim/8][64][4], byte j with columns 8i + j (low) and 8i + 4 + j (high);
/// V [kvHeads][64/4][valueDim/2][4 positions], within each group of n columns a byte with columns i (low) and i + n/2
/// (high). No byte holds two positions, which two threads may write.
struct KvLayout {
  int64_t kvHeads = 0;
  int64_t keyDim = 0;
  int64_t valueDim = 0;
  KvElement element = KvElement::f32;
  int64_t blockBytes = 0;
  /// 0 when the caller passes the region's address plus the layer's offset; then one kernel serves all layers.
  int64_t layerOffset = 0;
  /// Bytes of the region; only the type of the memref depends on it.
  int64_t regionBytes = 0;

  bool isPacked() const { return element == KvElement::i4; }
  bool hasScales() const { return element == KvElement::i8 || element == KvElement::i4; }
  /// Bytes of `count` codes.
  int64_t codeBytes(int64_t count) const;
  /// Bytes of one scale; 0 without scales.
  int64_t scaleBytes() const { return element == KvElement::i8 ? 4 : isPacked() ? 2 : 0; }
  /// Scales of one value of one head.
  int64_t valueGroups() const { return isPacked() ? (valueDim + kKvValueGroup - 1) / kKvValueGroup : 1; }

  /// Sums of one value in memory while they are formed: whole vectors of 16. Packed: of each group the low columns and
  /// the high ones.
  int64_t valueLanes() const { return isPacked() ? valueGroups() * kKvValueGroup : (valueDim + 15) / 16 * 16; }

  int64_t keyCodes() const { return layerOffset; }
  int64_t keyScales() const { return keyCodes() + kvHeads * kKvBlockPositions * codeBytes(keyDim); }
  int64_t valueCodes() const { return keyScales() + kvHeads * kKvBlockPositions * scaleBytes(); }
  int64_t valueScales() const { return valueCodes() + kvHeads * kKvBlockPositions * codeBytes(valueDim); }
  /// Bytes of this layer in one block; a multiple of 64.
  int64_t layerBytes() const {
    return valueScales() + kvHeads * valueGroups() * kKvBlockPositions * scaleBytes() - layerOffset;
  }
};

/// Whether there are kernels for the heads of `layout`, whose other fields are not looked at. Error: names head_dim and
/// what is supported.
llvm::Error checkKvHeads(const KvLayout &layout);

/// Bytes of `numBlocks` blocks of `numLayers` layers like `layer`, or nothing beyond 2^64.
std::optional<uint64_t> kvCacheBytes(const KvLayout &layer, uint64_t numLayers, uint64_t numBlocks);

} // namespace moec

#endif
