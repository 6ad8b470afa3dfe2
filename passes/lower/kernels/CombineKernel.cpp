// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: weighted sum of the expert outputs of a token in rank order (N7), and the residual. Step: lower.
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

using namespace mlir;

namespace moec {

llvm::Error check(const CombineSpec &spec) {
  if (spec.maxTokens < 1 || spec.columns < 1 || spec.topK < 1)
    return llvm::createStringError("combine expects at least 1 token, 1 column and 1 expert, but got %lld tokens, %lld "
                                   "columns and %lld experts",
                                   (long long)spec.maxTokens, (long long)spec.columns, (long long)spec.topK);
  return llvm::Error::success();
}

func::FuncOp buildCombine(KernelContext &context, ModuleOp module, StringRef name, const CombineSpec &spec) {
  Builder builder(module.getContext());
  Type rows = MemRefType::get({spec.maxTokens, spec.columns}, builder.getF32Type());
  Type pairs = MemRefType::get({spec.maxTokens * spec.topK, spec.columns}, builder.getF32Type());
  Type weights = MemRefType::get({spec.maxTokens, spec.topK}, builder.getF32Type());
  return buildFloatKernel(
      context, module, name, {rows, pairs, weights, rows}, [&](FloatBuilder &f, const FloatKernelArguments &a) {
        f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
          Value pair = f.multiply(token, spec.topK);
          f.overVectors(spec.columns, [&](Value column, int64_t width) {
            auto output = [&](Value rank) { return f.loadVector(a.memrefs[1], {f.add(pair, rank), column}, width); };
            auto weight = [&](Value rank) { return f.splat(f.load(a.memrefs[2], {token, rank}), width); };
            Value first = f.mulf(weight(f.index(0)), output(f.index(0)));
            Value sum = f.loop(f.index(1), a.count, 1, first, [&](Value rank, ValueRange carried) {
              return FloatBuilder::Values{f.fma(weight(rank), output(rank), carried[0])};
            })[0];
            Value residual = f.loadVector(a.memrefs[0], {token, column}, width);
            f.storeVector(f.addf(residual, sum), a.memrefs[3], {token, column});
          });
        });
      });
}

} // namespace moec
