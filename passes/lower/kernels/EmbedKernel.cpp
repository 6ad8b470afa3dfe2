// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: rows of a streamed table become f32 activations. Step: lower. Main source: docs/pack-format.md.
#include "lib/Pack/RowFormat.h"
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

using namespace mlir;

namespace moec {

llvm::Error check(const EmbedSpec &spec) {
  if (llvm::Error error = checkEncoding(spec.encoding, spec.columns, "embed"))
    return error;
  int64_t needed = rowPayloadBytes(spec.columns, spec.encoding);
  if (spec.maxTokens < 1 || spec.rowBytes < needed)
    return llvm::createStringError("embed expects at least 1 token and %lld bytes a row, but got %lld tokens and %lld "
                                   "bytes",
                                   (long long)needed, (long long)spec.maxTokens, (long long)spec.rowBytes);
  return llvm::Error::success();
}

namespace {

/// One run of the kernel while it is built.
struct RowDecoder {
  FloatBuilder &f;
  const EmbedSpec &spec;
  Value bytes, out;

  Value shiftLeft(Value v, int64_t by) {
    return arith::ShLIOp::create(f.getBuilder(), v.getLoc(), v, f.integerLike(v.getType(), by));
  }
  /// Keeps the sign.
  Value shiftRight(Value v, int64_t by) {
    return arith::ShRSIOp::create(f.getBuilder(), v.getLoc(), v, f.integerLike(v.getType(), by));
  }

  /// Codes [i, i + 16) of a group as i8; `first` is the number of the first in its row, `row` the byte where the row
  /// starts.
  Value loadCodes(Value row, Value first, int64_t i) {
    if (spec.encoding.bits() == 8)
      return f.loadBytes(bytes, f.add(row, first), f.i8(), kFloatLanes);
    OpBuilder &builder = f.getBuilder();
    Location location = bytes.getLoc();
    Value packed = f.loadBytes(bytes, f.add(row, f.divide(first, 2)), f.i8(), kFloatLanes / 2);
    auto interleave = [&](Value even, Value odd) -> Value {
      return vector::InterleaveOp::create(builder, location, even, odd);
    };
    if (spec.encoding.bits() == 4)
      return interleave(shiftRight(shiftLeft(packed, 4), 4), shiftRight(packed, 4));
    auto low = [&](Value v) -> Value {
      return arith::AndIOp::create(builder, location, v, f.integerLike(v.getType(), 0xf));
    };
    Value halves = interleave(low(packed), low(shiftRight(packed, 4)));
    // 8 bytes hold the high bits of 32 columns, 8 columns in each 2 bits.
    Value at = f.add(f.add(row, spec.columns / 2), f.multiply(f.divide(first, 32), 8));
    Value high = f.loadBytes(bytes, at, f.i8(), 8);
    if (i % 32 == 0)
      high = shiftLeft(high, 4);
    // Now bits 4-5 are those of the first 8 columns, bits 6-7 those of the other 8.
    SmallVector<int64_t, 16> both;
    for (int64_t lane = 0; lane < kFloatLanes; ++lane)
      both.push_back(lane);
    Value highs = vector::ShuffleOp::create(builder, location, shiftLeft(high, 2), high, both);
    highs = shiftLeft(shiftRight(highs, 6), 4);
    return arith::OrIOp::create(builder, location, highs, halves);
  }

  void finish(Value y, Value token, Value column) {
    if (spec.multiplier != 1.0f)
      y = f.mulf(y, f.constantLike(y, spec.multiplier));
    f.storeVector(y, out, {token, column});
  }

  Value half(Value at) { return f.extract(f.fromHalf(f.loadBytes(bytes, at, f.getBuilder().getF16Type(), 1)), 0); }

  void emitFloats(Value token) {
    Value row = f.multiply(token, spec.rowBytes);
    bool isHalf = spec.encoding.kind == EncodingKind::f16;
    f.overVectors(spec.columns, [&](Value column, int64_t width) {
      Type element = isHalf ? Type(f.getBuilder().getF16Type()) : f.f32();
      Value values = f.loadBytes(bytes, f.add(row, f.multiply(column, isHalf ? 2 : 4)), element, width);
      finish(isHalf ? f.fromHalf(values) : values, token, column);
    });
  }

  void emitCodes(Value token) {
    Value row = f.multiply(token, spec.rowBytes);
    const int64_t size = spec.encoding.group, numGroups = spec.encoding.numGroups(spec.columns);
    Value scales = f.add(row, rowCodeBytes(spec.columns, spec.encoding));
    f.loop(f.index(0), f.index(numGroups), 1, [&](Value group) {
      Value scaleAt = f.add(scales, f.multiply(group, 2));
      Value scale = f.splat(half(scaleAt)), minimum;
      if (spec.encoding.minimum)
        minimum = f.splat(half(f.add(scaleAt, 2 * numGroups)));
      Value first = f.multiply(group, size);
      for (int64_t i = 0; i < size; i += kFloatLanes) {
        Value column = f.add(first, i);
        Value y = f.mulf(f.toFloat(loadCodes(row, column, i)), scale);
        finish(minimum ? f.addf(y, minimum) : y, token, column);
      }
    });
  }
};

} // namespace

func::FuncOp buildEmbed(KernelContext &context, ModuleOp module, StringRef name, const EmbedSpec &spec) {
  Builder types(module.getContext());
  Type rows = MemRefType::get({spec.maxTokens * spec.rowBytes}, types.getI8Type());
  Type out = MemRefType::get({spec.maxTokens, spec.columns}, types.getF32Type());
  return buildFloatKernel(context, module, name, {rows, out}, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
      RowDecoder decoder{f, spec, a.memrefs[0], a.memrefs[1]};
      spec.encoding.isInteger() ? decoder.emitCodes(token) : decoder.emitFloats(token);
    });
  });
}

} // namespace moec
