// SPDX-License-Identifier: Apache-2.0
/// \file
/// Emits convolution, delta rule and gated norm. SIMD lanes run along channels and along columns of the state (N1).
/// Step: lower. Main source: passes/lower/kernels/DeltaKernels.h.
#include "passes/lower/kernels/DeltaEmitter.h"

#include "passes/lower/kernels/Dot.h"

#include <algorithm>

using namespace mlir;

namespace moec {

//===-- Convolution -----------------------------------------------------------------------------------------------===//

void emitConvolution(FloatBuilder &f, const ConvSpec &spec, const ConvMemrefs &memrefs, Value count, Value channel,
                     int64_t width) {
  // Floats have one layout on every target: tiles of rows, in each of them column after column.
  const Layout layout = MatrixSpec{spec.channels, spec.length, spec.encoding}.layout(LayoutFamily::X86);
  const bool isHalf = spec.encoding == Encoding::f16();
  Value tile = f.multiply(f.divide(channel, layout.rowTile()), layout.tileBytes());
  Value at = f.add(tile, f.multiply(f.remainder(channel, layout.rowTile()), spec.encoding.bits() / 8));
  auto weights = [&](int64_t column) {
    Type type = isHalf ? Type(f.getBuilder().getF16Type()) : f.f32();
    Value stored = f.loadBytes(memrefs.w, f.add(at, column * layout.blockBytes()), type, width);
    return isHalf ? f.fromHalf(stored) : stored;
  };
  FloatBuilder::Values window;
  for (int64_t j = 0; j + 1 < spec.length; ++j)
    window.push_back(f.loadVector(memrefs.state, {f.index(j), channel}, width));
  window = f.loop(f.index(0), count, 1, window, [&](Value token, ValueRange rows) {
    FloatBuilder::Values next(rows.begin(), rows.end());
    next.push_back(f.loadVector(memrefs.x, {token, channel}, width));
    Value sum = f.zeroVector(width);
    for (int64_t j = 0; j < spec.length; ++j)
      sum = f.fma(weights(j), next[j], sum);
    f.storeVector(spec.silu ? f.silu(sum) : sum, memrefs.y, {token, channel});
    next.erase(next.begin());
    return next;
  });
  for (auto [j, row] : llvm::enumerate(window))
    f.storeVector(row, memrefs.state, {f.index(j), channel});
}

//===-- Delta rule ------------------------------------------------------------------------------------------------===//

DeltaEmitter::DeltaEmitter(FloatBuilder &builder, const DeltaSpec &spec, const DeltaMemrefs &memrefs)
    : f(builder), spec(spec), memrefs(memrefs), keys(f.scratch(spec.keyDim, f.f32())),
      queries(f.scratch(spec.keyDim, f.f32())),
      decays(spec.hasChannelDecay() ? f.scratch(spec.keyDim, f.f32()) : Value()) {}

Value DeltaEmitter::keyHeadOf(Value head) {
  return spec.tiled ? f.remainder(head, spec.keyHeads) : f.divide(head, spec.valueHeads / spec.keyHeads);
}

void DeltaEmitter::emitUnit(Value x, Value token, Value first, Value unit, bool isScaled) {
  Value sum = f.sumOfSquares(x, {token}, first, spec.keyDim);
  Value factor = f.divf(f.constant(1.0f), f.sqrt(f.addf(sum, f.constant(spec.l2Epsilon))));
  f.overVectors(spec.keyDim, [&](Value column, int64_t width) {
    Value y = f.mulf(f.loadVector(x, {token, f.add(first, column)}, width), f.splat(factor, width));
    f.storeVector(isScaled ? f.mulf(y, f.constantLike(y, spec.scale)) : y, unit, {column});
  });
}

void DeltaEmitter::emitKeyHead(Value token, Value keyHead) {
  Value first = f.multiply(keyHead, spec.keyDim);
  emitUnit(memrefs.k, token, first, keys, false);
  emitUnit(memrefs.q, token, first, queries, true);
}

Value DeltaEmitter::emitDecay(Value log, Value x) { return f.exp(f.mulf(f.negate(f.exp(log)), f.softplus(x))); }

void DeltaEmitter::emitRates(Value token, Value head) {
  beta = f.sigmoid(f.load(memrefs.b, {token, head}));
  int64_t perLog = spec.rateColumns / spec.logLength;
  if (!spec.hasChannelDecay()) {
    Value log = f.load(memrefs.aLog, {f.divide(head, perLog)});
    decay = emitDecay(log, f.addf(f.load(memrefs.a, {token, head}), f.load(memrefs.dtBias, {head})));
    return;
  }
  // A head's columns have one a_log: checked in check(DeltaSpec).
  Value first = f.multiply(head, spec.keyDim);
  Value log = f.load(memrefs.aLog, {f.divide(first, perLog)});
  f.overVectors(spec.keyDim, [&](Value column, int64_t width) {
    Value at = f.add(first, column);
    Value x = f.addf(f.loadVector(memrefs.a, {token, at}, width), f.loadVector(memrefs.dtBias, {at}, width));
    f.storeVector(emitDecay(f.splat(log, width), x), decays, {column});
  });
}

Value DeltaEmitter::decayed(Value head, Value row, Value column, int64_t width, Value factor) {
  return f.mulf(f.loadVector(memrefs.state, {head, row, column}, width), f.splat(factor, width));
}

void DeltaEmitter::prefetch(const DeltaStrip &strip, Value row, int64_t begin, int64_t end) {
  for (int64_t vector = begin; vector < end; ++vector) // of 64 bytes: a line
    memref::PrefetchOp::create(f.getBuilder(), memrefs.state.getLoc(), memrefs.state,
                               ValueRange{strip.head, row, f.add(strip.first, vector * kFloatLanes)},
                               /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
}

void DeltaEmitter::emitColumns(Value token, Value head, Value first, int64_t count, const DeltaStrip *next) {
  // Column vectors of the strip; each has one chain of sums.
  struct Piece {
    Value column;
    int64_t width;
  };
  SmallVector<Piece, 4> pieces;
  Values zeros;
  for (int64_t column = 0; column < count; column += kFloatLanes) {
    pieces.push_back({f.add(first, column), std::min(kFloatLanes, count - column)});
    zeros.push_back(f.zeroVector(pieces.back().width));
  }
  auto overRows = [&](FloatBuilder::LoopBody body) { return f.loop(f.index(0), f.index(spec.keyDim), 1, zeros, body); };
  // Half of the next strip in each pass.
  int64_t vectors = next ? count / kFloatLanes : 0;
  auto decayOf = [&](Value row) { return decays ? f.load(decays, {row}) : decay; };
  Values recalled = overRows([&](Value row, ValueRange sums) {
    Values sumsNow;
    if (next)
      prefetch(*next, row, 0, vectors / 2);
    Value key = f.load(keys, {row}), factor = decayOf(row);
    for (auto [piece, sum] : llvm::zip_equal(pieces, sums)) {
      Value s = decayed(head, row, piece.column, piece.width, factor);
      sumsNow.push_back(f.fma(s, f.splat(key, piece.width), sum));
    }
    return sumsNow;
  });
  Value firstColumn = f.multiply(head, spec.valueDim);
  Values deltas;
  for (auto [piece, sum] : llvm::zip_equal(pieces, recalled)) {
    Value v = f.loadVector(memrefs.v, {token, f.add(firstColumn, piece.column)}, piece.width);
    deltas.push_back(f.mulf(f.splat(beta, piece.width), f.subf(v, sum)));
  }
  Values outputs = overRows([&](Value row, ValueRange sums) {
    Values sumsNow;
    if (next)
      prefetch(*next, row, vectors / 2, vectors);
    Value key = f.load(keys, {row}), query = f.load(queries, {row}), factor = decayOf(row);
    for (auto [piece, delta, sum] : llvm::zip_equal(pieces, deltas, sums)) {
      // The decayed state is computed again rather than stored: the same product of the same numbers.
      Value s = decayed(head, row, piece.column, piece.width, factor);
      s = f.fma(f.splat(key, piece.width), delta, s);
      f.storeVector(s, memrefs.state, {head, row, piece.column});
      sumsNow.push_back(f.fma(s, f.splat(query, piece.width), sum));
    }
    return sumsNow;
  });
  for (auto [piece, output] : llvm::zip_equal(pieces, outputs))
    f.storeVector(output, memrefs.o, {token, f.add(firstColumn, piece.column)});
}

//===-- Gated norm ------------------------------------------------------------------------------------------------===//

void DeltaEmitter::emitNorm(Value token, Value head) {
  Value first = f.multiply(head, spec.valueDim);
  Value factor = emitNormFactor(f, memrefs.o, {token}, first, spec.valueDim, spec.epsilon);
  auto normAt = [&](Value column, int64_t width) {
    Value at = f.add(first, column), w = f.loadVector(memrefs.w, {column}, width);
    Value y = emitNormed(f, f.loadVector(memrefs.o, {token, at}, width), factor, w, false);
    Value z = f.loadVector(memrefs.z, {token, at}, width);
    return f.mulf(y, spec.sigmoidGate ? f.sigmoid(z) : f.silu(z));
  };
  if (spec.group == 0) {
    f.overVectors(spec.valueDim, [&](Value column, int64_t width) {
      f.storeVector(normAt(column, width), memrefs.y, {token, f.add(first, column)});
    });
    return;
  }
  int64_t groups = spec.valueDim / spec.group;
  f.loop(f.index(0), f.index(groups), 1, [&](Value group) {
    SmallVector<Value, 8> vectors;
    for (int64_t i = 0; i < spec.group; i += kFloatLanes)
      vectors.push_back(normAt(f.add(f.multiply(group, spec.group), i), kFloatLanes));
    quantizeGroup(f, vectors, memrefs.codes, token, f.add(f.multiply(head, groups), group));
  });
}

} // namespace moec
