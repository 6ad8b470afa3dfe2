// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: activations to int8 by token and group (N4). Step: lower. Main source: docs/architecture.md.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

using namespace mlir;

namespace moec {

llvm::Error check(const QuantizeSpec &spec) {
  if (spec.maxTokens < 1 || spec.group < kFloatLanes || spec.group % kFloatLanes != 0 || spec.columns < 1 ||
      spec.columns % spec.group != 0)
    return llvm::createStringError("quantize expects at least 1 token and a group that is a multiple of 16 and divides "
                                   "the columns, but got %lld tokens, group %lld and %lld columns",
                                   (long long)spec.maxTokens, (long long)spec.group, (long long)spec.columns);
  return llvm::Error::success();
}

void quantizeGroup(FloatBuilder &f, ArrayRef<Value> vectors, const ActivationMemrefs &out, Value token, Value group) {
  Value largest = f.zeroVector();
  for (Value x : vectors)
    largest = f.maxIgnoringNan(f.abs(x), largest);
  FloatBuilder::CodeScale scale = f.codeScale(f.treeMax(largest));
  Value first = f.multiply(group, (int64_t)vectors.size() * kFloatLanes);
  Value total;
  for (auto [i, x] : llvm::enumerate(vectors)) {
    Value codes = f.encode(x, scale.inverse);
    f.storeVector(f.narrowToBytes(codes), out.codes, {token, f.add(first, (int64_t)i * kFloatLanes)});
    total = i == 0 ? codes : f.add(total, codes);
  }
  Value sum = vector::ReductionOp::create(f.getBuilder(), token.getLoc(), vector::CombiningKind::ADD, total);
  f.store(scale.scale, out.scales, {token, group});
  f.store(sum, out.sums, {token, group});
}

void emitRow(FloatBuilder &f, Value token, int64_t columns, int64_t group, ValueRange outs,
             function_ref<Value(Value, int64_t)> valueAt) {
  if (group == 0) {
    f.overVectors(columns, [&](Value column, int64_t width) {
      f.storeVector(valueAt(column, width), outs.front(), {token, column});
    });
    return;
  }
  f.loop(f.index(0), f.index(columns / group), 1, [&](Value number) {
    Value first = f.multiply(number, group);
    SmallVector<Value, 8> vectors;
    for (int64_t i = 0; i < group; i += kFloatLanes)
      vectors.push_back(valueAt(f.add(first, i), kFloatLanes));
    quantizeGroup(f, vectors, {outs[0], outs[1], outs[2]}, token, number);
  });
}

void appendActivationTypes(SmallVectorImpl<Type> &types, Builder &builder, int64_t maxTokens, int64_t columns,
                           int64_t group) {
  types.push_back(MemRefType::get({maxTokens, columns}, builder.getI8Type()));
  types.push_back(MemRefType::get({maxTokens, columns / group}, builder.getF32Type()));
  types.push_back(MemRefType::get({maxTokens, columns / group}, builder.getI32Type()));
}

func::FuncOp buildQuantize(KernelContext &context, ModuleOp module, StringRef name, const QuantizeSpec &spec) {
  Builder builder(module.getContext());
  SmallVector<Type, 4> types{MemRefType::get({spec.maxTokens, spec.columns}, builder.getF32Type())};
  appendActivationTypes(types, builder, spec.maxTokens, spec.columns, spec.group);
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
      emitRow(f, token, spec.columns, spec.group, a.memrefs.drop_front(),
              [&](Value column, int64_t width) { return f.loadVector(a.memrefs[0], {token, column}, width); });
    });
  });
}

} // namespace moec
