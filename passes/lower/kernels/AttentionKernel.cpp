// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: causal attention over the KV region in blocks of 64 and spans of 512 positions (N6). Step: lower.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"
#include "passes/lower/kernels/KvAccess.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace moec {

llvm::Error check(const AttentionSpec &spec) {
  if (spec.maxTokens < 1)
    return llvm::createStringError("attention expects at least 1 token, but got %lld", (long long)spec.maxTokens);
  return checkKvLayout(spec.kv, spec.heads);
}

namespace {

constexpr int64_t kBlockVectors = kKvBlockPositions / kFloatLanes;
constexpr int64_t kSpanBlocks = kAttentionSpanPositions / kKvBlockPositions;

/// A run of value columns that is one vector: `width` of them from `column` on, `byte` bytes into the row, in the
/// group `group` of scales; `high` says which halves of the bytes hold them (i4).
struct Piece {
  int64_t column, width, byte, group;
  bool high;
};

/// The pieces of `count` columns.
SmallVector<Piece, 16> piecesOf(const KvLayout &kv, int64_t count) {
  SmallVector<Piece, 16> pieces;
  for (int64_t column = 0; !kv.isPacked() && column < count; column += kFloatLanes)
    pieces.push_back({column, std::min(count - column, kFloatLanes), kv.codeBytes(column), 0, false});
  for (int64_t column = 0; kv.isPacked() && column < count; column += kKvValueGroup) {
    int64_t half = std::min(count - column, kKvValueGroup) / 2;
    for (bool high : {false, true})
      pieces.push_back({column + high * half, half, column / 2, column / kKvValueGroup, high});
  }
  return pieces;
}

struct AttentionEmitter {
  using Values = FloatBuilder::Values;
  using Range = FloatBuilder::Range;
  FloatBuilder &f;
  const AttentionSpec &spec;
  /// Vectors of sums that stay in registers in an inner loop. No result depends on it.
  int64_t stripVectors;
  Value q, region, o;
  Value query;   // scratch f32 [keyDim]: the transformed query (i4)
  Value weights; // scratch f32 [valueGroups * 64]: p, or p * value scale, of the block
  Value sums;    // scratch f32 [valueDim]: o of the span
  Value merged;  // scratch f32 [valueDim]: o of the spans so far
  KvWindowValues window;
  Value token, head, kvHead;
  Value valid; // the token's position + 1
  Value first; // the oldest position of the window

  Type storedType() {
    OpBuilder &builder = f.getBuilder();
    return spec.kv.element == KvElement::f32   ? Type(builder.getF32Type())
           : spec.kv.element == KvElement::f16 ? Type(builder.getF16Type())
                                               : Type(builder.getI8Type());
  }
  /// Stored elements at `offset`; of i4 the codes in the `high` halves or the low ones.
  Value loadStored(Value offset, int64_t width, bool high) {
    Value raw = f.loadBytes(region, offset, storedType(), width);
    if (spec.kv.isPacked())
      return f.toFloat(f.signedNibble(raw, high));
    if (spec.kv.element == KvElement::i8)
      return f.toFloat(raw);
    return spec.kv.element == KvElement::f16 ? f.fromHalf(raw) : raw;
  }
  /// 16 scales from position `position` of the block on, of group `group` of `numGroups` of the head; `at` is where the
  /// layer's scales start.
  Value loadScales(Value block, int64_t at, int64_t numGroups, int64_t group, int64_t position) {
    int64_t bytes = spec.kv.scaleBytes(), row = kKvBlockPositions * bytes;
    Value offset = f.add(f.add(block, f.multiply(kvHead, numGroups * row)), at + group * row + position * bytes);
    if (!spec.kv.isPacked())
      return f.loadBytes(region, offset, f.f32(), kFloatLanes);
    return f.fromHalf(f.loadBytes(region, offset, f.getBuilder().getF16Type(), kFloatLanes));
  }
  Value exponent(Value x, Value largest) { return f.exp(f.subf(x, largest)); }

  /// i4 keys are transformed, so the query has to be.
  void emitQuery() {
    if (!spec.kv.isPacked())
      return;
    Value firstColumn = f.multiply(head, spec.kv.keyDim);
    f.overVectors(spec.kv.keyDim, [&](Value column, int64_t width) {
      f.storeVector(f.loadVector(q, {token, f.add(firstColumn, column)}, width), query, {column});
    });
    emitHadamard(f, query, spec.kv.keyDim);
  }
  Value loadQuery(Value column) {
    return spec.kv.isPacked() ? f.load(query, {column})
                              : f.load(q, {token, f.add(f.multiply(head, spec.kv.keyDim), column)});
  }

  /// Dots of the query with the keys at `codes`: a strip of positions, d ascending. A row of codes is one column, or
  /// two (i4).
  Values emitDots(Value codes, int64_t rowBytes) {
    int64_t columns = spec.kv.isPacked() ? 2 : 1;
    return f.loop(f.index(0), f.index(spec.kv.keyDim / columns), 1, Values(stripVectors, f.zeroVector()),
                  [&](Value rowNumber, ValueRange carried) {
                    Value row = f.add(codes, f.multiply(rowNumber, rowBytes));
                    Values next(carried.begin(), carried.end());
                    for (int64_t column = 0; column < columns; ++column) {
                      Value x = f.splat(loadQuery(f.add(f.multiply(rowNumber, columns), column)));
                      for (auto [i, sum] : llvm::enumerate(next)) {
                        Value at = f.add(row, (int64_t)i * rowBytes / kBlockVectors);
                        sum = f.fma(x, loadStored(at, kFloatLanes, column == 1), sum);
                      }
                    }
                    return next;
                  });
  }

  /// Which of the 64 positions the token sees: those in [0, sinkEnd) and [windowBegin, windowEnd).
  struct Visible {
    Value sinkEnd, windowBegin, windowEnd;
    Values lanes; // i1 vectors
  };
  Visible emitVisible(Value number) {
    Value start = f.multiply(number, kKvBlockPositions), zero = f.index(0);
    Visible v;
    v.windowEnd = f.minimum(f.subtract(valid, start), f.index(kKvBlockPositions));
    v.sinkEnd = f.maximum(f.minimum(f.subtract(window.sinks, start), v.windowEnd), zero);
    v.windowBegin = f.maximum(f.subtract(first, start), v.sinkEnd);
    Value lanes = f.laneNumbers();
    auto below = [&](Value number, Value limit) {
      return f.compare(arith::CmpIPredicate::slt, number, f.splat(f.indexToI32(limit)));
    };
    for (int64_t i = 0; i < kBlockVectors; ++i) {
      Value slot = f.add(lanes, f.integerLike(lanes.getType(), i * kFloatLanes));
      Value inWindow = f.select(below(slot, v.windowBegin), f.booleanLike(lanes, false), below(slot, v.windowEnd));
      v.lanes.push_back(f.select(below(slot, v.sinkEnd), f.booleanLike(lanes, true), inWindow));
    }
    return v;
  }

  /// Scores of the block's 64 positions; -inf where the token does not see. What lies there in memory may be anything.
  Values emitScores(Value block, const Visible &visible) {
    const KvLayout &kv = spec.kv;
    int64_t headBytes = kKvBlockPositions * kv.codeBytes(kv.keyDim);
    int64_t rowBytes = kv.isPacked() ? kKvBlockPositions : kKvBlockPositions * kv.codeBytes(1);
    Value codes = f.add(f.add(block, f.multiply(kvHead, headBytes)), kv.keyCodes());
    Values scores;
    for (int64_t first = 0; first < kBlockVectors; first += stripVectors)
      scores.append(emitDots(f.add(codes, first * rowBytes / kBlockVectors), rowBytes));
    Value lowest = f.constantLike(f.zeroVector(), -INFINITY);
    for (int64_t i = 0; i < kBlockVectors; ++i) {
      Value s = scores[i];
      if (kv.hasScales())
        s = f.mulf(s, loadScales(block, kv.keyScales(), 1, 0, i * kFloatLanes));
      scores[i] = f.select(visible.lanes[i], f.mulf(s, f.constantLike(s, spec.scale)), lowest);
    }
    return scores;
  }

  /// o = fma(weight, v, o * correction) over the visible positions of the block, for the pieces from `column` on.
  void emitStrip(Value values, const Visible &visible, Value correction, Value column, ArrayRef<Piece> pieces) {
    Values start;
    for (const Piece &piece : pieces)
      start.push_back(
          f.mulf(f.loadVector(sums, {f.add(column, piece.column)}, piece.width), f.splat(correction, piece.width)));
    const KvLayout &kv = spec.kv;
    Value begin = f.add(values, kv.isPacked() ? f.divide(column, 2) : f.multiply(column, kv.codeBytes(1)));
    Value firstWeight = kv.isPacked() ? f.multiply(f.divide(column, kKvValueGroup), kKvBlockPositions) : f.index(0);
    Range sinks{f.index(0), visible.sinkEnd}, recent{visible.windowBegin, visible.windowEnd};
    Values end = f.loop(sinks, recent, start, [&](Value slot, ValueRange carried) {
      Value row = f.add(begin, f.multiply(slot, kv.codeBytes(kv.valueDim)));
      Values next;
      for (auto [piece, sum] : llvm::zip_equal(pieces, carried)) {
        Value weight = f.load(weights, {f.add(f.add(firstWeight, slot), piece.group * kKvBlockPositions)});
        Value v = loadStored(f.add(row, piece.byte), piece.width, piece.high);
        next.push_back(f.fma(f.splat(weight, piece.width), v, sum));
      }
      return next;
    });
    for (auto [piece, sum] : llvm::zip_equal(pieces, end))
      f.storeVector(sum, sums, {f.add(column, piece.column)});
  }

  void emitValues(Value block, const Visible &visible, Value correction) {
    const KvLayout &kv = spec.kv;
    int64_t headBytes = kKvBlockPositions * kv.codeBytes(kv.valueDim);
    Value values = f.add(f.add(block, f.multiply(kvHead, headBytes)), kv.valueCodes());
    int64_t stripColumns = stripVectors * kFloatLanes;
    int64_t whole = kv.valueDim / stripColumns * stripColumns;
    if (whole > 0)
      f.loop(f.index(0), f.index(whole), stripColumns,
             [&](Value column) { emitStrip(values, visible, correction, column, piecesOf(kv, stripColumns)); });
    if (whole < kv.valueDim)
      emitStrip(values, visible, correction, f.index(whole), piecesOf(kv, kv.valueDim - whole));
  }

  /// One block: takes and gives back {m, l}; o is in `sums`.
  Values emitBlock(Value number, Value largest, Value total) {
    Value block = f.multiply(window.physicalBlock(f, number), spec.kv.blockBytes);
    Visible visible = emitVisible(number);
    Values scores = emitScores(block, visible);
    Value lanes = scores[0];
    for (int64_t i = 1; i < kBlockVectors; ++i)
      lanes = f.maxIgnoringNan(scores[i], lanes);
    Value newLargest = f.maxIgnoringNan(f.treeMax(lanes), largest);
    Value correction = exponent(largest, newLargest);
    Value partials = f.zeroVector();
    for (int64_t i = 0; i < kBlockVectors; ++i) {
      Value p = f.select(visible.lanes[i], exponent(scores[i], f.splat(newLargest)), f.zeroVector());
      partials = f.addf(partials, p);
      int64_t numGroups = spec.kv.valueGroups();
      for (int64_t group = 0; group < numGroups; ++group) {
        Value weight = p;
        if (spec.kv.hasScales())
          weight = f.mulf(p, loadScales(block, spec.kv.valueScales(), numGroups, group, i * kFloatLanes));
        f.storeVector(weight, weights, {f.index(group * kKvBlockPositions + i * kFloatLanes)});
      }
    }
    Value newTotal = f.fma(total, correction, f.treeSum(partials));
    emitValues(block, visible, correction);
    return {newLargest, newTotal};
  }

  /// One span of blocks, then its merge into {M, L} and `merged`. Blocks with sinks and blocks of the window have at
  /// least one visible position each, all others are passed over.
  Values emitSpan(Value span, Range sinks, Range recent, Value largest, Value total) {
    f.overVectors(spec.kv.valueDim,
                  [&](Value column, int64_t width) { f.storeVector(f.zeroVector(width), sums, {column}); });
    Value begin = f.multiply(span, kSpanBlocks), end = f.add(begin, kSpanBlocks);
    auto inSpan = [&](Range blocks) { return Range{f.maximum(blocks.begin, begin), f.minimum(blocks.end, end)}; };
    Values start{f.constant(-INFINITY), f.constant(0.0f)};
    Values own = f.loop(inSpan(sinks), inSpan(recent), start,
                        [&](Value number, ValueRange carried) { return emitBlock(number, carried[0], carried[1]); });
    Value newLargest = f.maxIgnoringNan(own[0], largest);
    Value before = exponent(largest, newLargest), now = exponent(own[0], newLargest);
    f.overVectors(spec.kv.valueDim, [&](Value column, int64_t width) {
      Value old = f.mulf(f.loadVector(merged, {column}, width), f.splat(before, width));
      f.storeVector(f.fma(f.loadVector(sums, {column}, width), f.splat(now, width), old), merged, {column});
    });
    return {newLargest, f.fma(own[1], now, f.mulf(total, before))};
  }

  void emitTile() {
    emitQuery();
    f.overVectors(spec.kv.valueDim,
                  [&](Value column, int64_t width) { f.storeVector(f.zeroVector(width), merged, {column}); });
    Value numBlocks = f.ceilDivide(valid, kKvBlockPositions), zero = f.index(0);
    Range sinks{zero, f.minimum(window.sinkBlocks, numBlocks)};
    Range recent{f.maximum(f.divide(first, kKvBlockPositions), sinks.end), numBlocks};
    Range sinkSpans{zero, f.ceilDivide(sinks.end, kSpanBlocks)};
    Range recentSpans{f.maximum(f.divide(recent.begin, kSpanBlocks), sinkSpans.end),
                      f.ceilDivide(numBlocks, kSpanBlocks)};
    Values start{f.constant(-INFINITY), f.constant(0.0f)};
    Values last = f.loop(sinkSpans, recentSpans, start, [&](Value span, ValueRange carried) {
      return emitSpan(span, sinks, recent, carried[0], carried[1]);
    });
    Value firstColumn = f.multiply(head, spec.kv.valueDim);
    f.overVectors(spec.kv.valueDim, [&](Value column, int64_t width) {
      Value result = f.divf(f.loadVector(merged, {column}, width), f.splat(last[1], width));
      f.storeVector(result, o, {token, f.add(firstColumn, column)});
    });
  }
};

} // namespace

func::FuncOp buildAttention(KernelContext &context, ModuleOp module, StringRef name, const AttentionSpec &spec) {
  const KvLayout &kv = spec.kv;
  Builder builder(module.getContext());
  Type q = MemRefType::get({spec.maxTokens, spec.heads * kv.keyDim}, builder.getF32Type());
  Type o = MemRefType::get({spec.maxTokens, spec.heads * kv.valueDim}, builder.getF32Type());
  Type region = MemRefType::get({kv.regionBytes}, builder.getI8Type()), window = KvWindowValues::typeOf(builder);
  auto body = [&](FloatBuilder &f, const FloatKernelArguments &a) {
    // 8 of the 32 registers of 128 bits on ARM leave room for the conversion of codes.
    int64_t stripVectors = context.family() == LayoutFamily::Arm64 ? 2 : 4;
    AttentionEmitter emitter{f,  spec, stripVectors, a.memrefs[0], a.memrefs[1], a.memrefs[3], {}, {},
                             {}, {},   {},           {},           {},           {},           {}, {}};
    emitter.query = kv.isPacked() ? f.scratch(kv.keyDim, f.f32()) : Value();
    emitter.weights = f.scratch(kv.valueGroups() * kKvBlockPositions, f.f32());
    emitter.sums = f.scratch(kv.valueDim, f.f32());
    emitter.merged = f.scratch(kv.valueDim, f.f32());
    emitter.window = KvWindowValues::load(f, a.memrefs[2]);
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value tile) {
      emitter.token = f.divide(tile, spec.heads);
      emitter.head = f.remainder(tile, spec.heads);
      emitter.kvHead = f.divide(emitter.head, spec.heads / kv.kvHeads);
      emitter.valid = f.add(f.add(a.position, emitter.token), 1);
      emitter.first = f.maximum(f.subtract(emitter.valid, emitter.window.window), f.index(0));
      emitter.emitTile();
    });
  };
  return buildFloatKernel(context, module, name, {q, region, window, o}, body);
}

} // namespace moec
