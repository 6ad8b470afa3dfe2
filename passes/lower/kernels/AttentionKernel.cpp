// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: causal attention over the KV region in blocks of 64 and spans of 512 positions (N6). Step: lower.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

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

struct AttentionEmitter {
  using Values = FloatBuilder::Values;
  FloatBuilder &f;
  const AttentionSpec &spec;
  /// Vectors of sums that stay in registers in an inner loop. No result depends on it.
  int64_t stripVectors;
  Value q, region, o;
  Value weights; // scratch f32 [64]: p, or p * value scale, of the block
  Value sums;    // scratch f32 [valueDim]: o of the span
  Value merged;  // scratch f32 [valueDim]: o of the spans so far
  Value token, head, kvHead, valid;

  Type storedType() {
    OpBuilder &builder = f.getBuilder();
    return spec.kv.element == KvElement::f32   ? Type(builder.getF32Type())
           : spec.kv.element == KvElement::f16 ? Type(builder.getF16Type())
                                               : Type(builder.getI8Type());
  }
  Value loadStored(Value offset, int64_t width) {
    Value raw = f.loadBytes(region, offset, storedType(), width);
    if (spec.kv.element == KvElement::i8)
      return f.toFloat(raw);
    return spec.kv.element == KvElement::f16 ? f.fromHalf(raw) : raw;
  }
  /// 16 scales of the head from position `first` of the block on; `at` is where the layer's scales start.
  Value loadScales(Value block, int64_t at, int64_t first) {
    Value offset = f.add(block, f.multiply(kvHead, kKvBlockPositions * 4));
    return f.loadBytes(region, f.add(offset, at + first * 4), f.f32(), kFloatLanes);
  }
  Value exponent(Value x, Value largest) { return f.exp(f.subf(x, largest)); }

  /// Dots of the query with the keys at `codes`: a strip of positions, d ascending.
  Values emitDots(Value codes, int64_t rowBytes) {
    Value firstColumn = f.multiply(head, spec.kv.keyDim);
    return f.loop(f.index(0), f.index(spec.kv.keyDim), 1, Values(stripVectors, f.zeroVector()),
                  [&](Value column, ValueRange carried) {
                    Value x = f.splat(f.load(q, {token, f.add(firstColumn, column)}));
                    Value row = f.add(codes, f.multiply(column, rowBytes));
                    Values next;
                    for (auto [i, sum] : llvm::enumerate(carried)) {
                      Value at = f.add(row, (int64_t)i * rowBytes / kBlockVectors);
                      next.push_back(f.fma(x, loadStored(at, kFloatLanes), sum));
                    }
                    return next;
                  });
  }

  /// Scores of the block's 64 positions; -inf from `count` on. What lies there in memory may be anything.
  Values emitScores(Value block, Value count, Values &isValid) {
    const KvLayout &kv = spec.kv;
    int64_t rowBytes = kKvBlockPositions * kv.elementBytes();
    Value codes = f.add(f.add(block, f.multiply(kvHead, kv.keyDim * rowBytes)), kv.keyCodes());
    Values scores;
    for (int64_t first = 0; first < kBlockVectors; first += stripVectors)
      scores.append(emitDots(f.add(codes, first * rowBytes / kBlockVectors), rowBytes));
    Value lowest = f.constantLike(f.zeroVector(), -INFINITY);
    Value limit = f.splat(f.indexToI32(count)), lanes = f.laneNumbers();
    for (int64_t i = 0; i < kBlockVectors; ++i) {
      Value s = scores[i];
      if (kv.element == KvElement::i8)
        s = f.mulf(s, loadScales(block, kv.keyScales(), i * kFloatLanes));
      s = f.mulf(s, f.constantLike(s, spec.scale));
      Value number = f.add(lanes, f.integerLike(lanes.getType(), i * kFloatLanes));
      isValid.push_back(f.compare(arith::CmpIPredicate::slt, number, limit));
      scores[i] = f.select(isValid[i], s, lowest);
    }
    return scores;
  }

  /// o = fma(weight, v, o * correction) over the positions of the block, for the columns of one strip.
  void emitStrip(Value values, Value numPositions, Value correction, Value column, ArrayRef<int64_t> widths) {
    Values start;
    int64_t at = 0;
    for (int64_t width : widths) {
      start.push_back(f.mulf(f.loadVector(sums, {f.add(column, at)}, width), f.splat(correction, width)));
      at += width;
    }
    int64_t bytes = spec.kv.elementBytes();
    Value first = f.add(values, f.multiply(column, bytes));
    Values end = f.loop(f.index(0), numPositions, 1, start, [&](Value slot, ValueRange carried) {
      Value weight = f.load(weights, {slot});
      Value row = f.add(first, f.multiply(slot, spec.kv.valueDim * bytes));
      Values next;
      int64_t at = 0;
      for (auto [i, width] : llvm::enumerate(widths)) {
        next.push_back(f.fma(f.splat(weight, width), loadStored(f.add(row, at * bytes), width), carried[i]));
        at += width;
      }
      return next;
    });
    at = 0;
    for (auto [i, width] : llvm::enumerate(widths)) {
      f.storeVector(end[i], sums, {f.add(column, at)});
      at += width;
    }
  }

  void emitValues(Value block, Value count, Value correction) {
    const KvLayout &kv = spec.kv;
    int64_t headBytes = kKvBlockPositions * kv.valueDim * kv.elementBytes();
    Value values = f.add(f.add(block, f.multiply(kvHead, headBytes)), kv.valueCodes());
    int64_t stripColumns = stripVectors * kFloatLanes;
    int64_t whole = kv.valueDim / stripColumns * stripColumns;
    if (whole > 0)
      f.loop(f.index(0), f.index(whole), stripColumns, [&](Value column) {
        emitStrip(values, count, correction, column, SmallVector<int64_t, 4>(stripVectors, kFloatLanes));
      });
    if (whole == kv.valueDim)
      return;
    SmallVector<int64_t, 4> widths;
    for (int64_t rest = kv.valueDim - whole; rest > 0; rest -= kFloatLanes)
      widths.push_back(std::min(rest, kFloatLanes));
    emitStrip(values, count, correction, f.index(whole), widths);
  }

  /// One block: takes and gives back {m, l}; o is in `sums`.
  Values emitBlock(Value number, Value largest, Value total) {
    Value block = f.multiply(number, spec.kv.blockBytes);
    Value count = f.minimum(f.subtract(valid, f.multiply(number, kKvBlockPositions)), f.index(kKvBlockPositions));
    Values isValid;
    Values scores = emitScores(block, count, isValid);
    Value lanes = scores[0];
    for (int64_t i = 1; i < kBlockVectors; ++i)
      lanes = f.maxIgnoringNan(scores[i], lanes);
    Value newLargest = f.maxIgnoringNan(f.treeMax(lanes), largest);
    Value correction = exponent(largest, newLargest);
    Value partials = f.zeroVector();
    for (int64_t i = 0; i < kBlockVectors; ++i) {
      Value p = f.select(isValid[i], exponent(scores[i], f.splat(newLargest)), f.zeroVector());
      partials = f.addf(partials, p);
      if (spec.kv.element == KvElement::i8)
        p = f.mulf(p, loadScales(block, spec.kv.valueScales(), i * kFloatLanes));
      f.storeVector(p, weights, {f.index(i * kFloatLanes)});
    }
    Value newTotal = f.fma(total, correction, f.treeSum(partials));
    emitValues(block, count, correction);
    return {newLargest, newTotal};
  }

  /// One span of blocks, then its merge into {M, L} and `merged`.
  Values emitSpan(Value span, Value numBlocks, Value largest, Value total) {
    constexpr int64_t kSpanBlocks = kAttentionSpanPositions / kKvBlockPositions;
    f.overVectors(spec.kv.valueDim,
                  [&](Value column, int64_t width) { f.storeVector(f.zeroVector(width), sums, {column}); });
    Value begin = f.multiply(span, kSpanBlocks);
    Value end = f.minimum(f.add(begin, kSpanBlocks), numBlocks);
    Values start{f.constant(-INFINITY), f.constant(0.0f)};
    Values own = f.loop(begin, end, 1, start,
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
    f.overVectors(spec.kv.valueDim,
                  [&](Value column, int64_t width) { f.storeVector(f.zeroVector(width), merged, {column}); });
    Value numBlocks = f.ceilDivide(valid, kKvBlockPositions);
    Values last =
        f.loop(f.index(0), f.ceilDivide(valid, kAttentionSpanPositions), 1, {f.constant(-INFINITY), f.constant(0.0f)},
               [&](Value span, ValueRange carried) { return emitSpan(span, numBlocks, carried[0], carried[1]); });
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
  Type region = MemRefType::get({kv.regionBytes}, builder.getI8Type());
  return buildFloatKernel(context, module, name, {q, region, o}, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    // 8 of the 32 registers of 128 bits on ARM leave room for the conversion of codes.
    int64_t stripVectors = context.family() == LayoutFamily::Arm64 ? 2 : 4;
    Value weights = f.scratch(kKvBlockPositions, f.f32());
    Value sums = f.scratch(kv.valueDim, f.f32()), merged = f.scratch(kv.valueDim, f.f32());
    AttentionEmitter emitter{
        f, spec, stripVectors, a.memrefs[0], a.memrefs[1], a.memrefs[2], weights, sums, merged, {}, {}, {}, {}};
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value tile) {
      emitter.token = f.divide(tile, spec.heads);
      emitter.head = f.remainder(tile, spec.heads);
      emitter.kvHead = f.divide(emitter.head, spec.heads / kv.kvHeads);
      emitter.valid = f.add(f.add(a.position, emitter.token), 1);
      emitter.emitTile();
    });
  });
}

} // namespace moec
