// SPDX-License-Identifier: Apache-2.0
/// \file
/// A block of attention over a cache of floats: f32 dot products, head after head. Step: lower.
/// Main source: docs/architecture.md ("KV cache").
#include "passes/lower/kernels/AttentionBlocks.h"

#include <cmath>

using namespace mlir;

namespace moec {

namespace {

class FloatBlocks final : public AttentionBlocks {
public:
  FloatBlocks(FloatBuilder &f, const AttentionSpec &spec, Isa isa, Value q, Value region, const AttentionRows &rows)
      : AttentionBlocks(f, spec, q, region, rows),
        // 8 of the 32 registers of 128 bits on ARM leave room for the conversion of halves.
        stripVectors(familyOf(isa) == LayoutFamily::Arm64 ? 2 : 4), weights(f.scratch(kPositions, f.f32())) {}

  void emitQueries(Value, Value, Value) override {}
  void emitBlock(const BlockView &view) override {
    overRows([&](Value number) { emitRow(view, number); });
  }

private:
  using Range = FloatBuilder::Range;

  Value load(Value offset, int64_t width) {
    if (kv.element == KvElement::f32)
      return f.loadBytes(region, offset, f.f32(), width);
    return f.fromHalf(f.loadBytes(region, offset, f.getBuilder().getF16Type(), width));
  }
  void emitRow(const BlockView &view, Value number);
  /// Dots of the query with the keys at `keys`: a strip of positions, d ascending.
  Values emitDots(const BlockView &view, Value keys, Value firstColumn);
  /// o = fma(p, v, o * correction) over the visible positions of the block, for `numVectors` vectors from `column` on,
  /// the last of them with `lastWidth` lanes.
  void emitStrip(const BlockView &view, Value values, Value row, Value correction, Value column, int64_t numVectors,
                 int64_t lastWidth);

  /// Vectors of sums that stay in registers in an inner loop. No result depends on it.
  int64_t stripVectors;
  Value weights; // f32 [64]: p
};

FloatBlocks::Values FloatBlocks::emitDots(const BlockView &view, Value keys, Value firstColumn) {
  const int64_t rowBytes = kPositions * kv.codeBytes(1);
  return f.loop(f.index(0), f.index(kv.keyDim), 1, Values(stripVectors, f.zeroVector()),
                [&](Value column, ValueRange carried) {
                  Value row = f.add(keys, f.multiply(column, rowBytes));
                  Value x = f.splat(f.load(q, {view.token, f.add(firstColumn, column)}));
                  Values next;
                  for (auto [i, sum] : llvm::enumerate(carried)) {
                    Value at = f.add(row, (int64_t)i * rowBytes / kBlockVectors);
                    next.push_back(f.fma(x, load(at, kFloatLanes), sum));
                  }
                  return next;
                });
}

void FloatBlocks::emitStrip(const BlockView &view, Value values, Value row, Value correction, Value column,
                            int64_t numVectors, int64_t lastWidth) {
  auto widthOf = [&](int64_t vector) { return vector == numVectors - 1 ? lastWidth : kFloatLanes; };
  Value place = f.add(f.multiply(row, rows.stride), column);
  Values start;
  for (int64_t i = 0; i < numVectors; ++i) {
    Value old = f.loadVector(rows.sums, {f.add(place, i * kFloatLanes)}, widthOf(i));
    start.push_back(f.mulf(old, f.splat(correction, widthOf(i))));
  }
  Value begin = f.add(values, f.multiply(column, kv.codeBytes(1)));
  Range sinks{f.index(0), f.index(0)}, recent{f.index(0), f.index(kPositions)};
  if (!view.isWhole()) {
    sinks.end = view.sinkEnd;
    recent = {view.windowBegin, view.windowEnd};
  }
  auto body = [&](Value slot, ValueRange carried) {
    Value at = f.add(begin, f.multiply(slot, kv.codeBytes(kv.valueDim)));
    Value weight = f.load(weights, {slot});
    Values next;
    for (auto [i, sum] : llvm::enumerate(carried)) {
      Value v = load(f.add(at, kv.codeBytes((int64_t)i * kFloatLanes)), widthOf(i));
      next.push_back(f.fma(f.splat(weight, widthOf(i)), v, sum));
    }
    return next;
  };
  Values end = view.isWhole() ? f.loop(recent.begin, recent.end, 1, start, body) : f.loop(sinks, recent, start, body);
  for (auto [i, sum] : llvm::enumerate(end))
    f.storeVector(sum, rows.sums, {f.add(place, (int64_t)i * kFloatLanes)});
}

void FloatBlocks::emitRow(const BlockView &view, Value number) {
  const int64_t keyBytes = kPositions * kv.codeBytes(1);
  Value row = f.add(view.row, number), firstColumn = f.multiply(f.add(view.firstHead, number), kv.keyDim);
  Value keys = f.add(f.add(view.block, f.multiply(view.kvHead, keyBytes * kv.keyDim)), kv.keyCodes());
  Values scores, seen;
  for (int64_t first = 0; first < kBlockVectors; first += stripVectors)
    scores.append(emitDots(view, f.add(keys, first * keyBytes / kBlockVectors), firstColumn));
  Value lanes = f.constantLike(f.zeroVector(), -INFINITY), lowest = lanes;
  for (auto [i, score] : llvm::enumerate(scores)) {
    seen.push_back(view.seen(f, f.index(i * kFloatLanes)));
    score = f.mulf(score, f.constantLike(score, spec.scale));
    if (seen.back())
      score = f.select(seen.back(), score, lowest);
    lanes = f.maxIgnoringNan(score, lanes);
  }
  Value before = f.load(rows.largest, {row}), largest = f.maxIgnoringNan(f.treeMax(lanes), before);
  Value correction = f.exp(f.subf(before, largest)), sum = f.zeroVector();
  for (auto [i, score] : llvm::enumerate(scores)) {
    // What is not seen has the score -inf, so p = 0.
    Value weight = f.exp(f.subf(score, f.splat(largest)));
    sum = f.addf(sum, weight);
    f.storeVector(weight, weights, {f.index(i * kFloatLanes)});
  }
  f.store(largest, rows.largest, {row});
  f.store(f.fma(f.load(rows.total, {row}), correction, f.treeSum(sum)), rows.total, {row});
  Value values =
      f.add(f.add(view.block, f.multiply(view.kvHead, kPositions * kv.codeBytes(kv.valueDim))), kv.valueCodes());
  int64_t stripColumns = stripVectors * kFloatLanes, whole = kv.valueDim / stripColumns * stripColumns;
  if (whole > 0)
    f.loop(f.index(0), f.index(whole), stripColumns,
           [&](Value column) { emitStrip(view, values, row, correction, column, stripVectors, kFloatLanes); });
  if (int64_t rest = kv.valueDim - whole; rest > 0) {
    int64_t numVectors = (rest + kFloatLanes - 1) / kFloatLanes;
    emitStrip(view, values, row, correction, f.index(whole), numVectors, rest - (numVectors - 1) * kFloatLanes);
  }
}

} // namespace

std::unique_ptr<AttentionBlocks> makeFloatBlocks(FloatBuilder &f, const AttentionSpec &spec, Isa isa, Value q,
                                                 Value region, const AttentionRows &rows) {
  return std::make_unique<FloatBlocks>(f, spec, isa, q, region, rows);
}

} // namespace moec
