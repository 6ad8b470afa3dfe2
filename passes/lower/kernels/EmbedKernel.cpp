// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: rows of a streamed table become f32 activations. Step: lower. Main source: docs/pack-format.md.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

using namespace mlir;

namespace moec {

llvm::Error check(const EmbedSpec &spec) {
  int64_t needed = spec.columns * 4;
  if (spec.encoding != RowEncoding::f32) {
    if (spec.group < kFloatLanes || spec.group % kFloatLanes != 0 || spec.columns % spec.group != 0)
      return llvm::createStringError("embed expects a group that is a multiple of 16 and divides the columns, but got "
                                     "group %lld and %lld columns",
                                     (long long)spec.group, (long long)spec.columns);
    needed = spec.columns / (spec.encoding == RowEncoding::i8 ? 1 : 2) + spec.columns / spec.group * 2;
  }
  if (spec.maxTokens < 1 || spec.columns < 1 || spec.rowBytes < needed)
    return llvm::createStringError("embed expects at least 1 token, 1 column and %lld bytes a row, but got %lld "
                                   "tokens, %lld columns and %lld bytes",
                                   (long long)needed, (long long)spec.maxTokens, (long long)spec.columns,
                                   (long long)spec.rowBytes);
  return llvm::Error::success();
}

namespace {

/// 16 codes as f32; `first` is the number of the first, `row` the byte where the row starts.
Value loadCodes(FloatBuilder &f, const EmbedSpec &spec, Value bytes, Value row, Value first) {
  if (spec.encoding == RowEncoding::i8)
    return f.toFloat(f.loadBytes(bytes, f.add(row, first), f.i8(), kFloatLanes));
  OpBuilder &builder = f.getBuilder();
  Location location = bytes.getLoc();
  Value packed = f.loadBytes(bytes, f.add(row, f.divide(first, 2)), f.i8(), kFloatLanes / 2);
  Value four = f.integerLike(packed.getType(), 4);
  Value high = arith::ShRSIOp::create(builder, location, packed, four);
  Value shifted = arith::ShLIOp::create(builder, location, packed, four);
  Value low = arith::ShRSIOp::create(builder, location, shifted, four);
  return f.toFloat(vector::InterleaveOp::create(builder, location, low, high));
}

void emitRow(FloatBuilder &f, const EmbedSpec &spec, Value bytes, Value out, Value token) {
  Value row = f.multiply(token, spec.rowBytes);
  auto finish = [&](Value y, Value column) {
    if (spec.multiplier != 1.0f)
      y = f.mulf(y, f.constantLike(y, spec.multiplier));
    f.storeVector(y, out, {token, column});
  };
  if (spec.encoding == RowEncoding::f32) {
    f.overVectors(spec.columns, [&](Value column, int64_t width) {
      finish(f.loadBytes(bytes, f.add(row, f.multiply(column, 4)), f.f32(), width), column);
    });
    return;
  }
  int64_t codeBytes = spec.encoding == RowEncoding::i8 ? spec.columns : spec.columns / 2;
  Value scales = f.add(row, codeBytes);
  f.loop(f.index(0), f.index(spec.columns / spec.group), 1, [&](Value group) {
    Value half = f.loadBytes(bytes, f.add(scales, f.multiply(group, 2)), f.getBuilder().getF16Type(), 1);
    Value scale = f.extract(f.fromHalf(half), 0);
    Value first = f.multiply(group, spec.group);
    for (int64_t i = 0; i < spec.group; i += kFloatLanes) {
      Value column = f.add(first, i);
      finish(f.mulf(loadCodes(f, spec, bytes, row, column), f.splat(scale)), column);
    }
  });
}

} // namespace

func::FuncOp buildEmbed(KernelContext &context, ModuleOp module, StringRef name, const EmbedSpec &spec) {
  Builder types(module.getContext());
  Type rows = MemRefType::get({spec.maxTokens * spec.rowBytes}, types.getI8Type());
  Type out = MemRefType::get({spec.maxTokens, spec.columns}, types.getF32Type());
  return buildFloatKernel(context, module, name, {rows, out}, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) { emitRow(f, spec, a.memrefs[0], a.memrefs[1], token); });
  });
}

} // namespace moec
