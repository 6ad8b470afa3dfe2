// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernel: y = W x, with or without a bias and a residual. Step: lower. Main source: docs/architecture.md, "Kernels".
#include "passes/lower/kernels/Linear.h"

using namespace mlir;

namespace moec {

llvm::Error check(const LinearSpec &spec, LayoutFamily family) {
  if (llvm::Error error = check(spec.matrix, "linear"))
    return error;
  if (spec.maxTokens < 1)
    return llvm::createStringError("linear expects at least 1 token, but got %lld", (long long)spec.maxTokens);
  int64_t block = spec.matrix.layout(family).rowTile();
  if (spec.rowsPerTile < block || spec.rowsPerTile % block != 0)
    return llvm::createStringError("linear expects a multiple of %lld as rows of a tile, but got %lld",
                                   (long long)block, (long long)spec.rowsPerTile);
  return llvm::Error::success();
}

func::FuncOp buildProductKernel(KernelContext &context, ModuleOp module, StringRef name, ArrayRef<Type> memrefs,
                                int64_t numIndices, function_ref<void(FloatBuilder &, ValueRange, ValueRange)> body) {
  OpBuilder &builder = context.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  Location location = context.location;
  SmallVector<Type, 12> types(memrefs);
  types.append(numIndices, builder.getIndexType());
  auto function = func::FuncOp::create(builder, location, name, builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  FloatBuilder floats(builder, location);
  ValueRange arguments = entry->getArguments();
  body(floats, arguments.take_front(memrefs.size()), arguments.drop_front(memrefs.size()));
  func::ReturnOp::create(builder, location);
  return function;
}

func::FuncOp buildLinear(KernelContext &context, ModuleOp module, StringRef name, const LinearSpec &spec) {
  Builder builder(module.getContext());
  Type y = MemRefType::get({spec.maxTokens, spec.matrix.rows}, builder.getF32Type());
  int64_t bytes = spec.matrix.offsetBytes + spec.matrix.layout(context.family()).totalBytes();
  SmallVector<Type, 8> types{MemRefType::get({bytes}, builder.getI8Type())};
  appendRowTypes(types, builder, spec.matrix, spec.maxTokens);
  if (spec.hasBias)
    types.push_back(MemRefType::get({spec.matrix.rows}, builder.getF32Type()));
  types.append(spec.hasResidual ? 2 : 1, y);
  return buildProductKernel(
      context, module, name, types, 4, [&](FloatBuilder &f, ValueRange memrefs, ValueRange indices) {
        Value n = indices[0], tileBegin = indices[2], tileEnd = indices[3];
        Value weights = memrefs.front();
        memrefs = memrefs.drop_front();
        ActivationRows rows = takeRows(memrefs, spec.matrix);
        Value bias = spec.hasBias ? memrefs.front() : Value();
        memrefs = memrefs.drop_front(spec.hasBias ? 1 : 0);
        Value residual = memrefs.front(), out = memrefs.back();
        DotEmitter dot(context.isa, f, spec.matrix, weights, rows);
        // Work in rows: the last tile ends with the matrix.
        Value begin = f.multiply(tileBegin, spec.rowsPerTile);
        Value end = f.minimum(f.multiply(tileEnd, spec.rowsPerTile), f.index(spec.matrix.rows));
        auto rowsOf = [&](Value first, int64_t width) { return DotEmitter::indices(f, first, width); };
        auto store = [&](Value row, int64_t numBlocks, ArrayRef<Value> tokens) {
          for (auto [i, sum] : llvm::enumerate(dot.emitBlocks(row, numBlocks, tokens))) {
            Value token = tokens[i % tokens.size()], result = sum;
            Value at = f.add(row, int64_t(i / tokens.size()) * dot.rowBlock());
            if (bias)
              result = f.addf(result, loadInside(f, bias, {}, at, spec.matrix.rows, dot.rowBlock()));
            if (spec.hasResidual)
              result = f.addf(loadInside(f, residual, token, at, spec.matrix.rows, dot.rowBlock()), result);
            storeInside(f, result, out, token, at, spec.matrix.rows);
          }
        };
        dot.overProducts(begin, end, spec.rowsPerTile, n, spec.maxTokens, rowsOf, store);
      });
}

} // namespace moec
