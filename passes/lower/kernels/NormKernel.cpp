// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: root-mean-square norm of a token, optionally with int8 activations. Step: lower.
/// Main source: docs/architecture.md.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

using namespace mlir;

namespace moec {

llvm::Error check(const NormSpec &spec) {
  if (spec.maxTokens < 1 || spec.columns < 1 || !(spec.storesFloat || spec.group > 0))
    return llvm::createStringError("norm expects at least 1 token, 1 column and a result, but got %lld tokens and %lld "
                                   "columns",
                                   (long long)spec.maxTokens, (long long)spec.columns);
  if (spec.group == 0)
    return llvm::Error::success();
  return check(QuantizeSpec{spec.maxTokens, spec.columns, spec.group});
}

Value emitNormFactor(FloatBuilder &f, Value x, ArrayRef<Value> row, Value first, int64_t count, float epsilon) {
  Value mean = f.divf(f.sumOfSquares(x, row, first, count), f.constant((float)count));
  return f.divf(f.constant(1.0f), f.sqrt(f.addf(mean, f.constant(epsilon))));
}

Value emitNormed(FloatBuilder &f, Value x, Value factor, Value w, bool unitOffset) {
  if (unitOffset)
    w = f.addf(w, f.constantLike(w, 1.0f));
  return f.mulf(f.mulf(x, f.splat(factor, cast<VectorType>(x.getType()).getNumElements())), w);
}

namespace {

void emitToken(FloatBuilder &f, const NormSpec &spec, ValueRange memrefs, Value token) {
  Value x = memrefs[0], w = memrefs[1];
  Value factor = emitNormFactor(f, x, {token}, f.index(0), spec.columns, spec.epsilon);
  const bool storesBoth = spec.storesFloat && spec.group > 0;
  emitRow(f, token, spec.columns, spec.group, memrefs.drop_front(storesBoth ? 3 : 2), [&](Value column, int64_t width) {
    Value y = emitNormed(f, f.loadVector(x, {token, column}, width), factor, f.loadVector(w, {column}, width),
                         spec.unitOffset);
    if (storesBoth)
      f.storeVector(y, memrefs[2], {token, column});
    return y;
  });
}

} // namespace

func::FuncOp buildNorm(KernelContext &context, ModuleOp module, StringRef name, const NormSpec &spec) {
  Builder builder(module.getContext());
  Type rows = MemRefType::get({spec.maxTokens, spec.columns}, builder.getF32Type());
  SmallVector<Type, 6> types{rows, MemRefType::get({spec.columns}, builder.getF32Type())};
  if (spec.storesFloat)
    types.push_back(rows);
  if (spec.group > 0)
    appendActivationTypes(types, builder, spec.maxTokens, spec.columns, spec.group);
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) { emitToken(f, spec, a.memrefs, token); });
  });
}

} // namespace moec
