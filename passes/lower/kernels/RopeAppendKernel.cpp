// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: head norms, rotary embedding and the append to the KV region (N5). Step: lower.
/// Main source: docs/architecture.md.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"
#include "passes/lower/kernels/KvAccess.h"

using namespace mlir;

namespace moec {

llvm::Error checkKvLayout(const KvLayout &kv, int64_t heads) {
  if (kv.kvHeads < 1 || heads < 1 || heads % kv.kvHeads != 0)
    return llvm::createStringError("attention expects query heads in a multiple of the kv heads, but got %lld and %lld",
                                   (long long)heads, (long long)kv.kvHeads);
  if (llvm::Error error = checkKvHeads(kv))
    return error;
  if (kv.layerOffset < 0 || kv.layerOffset % 64 != 0 || kv.blockBytes < kv.layerOffset + kv.layerBytes() ||
      kv.regionBytes < kv.layerOffset + kv.layerBytes())
    return llvm::createStringError("attention expects a kv layer of %lld bytes at a multiple of 64 inside a block, but "
                                   "got offset %lld, blocks of %lld bytes and a region of %lld bytes",
                                   (long long)kv.layerBytes(), (long long)kv.layerOffset, (long long)kv.blockBytes,
                                   (long long)kv.regionBytes);
  return llvm::Error::success();
}

llvm::Error check(const RopeAppendSpec &spec) {
  if (spec.maxTokens < 1 || spec.rotaryDim < 2 || spec.rotaryDim % 2 != 0 || spec.rotaryDim > spec.kv.keyDim ||
      spec.context < 1)
    return llvm::createStringError("rope expects at least 1 token, 1 position and an even rotary dimension of at most "
                                   "%lld, but got %lld tokens, %lld positions and dimension %lld",
                                   (long long)spec.kv.keyDim, (long long)spec.maxTokens, (long long)spec.context,
                                   (long long)spec.rotaryDim);
  return checkKvLayout(spec.kv, spec.heads);
}

namespace {

/// A run of f32 values in memory: memref[row.., first + i].
struct Run {
  Value memref;
  SmallVector<Value, 3> row;
  Value first;
};

struct RopeAppendEmitter {
  FloatBuilder &f;
  const RopeAppendSpec &spec;
  Value cosine, sine, region;
  Value codes; // scratch i8 [keyDim], for integer caches
  Value block, slot;
  Value position;

  Value load(const Run &run, Value column, int64_t width) {
    SmallVector<Value, 3> indices(run.row);
    indices.push_back(f.add(run.first, column));
    return f.loadVector(run.memref, indices, width);
  }
  void store(Value vector, const Run &run, Value column) {
    SmallVector<Value, 3> indices(run.row);
    indices.push_back(f.add(run.first, column));
    f.storeVector(vector, run.memref, indices);
  }

  Value toStored(Value x) { return spec.kv.element == KvElement::f16 ? f.toHalf(x) : x; }

  /// to = norm(from); `w` is null without head norms.
  void emitHeadNorm(const Run &from, const Run &to, Value w) {
    Value factor;
    if (w)
      factor = emitNormFactor(f, from.memref, from.row, from.first, spec.kv.keyDim, spec.epsilon);
    f.overVectors(spec.kv.keyDim, [&](Value column, int64_t width) {
      Value x = load(from, column, width);
      store(w ? emitNormed(f, x, factor, f.loadVector(w, {column}, width), spec.unitOffset) : x, to, column);
    });
  }

  void emitRotation(const Run &run) {
    int64_t half = spec.rotaryDim / 2;
    f.overVectors(half, [&](Value column, int64_t width) {
      Value c = f.loadVector(cosine, {position, column}, width), s = f.loadVector(sine, {position, column}, width);
      Value upper = f.add(column, half);
      Value a = load(run, column, width), b = load(run, upper, width);
      store(f.subf(f.mulf(a, c), f.mulf(b, s)), run, column);
      store(f.addf(f.mulf(b, c), f.mulf(a, s)), run, upper);
    });
  }

  /// Scale of `count` values from column `first` on; stores it at byte `at` of the region.
  Value emitScale(const Run &run, Value first, int64_t count, Value at) {
    Value lanes = f.overVectors(count, f.zeroVector(), [&](Value column, int64_t width, ValueRange carried) {
      Value x = f.padded(f.abs(load(run, f.add(first, column), width)));
      return FloatBuilder::Values{f.maxIgnoringNan(x, carried[0])};
    })[0];
    Value largest = f.treeMax(lanes);
    if (!spec.kv.isPacked()) {
      FloatBuilder::CodeScale scale = f.codeScale(largest);
      f.storeScalarBytes(scale.scale, region, at);
      return scale.inverse;
    }
    // Codes are computed against the rounded scale, which must be finite.
    Value wanted = f.divf(largest, f.constant(kKvLargestNibble)), most = f.constant(65504.0f);
    wanted = f.select(f.compare(arith::CmpFPredicate::OLE, wanted, most), wanted, most);
    Value half = f.toHalf(f.splat(wanted, 1));
    f.storeBytes(half, region, at);
    Value scale = f.extract(f.fromHalf(half), 0), zero = f.constant(0.0f);
    Value isZero = f.compare(arith::CmpFPredicate::OEQ, scale, zero);
    return f.select(isZero, zero, f.divf(f.constant(1.0f), scale));
  }
  /// Codes of `width` values as bytes.
  Value emitCodes(const Run &run, Value column, int64_t width, Value inverse) {
    float limit = spec.kv.isPacked() ? kKvLargestNibble : 127.0f;
    return f.narrowToBytes(f.encode(load(run, column, width), inverse, limit));
  }
  /// Where the scale of the token's position stands, in row `row` of 64 of the scales at `scales`.
  Value scaleAt(int64_t scales, Value row) {
    int64_t bytes = spec.kv.scaleBytes();
    Value at = f.add(f.multiply(row, kKvBlockPositions * bytes), f.multiply(slot, bytes));
    return f.add(f.add(block, at), scales);
  }

  /// Keys are stored with positions in lanes: columns [keyDim][64], or words of four codes.
  void emitKey(const Run &run, Value head) {
    const KvLayout &kv = spec.kv;
    Value at = f.add(f.add(block, f.multiply(head, kv.codeBytes(kv.keyDim) * kKvBlockPositions)), kv.keyCodes());
    if (kv.isPacked())
      emitHadamard(f, run.memref, kv.keyDim);
    if (!kv.hasScales())
      return f.loop(f.index(0), f.index(kv.keyDim), 1, [&](Value column) {
        Value place = f.add(f.multiply(column, kKvBlockPositions), slot);
        f.storeBytes(toStored(load(run, column, 1)), region, f.add(at, f.multiply(place, kv.codeBytes(1))));
      });
    Value inverse = emitScale(run, f.index(0), kv.keyDim, scaleAt(kv.keyScales(), head));
    f.overVectors(kv.keyDim, [&](Value column, int64_t width) {
      f.storeVector(emitCodes(run, column, width, inverse), codes, {column});
    });
    int64_t columns = kv.isPacked() ? 8 : 4;
    f.loop(f.index(0), f.index(kv.keyDim / columns), 1, [&](Value word) {
      Value column = f.multiply(word, columns), bytes = f.loadVector(codes, {column}, 4);
      if (kv.isPacked())
        bytes = f.packNibbles(bytes, f.loadVector(codes, {f.add(column, 4)}, 4));
      f.storeBytes(bytes, region, f.add(at, f.multiply(f.add(f.multiply(word, kKvBlockPositions), slot), 4)));
    });
  }

  /// Stores the bytes `[first, first + width)` of a value of integers, whose four positions in a word start at `at`.
  void storeWords(Value bytes, Value at, Value first) {
    int64_t width = cast<VectorType>(bytes.getType()).getNumElements();
    for (int64_t i = 0; i < width; ++i)
      f.store(f.extract(bytes, i), region, {f.add(f.add(at, f.multiply(first, 4)), 4 * i)});
  }

  /// `count` columns of a value from column `first` on, which share a scale.
  void emitValueGroup(const Run &run, Value head, Value first, int64_t count, Value at) {
    const KvLayout &kv = spec.kv;
    int64_t groups = kv.valueGroups();
    Value row = groups == 1 ? head : f.add(f.multiply(head, groups), f.divide(first, kKvValueGroup));
    Value inverse = kv.hasScales() ? emitScale(run, first, count, scaleAt(kv.valueScales(), row)) : Value();
    if (kv.isPacked()) {
      Value low = emitCodes(run, first, count / 2, inverse);
      Value high = emitCodes(run, f.add(first, count / 2), count / 2, inverse);
      return storeWords(f.packNibbles(low, high), at, f.divide(first, 2));
    }
    f.overVectors(count, [&](Value column, int64_t width) {
      if (kv.hasScales())
        return storeWords(emitCodes(run, column, width, inverse), at, column);
      f.storeBytes(toStored(load(run, column, width)), region, f.add(at, f.multiply(column, kv.codeBytes(1))));
    });
  }

  void emitValue(const Run &run, Value head) {
    const KvLayout &kv = spec.kv;
    int64_t rowBytes = kv.codeBytes(kv.valueDim);
    Value at = f.add(f.add(block, f.multiply(head, rowBytes * kKvBlockPositions)), kv.valueCodes());
    Value place = f.multiply(slot, rowBytes);
    if (kv.hasScales()) // words of four positions
      place = f.add(f.multiply(f.divide(slot, 4), 4 * rowBytes), f.remainder(slot, 4));
    at = f.add(at, place);
    if (!kv.isPacked())
      return emitValueGroup(run, head, f.index(0), kv.valueDim, at);
    int64_t whole = kv.valueDim / kKvValueGroup * kKvValueGroup;
    if (whole > 0)
      f.loop(f.index(0), f.index(whole), kKvValueGroup,
             [&](Value first) { emitValueGroup(run, head, first, kKvValueGroup, at); });
    if (whole < kv.valueDim)
      emitValueGroup(run, head, f.index(whole), kv.valueDim - whole, at);
  }
};

} // namespace

func::FuncOp buildRopeAppend(KernelContext &context, ModuleOp module, StringRef name, const RopeAppendSpec &spec) {
  const KvLayout &kv = spec.kv;
  Builder builder(module.getContext());
  auto rows = [&](int64_t columns) -> Type { return MemRefType::get({spec.maxTokens, columns}, builder.getF32Type()); };
  SmallVector<Type, 8> types{rows(spec.heads * kv.keyDim), rows(kv.kvHeads * kv.keyDim),
                             rows(kv.kvHeads * kv.valueDim)};
  if (spec.headNorms)
    types.append(2, MemRefType::get({kv.keyDim}, builder.getF32Type()));
  types.append(2, MemRefType::get({spec.context, spec.rotaryDim / 2}, builder.getF32Type()));
  types.push_back(KvWindowValues::typeOf(builder));
  types.push_back(MemRefType::get({kv.regionBytes}, builder.getI8Type()));
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    Value q = a.memrefs[0], k = a.memrefs[1], v = a.memrefs[2];
    Value qNorm = spec.headNorms ? a.memrefs[3] : Value(), kNorm = spec.headNorms ? a.memrefs[4] : Value();
    ValueRange rest = a.memrefs.drop_front(spec.headNorms ? 5 : 3);
    Value key = f.scratch(kv.keyDim, f.f32());
    RopeAppendEmitter emitter{f, spec, rest[0], rest[1], rest[3], f.scratch(kv.keyDim, f.i8()), {}, {}, {}};
    KvWindowValues window = KvWindowValues::load(f, rest[2]);
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
      emitter.position = f.add(a.position, token);
      Value number = f.divide(emitter.position, kKvBlockPositions);
      emitter.block = f.multiply(window.physicalBlock(f, number), kv.blockBytes);
      emitter.slot = f.remainder(emitter.position, kKvBlockPositions);
      f.loop(f.index(0), f.index(spec.heads), 1, [&](Value head) {
        Run run{q, {token}, f.multiply(head, kv.keyDim)};
        if (qNorm)
          emitter.emitHeadNorm(run, run, qNorm);
        emitter.emitRotation(run);
      });
      f.loop(f.index(0), f.index(kv.kvHeads), 1, [&](Value head) {
        Run run{key, {}, f.index(0)};
        emitter.emitHeadNorm({k, {token}, f.multiply(head, kv.keyDim)}, run, kNorm);
        emitter.emitRotation(run);
        emitter.emitKey(run, head);
        emitter.emitValue({v, {token}, f.multiply(head, kv.valueDim)}, head);
      });
    });
  });
}

} // namespace moec
