// SPDX-License-Identifier: Apache-2.0
/// \file
/// The KV cache of one layer, and attention to it. Main source: docs/architecture.md ("Numerics", "KV cache").
#ifndef LIB_REFERENCE_KVCACHE_H
#define LIB_REFERENCE_KVCACHE_H

#include "lib/Reference/Matrix.h"

namespace moec {

enum class KvElement { f32, f16, i8 };

struct KvShape {
  int64_t heads = 0, keyDim = 0, valueDim = 0, capacity = 0;
  KvElement element = KvElement::f32;

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

  /// softmax(scale * q kᵀ) v over the first `numVisible` positions of one head, in blocks of 64 and spans of 512.
  /// Shapes: q [keyDim], o [valueDim]; 1 <= numVisible <= numPositions().
  void attend(int64_t head, llvm::ArrayRef<float> q, int64_t numVisible, float scale,
              llvm::MutableArrayRef<float> o) const;

private:
  static constexpr int64_t kBlock = 64, kSpan = 512;

  /// 64 positions of one head: codes as floats, so that one loop serves all elements.
  struct Block {
    std::vector<float> keys;   // [keyDim][64]
    std::vector<float> values; // [64][valueDim]
    float keyScales[kBlock] = {};
    float valueScales[kBlock] = {};
  };
  /// o, its largest score and the sum of its weights.
  struct Partial;

  float store(llvm::ArrayRef<float> x, llvm::MutableArrayRef<float> out) const;
  void addBlock(const Block &block, llvm::ArrayRef<float> q, int64_t numValid, float scale, Partial &span) const;

  KvShape kvShape;
  std::vector<std::vector<Block>> blocks; // [head][position / 64]
  int64_t filled = 0;
};

} // namespace moec

#endif
