// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels: gated linear unit of a dense feed-forward network, and values scaled by a gate; both can quantize their
/// result. Step: lower. Main source: docs/architecture.md.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

using namespace mlir;

namespace moec {

static llvm::Error checkRows(StringRef what, int64_t maxTokens, int64_t columns, int64_t group) {
  if (maxTokens < 1 || columns < 1)
    return llvm::createStringError("%s expects at least 1 token and 1 column, but got %lld tokens and %lld columns",
                                   what.str().c_str(), (long long)maxTokens, (long long)columns);
  return group == 0 ? llvm::Error::success() : check(QuantizeSpec{maxTokens, columns, group});
}

llvm::Error check(const GluSpec &spec) { return checkRows("glu", spec.maxTokens, spec.columns, spec.group); }

llvm::Error check(const GateSpec &spec) { return checkRows("gate", spec.maxTokens, spec.columns, spec.group); }

/// The types of a row's result: floats, or codes, scales and sums.
static void appendResultTypes(SmallVectorImpl<Type> &types, Builder &builder, int64_t maxTokens, int64_t columns,
                              int64_t group) {
  if (group > 0)
    return appendActivationTypes(types, builder, maxTokens, columns, group);
  types.push_back(MemRefType::get({maxTokens, columns}, builder.getF32Type()));
}

func::FuncOp buildGlu(KernelContext &context, ModuleOp module, StringRef name, const GluSpec &spec) {
  Builder builder(module.getContext());
  SmallVector<Type, 5> types(2, MemRefType::get({spec.maxTokens, spec.columns}, builder.getF32Type()));
  appendResultTypes(types, builder, spec.maxTokens, spec.columns, spec.group);
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    Value gate = a.memrefs[0], up = a.memrefs[1];
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
      emitRow(f, token, spec.columns, spec.group, a.memrefs.drop_front(2), [&](Value column, int64_t width) {
        Value x = f.loadVector(gate, {token, column}, width);
        return f.mulf(buildSilu(f.getBuilder(), gate.getLoc(), x), f.loadVector(up, {token, column}, width));
      });
    });
  });
}

func::FuncOp buildGate(KernelContext &context, ModuleOp module, StringRef name, const GateSpec &spec) {
  Builder builder(module.getContext());
  Type rows = MemRefType::get({spec.maxTokens, spec.columns}, builder.getF32Type());
  Type one = MemRefType::get({spec.maxTokens, 1}, builder.getF32Type());
  SmallVector<Type, 6> types{rows, spec.isPerToken ? one : rows};
  if (spec.hasResidual)
    types.push_back(rows);
  appendResultTypes(types, builder, spec.maxTokens, spec.columns, spec.group);
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    Value x = a.memrefs[0], g = a.memrefs[1], residual = spec.hasResidual ? a.memrefs[2] : Value();
    auto activate = [&](Value value) {
      auto build = spec.activation == Activation::silu ? buildSilu : buildSigmoid;
      return build(f.getBuilder(), g.getLoc(), value);
    };
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
      Value factor = spec.isPerToken ? activate(f.load(g, {token, f.index(0)})) : Value();
      ValueRange outs = a.memrefs.drop_front(spec.hasResidual ? 3 : 2);
      emitRow(f, token, spec.columns, spec.group, outs, [&](Value column, int64_t width) {
        Value scale = factor ? f.splat(factor, width) : activate(f.loadVector(g, {token, column}, width));
        Value y = f.mulf(f.loadVector(x, {token, column}, width), scale);
        return residual ? f.addf(f.loadVector(residual, {token, column}, width), y) : y;
      });
    });
  });
}

} // namespace moec
