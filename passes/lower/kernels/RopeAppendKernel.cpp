// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: head norms, rotary embedding and the append to the KV region (N5). Step: lower.
/// Main source: docs/architecture.md.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

using namespace mlir;

namespace moec {

int64_t KvLayout::elementBytes() const { return element == KvElement::f32 ? 4 : element == KvElement::f16 ? 2 : 1; }

llvm::Error checkKvLayout(const KvLayout &kv, int64_t heads) {
  if (kv.kvHeads < 1 || heads < 1 || heads % kv.kvHeads != 0)
    return llvm::createStringError("attention expects query heads in a multiple of the kv heads, but got %lld and %lld",
                                   (long long)heads, (long long)kv.kvHeads);
  if (kv.keyDim < 8 || kv.keyDim % 8 != 0 || kv.valueDim < 8 || kv.valueDim % 8 != 0)
    return llvm::createStringError("attention expects head dimensions that are multiples of 8, but got %lld for keys "
                                   "and %lld for values",
                                   (long long)kv.keyDim, (long long)kv.valueDim);
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
  Value codes; // scratch i8 [keyDim], for i8 caches
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

  /// Scale of a head; stores it at byte `scaleAt` of the block.
  FloatBuilder::CodeScale emitScale(const Run &run, int64_t dim, int64_t scaleAt, Value head) {
    Value lanes = f.overVectors(dim, f.zeroVector(), [&](Value column, int64_t width, ValueRange carried) {
      return FloatBuilder::Values{f.maxIgnoringNan(f.padded(f.abs(load(run, column, width))), carried[0])};
    })[0];
    FloatBuilder::CodeScale scale = f.codeScale(f.treeMax(lanes));
    Value at = f.add(f.multiply(head, kKvBlockPositions * 4), f.multiply(slot, 4));
    f.storeScalarBytes(scale.scale, region, f.add(block, f.add(at, scaleAt)));
    return scale;
  }

  /// Keys are stored with positions innermost, so that attention has positions in lanes.
  void emitKey(const Run &run, Value head) {
    const KvLayout &kv = spec.kv;
    int64_t bytes = kv.elementBytes();
    Value at = f.add(f.add(block, f.multiply(head, kv.keyDim * kKvBlockPositions * bytes)), kv.keyCodes());
    at = f.add(at, f.multiply(slot, bytes));
    if (kv.element == KvElement::i8) {
      FloatBuilder::CodeScale scale = emitScale(run, kv.keyDim, kv.keyScales(), head);
      f.overVectors(kv.keyDim, [&](Value column, int64_t width) {
        f.storeVector(f.narrowToBytes(f.encode(load(run, column, width), scale.inverse)), codes, {column});
      });
    }
    f.loop(f.index(0), f.index(kv.keyDim), 1, [&](Value column) {
      Value to = f.add(at, f.multiply(column, kKvBlockPositions * bytes));
      if (kv.element == KvElement::i8) {
        f.store(f.load(codes, {column}), region, {to});
        return;
      }
      f.storeBytes(toStored(load(run, column, 1)), region, to);
    });
  }

  void emitValue(const Run &run, Value head) {
    const KvLayout &kv = spec.kv;
    int64_t bytes = kv.elementBytes();
    Value at = f.add(f.add(block, f.multiply(head, kv.valueDim * kKvBlockPositions * bytes)), kv.valueCodes());
    at = f.add(at, f.multiply(slot, kv.valueDim * bytes));
    FloatBuilder::CodeScale scale;
    if (kv.element == KvElement::i8)
      scale = emitScale(run, kv.valueDim, kv.valueScales(), head);
    f.overVectors(kv.valueDim, [&](Value column, int64_t width) {
      Value x = load(run, column, width);
      x = kv.element == KvElement::i8 ? f.narrowToBytes(f.encode(x, scale.inverse)) : toStored(x);
      f.storeBytes(x, region, f.add(at, f.multiply(column, bytes)));
    });
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
  types.push_back(MemRefType::get({kv.regionBytes}, builder.getI8Type()));
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    Value q = a.memrefs[0], k = a.memrefs[1], v = a.memrefs[2];
    Value qNorm = spec.headNorms ? a.memrefs[3] : Value(), kNorm = spec.headNorms ? a.memrefs[4] : Value();
    ValueRange rest = a.memrefs.drop_front(spec.headNorms ? 5 : 3);
    Value key = f.scratch(kv.keyDim, f.f32());
    RopeAppendEmitter emitter{f, spec, rest[0], rest[1], rest[2], f.scratch(kv.keyDim, f.i8()), {}, {}, {}};
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
      emitter.position = f.add(a.position, token);
      emitter.block = f.multiply(f.divide(emitter.position, kKvBlockPositions), kv.blockBytes);
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
