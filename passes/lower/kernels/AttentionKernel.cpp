// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels: causal attention over the KV region by spans of 512 positions, and the merge of spans (N6). A tile is the
/// query heads of a KV head, so that each block is read once for all of them. Step: lower.
/// Main source: docs/architecture.md ("KV cache").
#include "passes/lower/kernels/AttentionBlocks.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace moec {

//===-- Specs ---------------------------------------------------------------===//

namespace {

constexpr int64_t kPositions = kKvBlockPositions, kSpanBlocks = kAttentionSpanPositions / kPositions;
/// Query heads of a tile at most: as many as share a load on the widest ISA.
constexpr int64_t kMostHeads = 8;
/// Bytes of partial results that a tile of several tokens may take from the stack of a thread.
constexpr int64_t kRowBytes = 40 * 1024;

} // namespace

int64_t AttentionSpec::headsEach() const {
  int64_t shared = heads / kv.kvHeads, most = std::min(shared, kMostHeads);
  while (shared % most != 0)
    --most;
  return most;
}

llvm::Error check(const AttentionSpec &spec) {
  if (spec.maxTokens < 1)
    return llvm::createStringError("attention expects at least 1 token, but got %lld", (long long)spec.maxTokens);
  if (spec.splits < 0 || (spec.splits > 0 && (spec.maxTokens != 1 || spec.maxSpans < spec.splits)))
    return llvm::createStringError("attention expects splits of one token, at most one for each span, but got %lld of "
                                   "%lld tokens and %lld spans",
                                   (long long)spec.splits, (long long)spec.maxTokens, (long long)spec.maxSpans);
  return checkKvLayout(spec.kv, spec.heads);
}

llvm::Error check(const MergeSpansSpec &spec) {
  if (spec.maxSpans < 1 || spec.heads < 1)
    return llvm::createStringError("a merge of spans expects at least 1 span and 1 head, but got %lld and %lld",
                                   (long long)spec.maxSpans, (long long)spec.heads);
  return checkKvHeads(spec.kv);
}

int64_t attentionPlainColumns(const KvLayout &kv) {
  return kv.isPacked() ? kv.valueDim / kKvValueGroup * kKvValueGroup : kv.valueDim;
}

SmallVector<LaneRun, 2> attentionLaneRuns(const KvLayout &kv) {
  int64_t first = attentionPlainColumns(kv), half = (kv.valueDim - first) / 2;
  if (half == 0)
    return {};
  return {{first, first, half}, {first + half, first + kKvValueGroup / 2, half}};
}

//===-- Positions -----------------------------------------------------------===//

Value BlockView::seen(FloatBuilder &f, Value position) const {
  if (isWhole())
    return {};
  Value slot = f.add(f.laneNumbers(), f.splat(f.indexToI32(position)));
  auto below = [&](Value limit) { return f.compare(arith::CmpIPredicate::slt, slot, f.splat(f.indexToI32(limit))); };
  Value inWindow = f.select(below(windowBegin), f.booleanLike(slot, false), below(windowEnd));
  return f.select(below(sinkEnd), f.booleanLike(slot, true), inWindow);
}

namespace {

using Values = FloatBuilder::Values;
using Range = FloatBuilder::Range;

/// What a token, or several in a row, see: blocks and spans in two ranges each, those with sinks and those of the
/// window. Each of them has a visible position, all others are passed over.
struct Sight {
  Value valid; // the newest token's position + 1
  Value first; // the oldest position in the window of the oldest token
  Range sinkBlocks, recentBlocks, sinkSpans, recentSpans;

  Sight(FloatBuilder &f, const KvWindowValues &window, Value oldest, Value newest) {
    valid = f.add(newest, 1);
    first = f.maximum(f.subtract(f.add(oldest, 1), window.window), f.index(0));
    Value zero = f.index(0), numBlocks = f.ceilDivide(valid, kPositions);
    sinkBlocks = {zero, f.minimum(window.sinkBlocks, numBlocks)};
    recentBlocks = {f.maximum(f.divide(first, kPositions), sinkBlocks.end), numBlocks};
    sinkSpans = {zero, f.ceilDivide(sinkBlocks.end, kSpanBlocks)};
    recentSpans = {f.maximum(f.divide(recentBlocks.begin, kSpanBlocks), sinkSpans.end),
                   f.ceilDivide(numBlocks, kSpanBlocks)};
  }
  /// Spans in ascending order are slots 0, 1, …
  Value numSlots(FloatBuilder &f) const { return f.add(sinkSpans.end, f.subtract(recentSpans.end, recentSpans.begin)); }
  Value spanOf(FloatBuilder &f, Value slot) const {
    Value isSink = f.compare(arith::CmpIPredicate::slt, slot, sinkSpans.end);
    return f.select(isSink, slot, f.add(f.subtract(slot, sinkSpans.end), recentSpans.begin));
  }
};

/// Factors of L and O of the spans before and of one more span.
struct MergeFactors {
  Value before, now;
  /// From the largest scores of both; `largest` becomes that of all.
  static MergeFactors of(FloatBuilder &f, Value all, Value one, Value &largest) {
    largest = f.maxIgnoringNan(one, all);
    Value before = f.exp(f.subf(all, largest));
    return {before, f.exp(f.subf(one, largest))};
  }
  Value operator()(FloatBuilder &f, Value all, Value one) const { return f.fma(one, now, f.mulf(all, before)); }
};

//===-- Tiles ---------------------------------------------------------------===//

struct AttentionEmitter {
  FloatBuilder &f;
  const AttentionSpec &spec;
  const KvLayout &kv;
  const int64_t maxTokens; // of a tile
  Value position;
  Value o;                         // results, or
  Value partialSums, partialStats; // those of each span
  KvWindowValues window;
  AttentionRows rows;
  AttentionRows merged; // of the spans so far
  Value seen;           // scratch i32 [tokens]: whether a token sees the span
  std::unique_ptr<AttentionBlocks> blocks;

  bool isSplit() const { return spec.splits > 0; }
  int64_t numRows() const { return maxTokens * rows.rowsEach; }

  /// A tile: tokens [firstToken, firstToken + numTokens) and the heads of a unit.
  struct Tile {
    Value unit, firstToken, numTokens, firstHead, kvHead;
  };
  void overTokens(const Tile &tile, function_ref<void(Value)> body) {
    if (maxTokens == 1)
      return body(f.index(0));
    f.loop(f.index(0), tile.numTokens, 1, body);
  }
  void overHeads(function_ref<void(Value)> body) { f.loop(f.index(0), f.index(rows.numHeads), 1, body); }
  void overLanes(function_ref<void(Value)> body) { f.loop(f.index(0), f.index(rows.stride), kFloatLanes, body); }
  Value blockAt(Value number) { return f.multiply(window.physicalBlock(f, number), kv.blockBytes); }

  void clear(const Tile &tile, const AttentionRows &which) {
    overTokens(tile, [&](Value token) {
      Value first = f.multiply(token, rows.rowsEach), zeros = f.zeroVector(rows.rowsEach);
      f.storeVector(f.constantLike(zeros, -INFINITY), which.largest, {first});
      f.storeVector(zeros, which.total, {first});
      f.store(f.integerLike(f.i32(), 0), seen, {token});
    });
    Value count = maxTokens == 1 ? f.index(rows.rowsEach) : f.multiply(tile.numTokens, rows.rowsEach);
    f.loop(f.index(0), f.multiply(count, rows.stride), kFloatLanes,
           [&](Value place) { f.storeVector(f.zeroVector(), which.sums, {place}); });
  }

  /// Adds block `number` for a token that may see all of it, a part or nothing.
  void emitBlock(const Tile &tile, Value token, Value number, Value block, Value next) {
    Value row = f.multiply(token, rows.rowsEach), at = f.add(f.add(position, tile.firstToken), token);
    Sight sight(f, window, at, at);
    Value start = f.multiply(number, kPositions), end = f.add(start, kPositions), zero = f.index(0);
    BlockView view{f.add(tile.firstToken, token), row, tile.firstHead, tile.kvHead, block, next, {}, {}, {}};
    auto atMost = [&](Value a, Value b) { return f.compare(arith::CmpIPredicate::sle, a, b); };
    Value notBefore = atMost(sight.first, start), inSinks = atMost(end, window.sinks);
    Value isWhole = f.both(atMost(end, sight.valid), f.either(notBefore, inSinks));
    auto add = [&] {
      f.branch(
          isWhole, [&] { blocks->emitBlock(view); },
          [&] {
            BlockView part = view;
            part.windowEnd = f.minimum(f.subtract(sight.valid, start), f.index(kPositions));
            part.sinkEnd = f.maximum(f.minimum(f.subtract(window.sinks, start), part.windowEnd), zero);
            part.windowBegin = f.maximum(f.subtract(sight.first, start), part.sinkEnd);
            blocks->emitBlock(part);
          });
    };
    if (maxTokens == 1)
      return add();
    auto below = [&](Value a, Value b) { return f.compare(arith::CmpIPredicate::slt, a, b); };
    Value isRecent = f.both(atMost(sight.recentBlocks.begin, number), below(number, sight.recentBlocks.end));
    f.branch(f.either(below(number, sight.sinkBlocks.end), isRecent), [&] {
      add();
      f.store(f.integerLike(f.i32(), 1), seen, {token});
    });
  }

  /// o, m and l of a span, in `rows`.
  void emitSpan(const Tile &tile, const Sight &sight, Value span) {
    clear(tile, rows);
    Value begin = f.multiply(span, kSpanBlocks), end = f.add(begin, kSpanBlocks);
    auto inSpan = [&](Range range) { return Range{f.maximum(range.begin, begin), f.minimum(range.end, end)}; };
    f.loop(inSpan(sight.sinkBlocks), inSpan(sight.recentBlocks), {}, [&](Value number, ValueRange) {
      Value last = f.add(sight.recentBlocks.end, -1), next;
      // Several tokens are bound by arithmetic.
      if (maxTokens == 1)
        next = blockAt(f.minimum(f.add(number, 1), last));
      Value block = blockAt(number);
      overTokens(tile, [&](Value token) { emitBlock(tile, token, number, block, next); });
      return Values{};
    });
  }

  void mergeToken(Value token) {
    Value row = f.multiply(token, rows.rowsEach);
    auto load = [&](Value memref) { return f.loadVector(memref, {row}, rows.rowsEach); };
    Value largest;
    MergeFactors factors = MergeFactors::of(f, load(merged.largest), load(rows.largest), largest);
    f.storeVector(factors(f, load(merged.total), load(rows.total)), merged.total, {row});
    f.storeVector(largest, merged.largest, {row});
    // The rows' factors are read one by one below.
    f.storeVector(factors.before, rows.largest, {row});
    f.storeVector(factors.now, rows.total, {row});
    overHeads([&](Value head) {
      Value own = f.add(row, head), place = f.multiply(own, rows.stride);
      MergeFactors each{f.splat(f.load(rows.largest, {own})), f.splat(f.load(rows.total, {own}))};
      overLanes([&](Value lane) {
        Value at = f.add(place, lane);
        f.storeVector(each(f, f.loadVector(merged.sums, {at}), f.loadVector(rows.sums, {at})), merged.sums, {at});
      });
    });
  }

  void storePartial(const Tile &tile, Value slot) {
    overHeads([&](Value number) {
      Value head = f.add(tile.firstHead, number);
      f.store(f.load(rows.largest, {number}), partialStats, {slot, f.index(0), head});
      f.store(f.load(rows.total, {number}), partialStats, {slot, f.index(1), head});
      Value place = f.multiply(number, rows.stride);
      overLanes([&](Value lane) {
        f.storeVector(f.loadVector(rows.sums, {f.add(place, lane)}), partialSums, {slot, head, lane});
      });
    });
  }

  void storeResult(const Tile &tile, Value token);

  void emitTile(const Tile &tile, Range slots) {
    Value oldest = f.add(position, tile.firstToken);
    Sight sight(f, window, oldest, maxTokens == 1 ? oldest : f.add(oldest, f.add(tile.numTokens, -1)));
    overTokens(tile, [&](Value token) {
      blocks->emitQueries(f.add(tile.firstToken, token), f.multiply(token, rows.rowsEach), tile.firstHead);
    });
    if (isSplit())
      return f.loop(slots.begin, slots.end, 1, [&](Value slot) {
        emitSpan(tile, sight, sight.spanOf(f, slot));
        storePartial(tile, slot);
      });
    clear(tile, merged);
    f.loop(sight.sinkSpans, sight.recentSpans, {}, [&](Value span, ValueRange) {
      emitSpan(tile, sight, span);
      overTokens(tile, [&](Value token) {
        if (maxTokens == 1)
          return mergeToken(token);
        Value isSeen = f.compare(arith::CmpIPredicate::ne, f.load(seen, {token}), f.integerLike(f.i32(), 0));
        f.branch(isSeen, [&] { mergeToken(token); });
      });
      return Values{};
    });
    overTokens(tile, [&](Value token) { storeResult(tile, token); });
  }
};

/// Calls `body` for each run of columns: their first lane and column, and the number.
void overColumns(FloatBuilder &f, const KvLayout &kv, function_ref<void(Value, Value, int64_t)> body) {
  f.overVectors(attentionPlainColumns(kv), [&](Value column, int64_t width) { body(column, column, width); });
  for (const LaneRun &run : attentionLaneRuns(kv))
    body(f.index(run.lane), f.index(run.column), run.width);
}

void AttentionEmitter::storeResult(const Tile &tile, Value token) {
  overHeads([&](Value head) {
    Value row = f.add(f.multiply(token, rows.rowsEach), head), place = f.multiply(row, rows.stride);
    Value total = f.load(merged.total, {row}), firstColumn = f.multiply(f.add(tile.firstHead, head), kv.valueDim);
    overColumns(f, kv, [&](Value lane, Value column, int64_t width) {
      Value sum = f.loadVector(merged.sums, {f.add(place, lane)}, width);
      f.storeVector(f.divf(sum, f.splat(total, width)), o, {f.add(tile.firstToken, token), f.add(firstColumn, column)});
    });
  });
}

/// Runs the tiles [tileBegin, tileEnd) of a kernel.
void emitTiles(AttentionEmitter &e, const FloatKernelArguments &a) {
  FloatBuilder &f = e.f;
  auto tileOf = [&](Value unit, Value firstToken, Value numTokens) {
    return AttentionEmitter::Tile{unit, firstToken, numTokens, f.multiply(unit, e.rows.numHeads),
                                  f.divide(unit, e.spec.numUnits() / e.kv.kvHeads)};
  };
  if (e.isSplit()) {
    // Tile unit * splits + i has the slots from ceil(i * slots / splits) on.
    Value slots = Sight(f, e.window, a.position, a.position).numSlots(f);
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value tile) {
      Value split = f.remainder(tile, e.spec.splits);
      auto edge = [&](Value number) { return f.ceilDivide(f.multiply(number, slots), e.spec.splits); };
      Range own{edge(split), edge(f.add(split, 1))};
      f.branch(f.compare(arith::CmpIPredicate::slt, own.begin, own.end),
               [&] { e.emitTile(tileOf(f.divide(tile, e.spec.splits), f.index(0), f.index(1)), own); });
    });
    return;
  }
  // Tile unit * n + token: runs of tokens of a unit are taken together.
  f.loop(f.divide(a.tileBegin, a.count), f.divide(f.add(a.tileEnd, f.add(a.count, -1)), a.count), 1, [&](Value unit) {
    Value start = f.multiply(unit, a.count);
    Value begin = f.maximum(f.subtract(a.tileBegin, start), f.index(0));
    Value end = f.minimum(f.subtract(a.tileEnd, start), a.count);
    f.loop(begin, end, e.maxTokens, [&](Value token) {
      e.emitTile(tileOf(unit, token, f.minimum(f.subtract(end, token), f.index(e.maxTokens))), {});
    });
  });
}

AttentionRows makeRows(FloatBuilder &f, int64_t numHeads, int64_t rowsEach, int64_t stride, int64_t maxTokens) {
  auto scratch = [&](int64_t each) { return f.scratch(maxTokens * rowsEach * each, f.f32()); };
  return {numHeads, rowsEach, stride, scratch(1), scratch(1), scratch(stride)};
}

} // namespace

//===-- Kernels -------------------------------------------------------------===//

func::FuncOp buildAttention(KernelContext &context, ModuleOp module, StringRef name, const AttentionSpec &spec) {
  const KvLayout &kv = spec.kv;
  const int64_t stride = kv.valueLanes(), numHeads = spec.headsEach(), rowsEach = llvm::PowerOf2Ceil(numHeads);
  // Tokens that share a block in the first cache.
  const int64_t fitting = kRowBytes / (2 * 4 * stride * rowsEach);
  const int64_t maxTokens = std::clamp<int64_t>(std::min(fitting, 32 / rowsEach), 1, spec.maxTokens);
  Builder builder(module.getContext());
  auto floats = [&](ArrayRef<int64_t> shape) -> Type { return MemRefType::get(shape, builder.getF32Type()); };
  SmallVector<Type, 5> types{floats({spec.maxTokens, spec.heads * kv.keyDim}),
                             MemRefType::get({kv.regionBytes}, builder.getI8Type()), KvWindowValues::typeOf(builder)};
  if (spec.splits > 0)
    types.append({floats({spec.maxSpans, spec.heads, stride}), floats({spec.maxSpans, 2, spec.heads})});
  else
    types.push_back(floats({spec.maxTokens, spec.heads * kv.valueDim}));
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    AttentionEmitter emitter{f, spec, kv, maxTokens, a.position, {}, {}, {}, {}, {}, {}, {}, {}};
    (spec.splits > 0 ? emitter.partialSums : emitter.o) = a.memrefs[3];
    if (spec.splits > 0)
      emitter.partialStats = a.memrefs[4];
    emitter.rows = makeRows(f, numHeads, rowsEach, stride, maxTokens);
    if (spec.splits == 0)
      emitter.merged = makeRows(f, numHeads, rowsEach, stride, maxTokens);
    emitter.seen = f.scratch(maxTokens, f.i32());
    Value q = a.memrefs[0], region = a.memrefs[1];
    emitter.blocks = kv.hasScales()
                         ? makeIntegerBlocks(f, spec, context.isa, q, region, emitter.rows, emitter.numRows())
                         : makeFloatBlocks(f, spec, context.isa, q, region, emitter.rows);
    emitter.window = KvWindowValues::load(f, a.memrefs[2]);
    emitTiles(emitter, a);
  });
}

func::FuncOp buildMergeSpans(KernelContext &context, ModuleOp module, StringRef name, const MergeSpansSpec &spec) {
  const KvLayout &kv = spec.kv;
  const int64_t stride = kv.valueLanes();
  Builder builder(module.getContext());
  auto floats = [&](ArrayRef<int64_t> shape) -> Type { return MemRefType::get(shape, builder.getF32Type()); };
  SmallVector<Type, 4> types{floats({spec.maxSpans, spec.heads, stride}), floats({spec.maxSpans, 2, spec.heads}),
                             KvWindowValues::typeOf(builder), floats({1, spec.heads * kv.valueDim})};
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    Value sums = a.memrefs[0], stats = a.memrefs[1], o = a.memrefs[3], zero = f.index(0), one = f.index(1);
    Value largest = f.scratch(spec.heads, f.f32()), total = f.scratch(spec.heads, f.f32());
    Value before = f.scratch(spec.heads, f.f32()), now = f.scratch(spec.heads, f.f32());
    Value slots = Sight(f, KvWindowValues::load(f, a.memrefs[2]), a.position, a.position).numSlots(f);
    f.overVectors(spec.heads, [&](Value head, int64_t width) {
      f.storeVector(f.constantLike(f.zeroVector(width), -INFINITY), largest, {head});
      f.storeVector(f.zeroVector(width), total, {head});
    });
    // As AttentionEmitter merges spans, so that the bits are those of a context that is not split; in place of slot 0.
    auto merge = [&](Value slot, bool isFirst) {
      f.overVectors(spec.heads, [&](Value head, int64_t width) {
        Value most;
        MergeFactors factors = MergeFactors::of(f, f.loadVector(largest, {head}, width),
                                                f.loadVector(stats, {slot, zero, head}, width), most);
        Value both = factors(f, f.loadVector(total, {head}, width), f.loadVector(stats, {slot, one, head}, width));
        f.storeVector(both, total, {head});
        f.storeVector(most, largest, {head});
        f.storeVector(factors.before, before, {head});
        f.storeVector(factors.now, now, {head});
      });
      f.loop(zero, f.index(spec.heads), 1, [&](Value head) {
        MergeFactors each{f.splat(f.load(before, {head})), f.splat(f.load(now, {head}))};
        f.loop(zero, f.index(stride), kFloatLanes, [&](Value lane) {
          Value all = isFirst ? f.zeroVector() : f.loadVector(sums, {zero, head, lane});
          Value span = f.loadVector(sums, {slot, head, lane});
          f.storeVector(each(f, all, span), sums, {zero, head, lane});
        });
      });
    };
    merge(zero, true);
    f.loop(one, slots, 1, [&](Value slot) { merge(slot, false); });
    f.loop(zero, f.index(spec.heads), 1, [&](Value head) {
      Value firstColumn = f.multiply(head, kv.valueDim);
      overColumns(f, kv, [&](Value lane, Value column, int64_t width) {
        Value sum = f.loadVector(sums, {zero, head, lane}, width);
        f.storeVector(f.divf(sum, f.splat(f.load(total, {head}), width)), o, {zero, f.add(firstColumn, column)});
      });
    });
  });
}

} // namespace moec
