// SPDX-License-Identifier: Apache-2.0
/// \file
/// A block of attention over an integer cache: scores and weighted values are integer dot products, softmax is f32.
/// Step: lower. Main source: docs/architecture.md ("KV cache"), docs/decisions/0011.
#include "passes/lower/kernels/AttentionBlocks.h"
#include "passes/lower/kernels/KvDots.h"

#include <cmath>

using namespace mlir;

namespace moec {

namespace {

class IntegerBlocks final : public AttentionBlocks {
public:
  IntegerBlocks(FloatBuilder &f, const AttentionSpec &spec, Isa isa, Value q, Value region, const AttentionRows &rows,
                int64_t numRows)
      : AttentionBlocks(f, spec, q, region, rows), dots(f, isa, region, kv.isPacked()),
        query(kv.isPacked() ? f.scratch(kv.keyDim, f.f32()) : Value()), codes(f.scratch(numRows * kv.keyDim, f.i8())),
        factors(f.scratch(numRows, f.f32())), starts(dots.keyBias() ? f.scratch(numRows, f.i32()) : Value()),
        weights(f.scratch(rows.rowsEach * kPositions, f.f32())),
        scaled(kv.valueGroups() > 1 ? f.scratch(rows.rowsEach * kPositions, f.f32()) : weights),
        weightCodes(f.scratch(rows.rowsEach * kPositions, f.i8())),
        lanes(f.scratch(rows.rowsEach * kFloatLanes, f.f32())), tops(f.scratch(rows.rowsEach * kFloatLanes, f.f32())),
        corrections(f.scratch(rows.rowsEach, f.f32())), inverses(f.scratch(rows.rowsEach, f.f32())),
        weightScales(f.scratch(rows.rowsEach, f.f32())) {}

  void emitQueries(Value token, Value row, Value firstHead) override;
  void emitBlock(const BlockView &view) override;

private:
  /// Strips of at most rowsAtOnce() rows of a token: first row and number.
  void overRowStrips(function_ref<void(Value, int64_t)> body);
  /// 16 lanes of each row at `memref` go through `tree`, to a lane for each row.
  Value overLanes(Value memref, function_ref<Value(ArrayRef<Value>)> tree);
  Value loadRows(Value memref, Value row) { return f.loadVector(memref, {row}, rows.rowsEach); }
  Value at(Value row, int64_t each, Value offset) { return f.add(f.multiply(row, each), offset); }
  /// Byte of the layer's scales at `scales`, of row `row` of 64 of them.
  Value scalesAt(Value block, int64_t scales, Value row) {
    return f.add(f.add(block, f.multiply(row, kPositions * kv.scaleBytes())), scales);
  }
  /// 16 scales from byte `at` plus `position` scales on.
  Value loadScales(Value at, Value position);

  void askForScales(const BlockView &view);
  void emitScores(const BlockView &view);
  /// m' and the correction of each row.
  void emitMaxima(const BlockView &view);
  /// p and l. Without groups of values also p * scale and its maxima.
  void emitWeights(const BlockView &view);
  Value emitScaled(const BlockView &view, Value weight, Value scalesAt, Value position);
  /// p * scale of a group of values, and its maxima.
  void emitGroupWeights(const BlockView &view, Value scalesAt);
  /// Codes of p * scale.
  void emitWeightCodes();
  /// o = fma(float(isum), weight scale, o * correction) of the lanes from `lane` on, whose bytes start at `cache`.
  void emitValues(const BlockView &view, Value cache, Value ahead, Value lane, int64_t numVectors, Value row,
                  int64_t numRows);

  KvDots dots;
  Value query;        // f32 [keyDim]: the transformed query (i4)
  Value codes;        // i8 [rows * keyDim]: queries
  Value factors;      // f32 [rows]: scale of a query * scale of the scores
  Value starts;       // i32 [rows]: what sums of a row start at
  Value weights;      // f32 [rowsEach * 64]: scores, then p; without groups p * scale
  Value scaled;       // the same: p * scale of the group
  Value weightCodes;  // i8 [rowsEach * 64]
  Value lanes, tops;  // f32 [rowsEach * 16]: what a tree joins
  Value corrections;  // f32 [rowsEach]
  Value inverses;     // f32 [rowsEach]: 127 / largest weight
  Value weightScales; // f32 [rowsEach]
};

void IntegerBlocks::overRowStrips(function_ref<void(Value, int64_t)> body) {
  int64_t most = std::min(dots.rowsAtOnce(), rows.numHeads), whole = rows.numHeads / most * most;
  if (whole == most)
    body(f.index(0), most);
  else
    f.loop(f.index(0), f.index(whole), most, [&](Value row) { body(row, most); });
  if (whole < rows.numHeads)
    body(f.index(whole), rows.numHeads - whole);
}

Value IntegerBlocks::overLanes(Value memref, function_ref<Value(ArrayRef<Value>)> tree) {
  Values each;
  for (int64_t row = 0; row < rows.rowsEach; ++row) // rows that are not in use repeat the last one
    each.push_back(f.loadVector(memref, {f.index(std::min(row, rows.numHeads - 1) * kFloatLanes)}));
  return tree(each);
}

Value IntegerBlocks::loadScales(Value at, Value position) {
  Value from = f.add(at, f.multiply(position, kv.scaleBytes()));
  if (!kv.isPacked())
    return f.loadBytes(region, from, f.f32(), kFloatLanes);
  return f.fromHalf(f.loadBytes(region, from, f.getBuilder().getF16Type(), kFloatLanes));
}

void IntegerBlocks::emitQueries(Value token, Value firstRow, Value firstHead) {
  overRows([&](Value number) {
    Value row = f.add(firstRow, number), firstColumn = f.multiply(f.add(firstHead, number), kv.keyDim);
    auto load = [&](Value column, int64_t width) {
      return query ? f.loadVector(query, {column}, width) : f.loadVector(q, {token, f.add(firstColumn, column)}, width);
    };
    if (query) {
      f.overVectors(kv.keyDim, [&](Value column, int64_t width) {
        f.storeVector(f.loadVector(q, {token, f.add(firstColumn, column)}, width), query, {column});
      });
      emitHadamard(f, query, kv.keyDim);
    }
    Value most = f.overVectors(kv.keyDim, f.zeroVector(), [&](Value column, int64_t width, ValueRange carried) {
      return Values{f.maxIgnoringNan(f.padded(f.abs(load(column, width))), carried[0])};
    })[0];
    FloatBuilder::CodeScale scale = f.codeScale(f.treeMax(most));
    Value firstCode = f.multiply(row, kv.keyDim), zeros = f.integerLike(f.vectorOf(f.i32()), 0);
    Value sums = f.overVectors(kv.keyDim, zeros, [&](Value column, int64_t width, ValueRange carried) {
      Value encoded = f.encode(load(column, width), scale.inverse);
      f.storeVector(f.narrowToBytes(encoded), codes, {f.add(firstCode, column)});
      return Values{f.add(f.padded(encoded, zeros), carried[0])};
    })[0];
    f.store(f.mulf(scale.scale, f.constant(spec.scale)), factors, {row});
    if (starts) {
      Value sum = vector::ReductionOp::create(f.getBuilder(), q.getLoc(), vector::CombiningKind::ADD, sums);
      f.store(f.multiply32(sum, -dots.keyBias()), starts, {row});
    }
  });
}

void IntegerBlocks::emitScores(const BlockView &view) {
  const int64_t bytesOfHead = kPositions * kv.codeBytes(kv.keyDim), columnsEach = kv.isPacked() ? 8 : 4;
  const int64_t stepBytes = kPositions * 4;
  auto keysOf = [&](Value block) { return f.add(f.add(block, f.multiply(view.kvHead, bytesOfHead)), kv.keyCodes()); };
  Value keys = keysOf(view.block), ahead = view.next ? keysOf(view.next) : Value();
  Value scales = scalesAt(view.block, kv.keyScales(), view.kvHead);
  Value lowest = f.constantLike(f.zeroVector(), -INFINITY);
  overRowStrips([&](Value first, int64_t numRows) {
    int64_t numVectors = dots.vectorsAtOnce(numRows, true);
    f.loop(f.index(0), f.index(kPositions), numVectors * kFloatLanes, [&](Value position) {
      Value row = f.add(view.row, first), offset = f.multiply(position, 4);
      Value asked = ahead ? f.add(ahead, f.multiply(position, kv.codeBytes(kv.keyDim))) : Value();
      Values start;
      for (int64_t i = 0; starts && i < numRows; ++i)
        start.push_back(f.load(starts, {f.add(row, i)}));
      Values sums = dots.keySums({codes, f.multiply(row, kv.keyDim), kv.keyDim, numRows, f.add(keys, offset), stepBytes,
                                  kv.keyDim / columnsEach, numVectors, asked},
                                 start);
      for (int64_t vector = 0; vector < numVectors; ++vector) {
        Value from = f.add(position, vector * kFloatLanes), scale = loadScales(scales, from);
        Value seen = view.seen(f, from);
        for (int64_t i = 0; i < numRows; ++i) {
          Value factor = f.mulf(scale, f.splat(f.load(factors, {f.add(row, i)})));
          Value score = f.mulf(f.toFloat(sums[i * numVectors + vector]), factor);
          score = seen ? f.select(seen, score, lowest) : score;
          f.storeVector(score, weights, {at(f.add(first, i), kPositions, from)});
        }
      }
    });
    ahead = Value();
  });
}

void IntegerBlocks::emitMaxima(const BlockView &view) {
  Value lowest = f.constantLike(f.zeroVector(), -INFINITY);
  overRows([&](Value row) {
    Value most = lowest;
    for (int64_t i = 0; i < kBlockVectors; ++i)
      most = f.maxIgnoringNan(f.loadVector(weights, {at(row, kPositions, f.index(i * kFloatLanes))}), most);
    f.storeVector(most, lanes, {f.multiply(row, kFloatLanes)});
  });
  Value before = loadRows(rows.largest, view.row);
  Value now = f.maxIgnoringNan(overLanes(lanes, [&](ArrayRef<Value> each) { return f.treeMaxima(each); }), before);
  f.storeVector(now, rows.largest, {view.row});
  f.storeVector(f.exp(f.subf(before, now)), corrections, {f.index(0)});
}

Value IntegerBlocks::emitScaled(const BlockView &view, Value weight, Value scalesAt, Value position) {
  Value scale = loadScales(scalesAt, position), seen = view.seen(f, position);
  if (seen)
    scale = f.select(seen, scale, f.zeroVector());
  return f.mulf(weight, scale);
}

void IntegerBlocks::emitWeights(const BlockView &view) {
  Value scales = scalesAt(view.block, kv.valueScales(), view.kvHead);
  overRows([&](Value row) {
    Value largest = f.splat(f.load(rows.largest, {f.add(view.row, row)}));
    Value sum = f.zeroVector(), most = f.zeroVector();
    for (int64_t i = 0; i < kBlockVectors; ++i) {
      Value position = f.index(i * kFloatLanes), place = at(row, kPositions, position);
      // What is not seen has the score -inf, so p = 0.
      Value weight = f.exp(f.subf(f.loadVector(weights, {place}), largest));
      sum = f.addf(sum, weight);
      if (kv.valueGroups() == 1) {
        weight = emitScaled(view, weight, scales, position);
        most = f.maxIgnoringNan(weight, most);
      }
      f.storeVector(weight, weights, {place});
    }
    f.storeVector(sum, lanes, {f.multiply(row, kFloatLanes)});
    f.storeVector(most, tops, {f.multiply(row, kFloatLanes)});
  });
  Value sums = overLanes(lanes, [&](ArrayRef<Value> each) { return f.treeSums(each); });
  Value total = f.fma(loadRows(rows.total, view.row), loadRows(corrections, f.index(0)), sums);
  f.storeVector(total, rows.total, {view.row});
}

void IntegerBlocks::emitGroupWeights(const BlockView &view, Value scalesAt) {
  overRows([&](Value row) {
    Value most = f.zeroVector();
    for (int64_t i = 0; i < kBlockVectors; ++i) {
      Value position = f.index(i * kFloatLanes), place = at(row, kPositions, position);
      Value weight = emitScaled(view, f.loadVector(weights, {place}), scalesAt, position);
      most = f.maxIgnoringNan(weight, most);
      f.storeVector(weight, scaled, {place});
    }
    f.storeVector(most, tops, {f.multiply(row, kFloatLanes)});
  });
}

void IntegerBlocks::emitWeightCodes() {
  Value most = overLanes(tops, [&](ArrayRef<Value> each) { return f.treeMaxima(each); });
  FloatBuilder::CodeScale scale = f.codeScale(most);
  f.storeVector(scale.inverse, inverses, {f.index(0)});
  f.storeVector(scale.scale, weightScales, {f.index(0)});
  overRows([&](Value row) {
    Value inverse = f.splat(f.load(inverses, {row}));
    for (int64_t i = 0; i < kBlockVectors; ++i) {
      Value place = at(row, kPositions, f.index(i * kFloatLanes));
      Value code = f.encodeUnsigned(f.mulf(f.loadVector(scaled, {place}), inverse));
      f.storeVector(f.narrowToBytes(code), weightCodes, {place});
    }
  });
}

void IntegerBlocks::emitValues(const BlockView &view, Value cache, Value ahead, Value lane, int64_t numVectors,
                               Value first, int64_t numRows) {
  const int64_t stepBytes = 4 * kv.codeBytes(kv.valueDim), numSteps = kPositions / 4;
  Values sums = dots.valueSums(
      {weightCodes, f.multiply(first, kPositions), kPositions, numRows, cache, stepBytes, numSteps, numVectors, ahead});
  const int64_t lanesEach = (int64_t)sums.size() / numRows;
  for (int64_t i = 0; i < numRows; ++i) {
    Value row = f.add(first, i), to = at(f.add(view.row, row), rows.stride, lane);
    Value correction = f.splat(f.load(corrections, {row})), scale = f.splat(f.load(weightScales, {row}));
    for (int64_t vector = 0; vector < lanesEach; ++vector) {
      Value place = f.add(to, vector * kFloatLanes);
      Value old = f.mulf(f.loadVector(rows.sums, {place}), correction);
      f.storeVector(f.fma(f.toFloat(sums[i * lanesEach + vector]), scale, old), rows.sums, {place});
    }
  }
}

void IntegerBlocks::askForScales(const BlockView &view) {
  auto ask = [&](int64_t scales, int64_t numGroups) {
    int64_t bytes = numGroups * kPositions * kv.scaleBytes();
    Value first = f.add(f.add(view.next, f.multiply(view.kvHead, bytes)), scales);
    for (int64_t line = 0; line < bytes; line += 64)
      f.prefetch(region, f.add(first, line));
  };
  ask(kv.keyScales(), 1);
  ask(kv.valueScales(), kv.valueGroups());
}

void IntegerBlocks::emitBlock(const BlockView &view) {
  if (view.next)
    askForScales(view);
  emitScores(view);
  emitMaxima(view);
  emitWeights(view);
  const int64_t bytesOfHead = kPositions * kv.codeBytes(kv.valueDim);
  auto valuesOf = [&](Value block) {
    return f.add(f.add(block, f.multiply(view.kvHead, bytesOfHead)), kv.valueCodes());
  };
  Value values = valuesOf(view.block), ahead = view.next ? valuesOf(view.next) : Value();
  auto strip = [&](Value lane, int64_t numVectors, Value row, int64_t numRows) {
    // A lane is 4 bytes, or 2 of packed codes.
    Value offset = f.multiply(lane, kv.codeBytes(8) / 2);
    Value asked = ahead ? f.add(ahead, f.multiply(lane, kv.codeBytes(kPositions))) : Value();
    emitValues(view, f.add(values, offset), asked, lane, numVectors, row, numRows);
  };
  if (kv.isPacked()) {
    // A group of 32 columns is one vector in memory. The last one may be shorter; behind it the region goes on.
    f.loop(f.index(0), f.index(kv.valueGroups()), 1, [&](Value group) {
      Value row = f.add(f.multiply(view.kvHead, kv.valueGroups()), group);
      if (kv.valueGroups() > 1)
        emitGroupWeights(view, scalesAt(view.block, kv.valueScales(), row));
      emitWeightCodes();
      overRowStrips([&](Value first, int64_t numRows) { strip(f.multiply(group, kKvValueGroup), 1, first, numRows); });
    });
    return;
  }
  emitWeightCodes();
  overRowStrips([&](Value first, int64_t numRows) {
    int64_t numVectors = dots.vectorsAtOnce(numRows, false), lanesEach = numVectors * kFloatLanes;
    int64_t whole = rows.stride / lanesEach * lanesEach;
    if (whole > 0)
      f.loop(f.index(0), f.index(whole), lanesEach, [&](Value lane) { strip(lane, numVectors, first, numRows); });
    if (whole < rows.stride)
      strip(f.index(whole), (rows.stride - whole) / kFloatLanes, first, numRows);
    ahead = Value();
  });
}

} // namespace

std::unique_ptr<AttentionBlocks> makeIntegerBlocks(FloatBuilder &f, const AttentionSpec &spec, Isa isa, Value q,
                                                   Value region, const AttentionRows &rows, int64_t numRows) {
  return std::make_unique<IntegerBlocks>(f, spec, isa, q, region, rows, numRows);
}

} // namespace moec
