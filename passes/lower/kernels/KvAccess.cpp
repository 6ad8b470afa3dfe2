// SPDX-License-Identifier: Apache-2.0
/// \file
/// Addresses of KV blocks, Hadamard transform. Step: lower. Main source: docs/architecture.md ("KV cache").
#include "passes/lower/kernels/KvAccess.h"

#include "lib/Plan/KvLayout.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace moec {

MemRefType KvWindowValues::typeOf(Builder &builder) { return MemRefType::get({4}, builder.getI32Type()); }

KvWindowValues KvWindowValues::load(FloatBuilder &f, Value memref) {
  auto field = [&](int64_t number) { return f.i32ToIndex(f.load(memref, {f.index(number)})); };
  return {field(0), field(1), field(2), field(3)};
}

Value KvWindowValues::physicalBlock(FloatBuilder &f, Value number) const {
  Value turn = f.remainder(f.subtract(number, sinkBlocks), ringBlocks);
  return f.select(f.compare(arith::CmpIPredicate::slt, number, sinkBlocks), number, f.add(sinkBlocks, turn));
}

/// Butterflies of the lanes i and i + distance of one vector.
static Value emitLaneButterfly(FloatBuilder &f, Value x, int64_t distance) {
  int64_t width = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t, kFloatLanes> lower, upper, joined;
  for (int64_t lane = 0; lane < width; ++lane) {
    lower.push_back(lane & ~distance);
    upper.push_back(lane | distance);
    joined.push_back(lane & distance ? width + lane : lane);
  }
  auto shuffle = [&](Value a, Value b, ArrayRef<int64_t> lanes) -> Value {
    return vector::ShuffleOp::create(f.getBuilder(), x.getLoc(), a, b, lanes);
  };
  Value a = shuffle(x, x, lower), b = shuffle(x, x, upper);
  return shuffle(f.addf(a, b), f.subf(a, b), joined);
}

void emitHadamard(FloatBuilder &f, Value x, int64_t dim) {
  int64_t block = kvRotationBlock(dim);
  f.overVectors(dim, [&](Value column, int64_t width) {
    Value lanes = f.loadVector(x, {column}, width);
    for (int64_t distance = 1; distance < std::min(block, kFloatLanes); distance *= 2)
      lanes = emitLaneButterfly(f, lanes, distance);
    f.storeVector(lanes, x, {column});
  });
  for (int64_t distance = kFloatLanes; distance < block; distance *= 2)
    f.loop(f.index(0), f.index(dim), 2 * distance, [&](Value first) {
      f.loop(first, f.add(first, distance), kFloatLanes, [&](Value column) {
        Value other = f.add(column, distance);
        Value a = f.loadVector(x, {column}), b = f.loadVector(x, {other});
        f.storeVector(f.addf(a, b), x, {column});
        f.storeVector(f.subf(a, b), x, {other});
      });
    });
  float factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(block)));
  f.overVectors(dim, [&](Value column, int64_t width) {
    Value lanes = f.loadVector(x, {column}, width);
    f.storeVector(f.mulf(lanes, f.constantLike(lanes, factor)), x, {column});
  });
}

} // namespace moec
