// SPDX-License-Identifier: Apache-2.0
/// \file
/// The KV cache of one layer, and attention to it. Main source: docs/architecture.md ("Numerics", "KV cache").
#ifndef LIB_REFERENCE_KVCACHE_H
#define LIB_REFERENCE_KVCACHE_H

#include "lib/Plan/KvLayout.h"
#include "lib/Reference/Matrix.h"

namespace moec {

struct KvShape {
  int64_t heads = 0, keyDim = 0, valueDim = 0, capacity = 0;
  KvElement element = KvElement::f32;
  int64_t window = 0, sinks = 0; // window 0: every position is seen

  bool hasScales() const { return element == KvElement::i8 || element == KvElement::i4; }
  /// Columns of a value that share a scale.
  int64_t valueGroup() const { return element == KvElement::i4 ? kKvValueGroup : valueDim; }

  friend bool operator==(const KvShape &, const KvShape &) = default;
};

/// Keys and values of the positions so far. Grows by blocks of 64 positions. Not thread-safe.
class KvCache {
public:
  explicit KvCache(const KvShape &shape) : kvShape(shape), blocks(shape.heads) {}

  const KvShape &shape() const { return kvShape; }
  int64_t numPositions() const { return filled; }

  /// Writes rows k [heads * keyDim] and v [heads * valueDim] at position, position + 1, …; later positions are
  /// forgotten. Errors: a gap before `position`; the capacity is exceeded.
  llvm::Error append(const FloatTensor &k, const FloatTensor &v, int64_t position);

  /// softmax(scale * q kᵀ) v of one head for the token at position p = numCausal - 1, over the positions q <= p with q
  /// > p - window or q < sinks, in blocks of 64 and spans of 512. Shapes: q [keyDim], o [valueDim]; 1 <= numCausal <=
  /// numPositions().
  void attend(int64_t head, llvm::ArrayRef<float> q, int64_t numCausal, float scale,
              llvm::MutableArrayRef<float> o) const;

private:
  static constexpr int64_t kBlock = kKvBlockPositions, kSpan = kAttentionSpanPositions;

  /// 64 positions of one head: codes as floats, so that one loop serves all elements.
  struct Block {
    std::vector<float> keys;   // [keyDim][64]
    std::vector<float> values; // [64][valueDim]
    float keyScales[kBlock] = {};
    std::vector<float> valueScales; // [groups][64]
  };
  /// o, its largest score and the sum of its weights.
  struct Partial;

  float store(llvm::ArrayRef<float> x, llvm::MutableArrayRef<float> out) const;
  /// Adds the positions of block `number` that the token at `numCausal` - 1 sees. `q` has codes where the cache has,
  /// and the factor of scores has their scale.
  void addBlock(int64_t head, int64_t number, llvm::ArrayRef<float> q, int64_t numCausal, float scale,
                Partial &span) const;
  bool isSeen(int64_t position, int64_t numCausal) const {
    return position < numCausal &&
           (kvShape.window == 0 || position >= numCausal - kvShape.window || position < kvShape.sinks);
  }

  KvShape kvShape;
  std::vector<std::vector<Block>> blocks; // [head][position / 64]
  int64_t filled = 0;
};

} // namespace moec

#endif
