// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of the routed experts: gate|up with activation and quantization, and down. Both work on the (token, rank)
/// pairs of one expert, whose record is contiguous. Step: lower. Main source: docs/architecture.md, "Kernels".
#include "passes/lower/kernels/FloatKernels.h"
#include "passes/lower/kernels/Linear.h"

using namespace mlir;

namespace moec {

static llvm::Error checkPlace(const MatrixSpec &matrix, StringRef what, int64_t recordBytes, LayoutFamily family) {
  if (llvm::Error error = check(matrix, what))
    return error;
  int64_t end = matrix.offsetBytes + matrix.layout(family).totalBytes();
  if (matrix.offsetBytes < 0 || matrix.offsetBytes % 64 != 0 || end > recordBytes)
    return llvm::createStringError("%s expects a multiple of 64 as offset and its end inside the record of %lld bytes, "
                                   "but got bytes %lld to %lld",
                                   what.str().c_str(), (long long)recordBytes, (long long)matrix.offsetBytes,
                                   (long long)end);
  return llvm::Error::success();
}

llvm::Error check(const ExpertsSpec &spec, LayoutFamily family) {
  for (auto [matrix, what] : {std::pair(&spec.gate, "gate"), std::pair(&spec.up, "up"), std::pair(&spec.down, "down")})
    if (llvm::Error error = checkPlace(*matrix, what, spec.recordBytes, family))
      return error;
  const MatrixSpec &gate = spec.gate, &up = spec.up, &down = spec.down;
  if (gate.rows != up.rows || gate.columns != up.columns)
    return llvm::createStringError("experts expect gate and up of one shape, but got %lld x %lld and %lld x %lld",
                                   (long long)gate.rows, (long long)gate.columns, (long long)up.rows,
                                   (long long)up.columns);
  if (down.columns != gate.rows)
    return llvm::createStringError("experts expect as many columns of down as rows of gate, but got %lld and %lld",
                                   (long long)down.columns, (long long)gate.rows);
  if (spec.topK < 1 || spec.maxTokens < 1)
    return llvm::createStringError("experts expect at least 1 token and 1 expert, but got %lld and %lld",
                                   (long long)spec.maxTokens, (long long)spec.topK);
  int64_t block = down.layout(family).rowTile();
  if (spec.rowsPerTile < block || spec.rowsPerTile % block != 0)
    return llvm::createStringError("experts expect a multiple of %lld as rows of a tile, but got %lld",
                                   (long long)block, (long long)spec.rowsPerTile);
  return llvm::Error::success();
}

namespace {

/// Pairs [first, first + width) of an expert.
SmallVector<Value, 8> loadPairs(FloatBuilder &f, Value pairs, Value first, int64_t width) {
  SmallVector<Value, 8> result;
  for (int64_t i = 0; i < width; ++i)
    result.push_back(f.i32ToIndex(f.load(pairs, {f.add(first, i)})));
  return result;
}

/// One run of expertsGateUp while it is built.
struct GateUpBuilder {
  FloatBuilder &f;
  const ExpertsSpec &spec;
  DotEmitter gate, up;
  Value pairs;
  ActivationRows h;
  /// f32 [tokens of a block][columns of a tile].
  Value scratch;

  SmallVector<Value, 8> tokensOf(ArrayRef<Value> pairsOfBlock) {
    SmallVector<Value, 8> result;
    for (Value pair : pairsOfBlock)
      result.push_back(f.divide(pair, spec.topK));
    return result;
  }

  void copyRows(Value first, int64_t width) {
    if (width == 1)
      return;
    SmallVector<Value, 8> tokens = tokensOf(loadPairs(f, pairs, first, width));
    if (gate.copiesRows())
      gate.copyRows(tokens);
    if (up.copiesRows() && !isCopyShared())
      up.copyRows(tokens);
  }

  void reserveCopies() {
    if (gate.copiesRows())
      gate.reserveCopy();
    if (isCopyShared())
      up.shareCopy(gate);
    else if (up.copiesRows())
      up.reserveCopy();
  }

  bool isCopyShared() const {
    return gate.copiesRows() && !spec.hasOwnUpRows() && spec.gate.encoding == spec.up.encoding;
  }

  /// Where the value `number` of dot.emitBlocks lies in the scratch memory, for rows from `row` of the tile on.
  SmallVector<Value, 2> placeOf(const DotEmitter &dot, size_t number, int64_t width, Value row) {
    return {f.index((int64_t)number % width), f.add(row, (int64_t)number / width * dot.rowBlock())};
  }

  /// Rows in blocks of `dot`: on ARM those of floats have 16 rows, those of codes 8.
  void overRows(const DotEmitter &dot, Value begin, Value end, function_ref<void(Value, int64_t)> body) {
    const int64_t together = spec.maxTokens > 1 ? dot.rowBlocksAtOnce() : 1;
    overRowBlocks(f, begin, end, spec.gate.rows, dot.rowBlock(), together, body);
  }

  void emitBlock(Value tile, Value first, int64_t width) {
    SmallVector<Value, 8> pairOf = loadPairs(f, pairs, first, width), tokenOf = tokensOf(pairOf);
    Value begin = f.multiply(tile, spec.columnsPerTile());
    Value end = f.minimum(f.add(begin, spec.columnsPerTile()), f.index(spec.gate.rows));
    // All rows of gate before those of up: the results of gate would take the registers that the products of up need.
    overRows(gate, begin, end, [&](Value row, int64_t numBlocks) {
      for (auto [i, sum] : llvm::enumerate(gate.emitBlocks(row, numBlocks, tokenOf)))
        f.storeVector(sum, scratch, placeOf(gate, i, width, f.subtract(row, begin)));
    });
    const bool isQuantized = spec.down.encoding.isInteger();
    overRows(up, begin, end, [&](Value row, int64_t numBlocks) {
      for (auto [i, sum] : llvm::enumerate(up.emitBlocks(row, numBlocks, tokenOf))) {
        auto place = placeOf(up, i, width, f.subtract(row, begin));
        Value value =
            f.mulf(buildSilu(f.getBuilder(), pairs.getLoc(), f.loadVector(scratch, place, up.rowBlock())), sum);
        if (isQuantized)
          f.storeVector(value, scratch, place);
        else
          storeInside(f, value, h.floats, pairOf[i % width], f.add(row, (int64_t)i / width * up.rowBlock()),
                      spec.gate.rows);
      }
    });
    if (!isQuantized)
      return;
    for (auto [i, pair] : llvm::enumerate(pairOf)) {
      SmallVector<Value, 8> vectors;
      for (int64_t column = 0; column < spec.columnsPerTile(); column += kFloatLanes)
        vectors.push_back(f.loadVector(scratch, {f.index(i), f.index(column)}));
      quantizeGroup(f, vectors, {h.codes, h.scales, h.sums}, pair, tile);
    }
  }
};

} // namespace

func::FuncOp buildExpertsGateUp(KernelContext &context, ModuleOp module, StringRef name, const ExpertsSpec &spec) {
  Builder builder(module.getContext());
  SmallVector<Type, 8> types{MemRefType::get({spec.recordBytes}, builder.getI8Type()),
                             MemRefType::get({spec.maxPairs()}, builder.getI32Type())};
  appendRowTypes(types, builder, spec.gate, spec.maxTokens);
  if (spec.hasOwnUpRows())
    appendRowTypes(types, builder, spec.up, spec.maxTokens);
  appendRowTypes(types, builder, spec.down, spec.maxPairs());
  return buildProductKernel(
      context, module, name, types, 3, [&](FloatBuilder &f, ValueRange memrefs, ValueRange indices) {
        Value record = memrefs[0], pairs = memrefs[1];
        memrefs = memrefs.drop_front(2);
        ActivationRows x = takeRows(memrefs, spec.gate);
        ActivationRows upInput = spec.hasOwnUpRows() ? takeRows(memrefs, spec.up) : x;
        ActivationRows h = takeRows(memrefs, spec.down);
        DotEmitter gate(context.isa, f, spec.gate, record, x), up(context.isa, f, spec.up, record, upInput);
        DotEmitter &narrower = gate.widestBlock() < up.widestBlock() ? gate : up;
        int64_t widest = narrower.widestBlock();
        Value scratch = memref::AllocaOp::create(f.getBuilder(), record.getLoc(),
                                                 MemRefType::get({widest, spec.columnsPerTile()}, builder.getF32Type()),
                                                 builder.getI64IntegerAttr(64));
        GateUpBuilder body{f, spec, gate, up, pairs, h, scratch};
        // A token meets an expert at most once, so the pairs of one expert are at most the tokens.
        if (!gate.copiesRows() && !up.copiesRows()) {
          f.loop(indices[1], indices[2], 1, [&](Value tile) {
            narrower.overTokens(indices[0], spec.maxTokens,
                                [&](Value first, int64_t width) { body.emitBlock(tile, first, width); });
          });
          return;
        }
        body.reserveCopies();
        overBlocks(f, indices[0], spec.maxTokens, widest, [&](Value first, int64_t width) {
          body.copyRows(first, width);
          f.loop(indices[1], indices[2], 1, [&](Value tile) { body.emitBlock(tile, first, width); });
        });
      });
}

func::FuncOp buildExpertsDown(KernelContext &context, ModuleOp module, StringRef name, const ExpertsSpec &spec) {
  Builder builder(module.getContext());
  SmallVector<Type, 8> types{MemRefType::get({spec.recordBytes}, builder.getI8Type()),
                             MemRefType::get({spec.maxPairs()}, builder.getI32Type())};
  appendRowTypes(types, builder, spec.down, spec.maxPairs());
  types.push_back(MemRefType::get({spec.maxPairs(), spec.down.rows}, builder.getF32Type()));
  return buildProductKernel(
      context, module, name, types, 3, [&](FloatBuilder &f, ValueRange memrefs, ValueRange indices) {
        Value record = memrefs[0], pairs = memrefs[1], y = memrefs.back();
        memrefs = memrefs.drop_front(2);
        ActivationRows h = takeRows(memrefs, spec.down);
        DotEmitter dot(context.isa, f, spec.down, record, h);
        Value begin = f.multiply(indices[1], spec.rowsPerTile);
        Value end = f.minimum(f.multiply(indices[2], spec.rowsPerTile), f.index(spec.down.rows));
        auto rowsOf = [&](Value first, int64_t width) { return loadPairs(f, pairs, first, width); };
        auto store = [&](Value row, int64_t numBlocks, ArrayRef<Value> pairOf) {
          for (auto [i, sum] : llvm::enumerate(dot.emitBlocks(row, numBlocks, pairOf))) {
            Value at = f.add(row, int64_t(i / pairOf.size()) * dot.rowBlock());
            storeInside(f, sum, y, pairOf[i % pairOf.size()], at, spec.down.rows);
          }
        };
        dot.overProducts(begin, end, spec.rowsPerTile, indices[0], spec.maxTokens, rowsOf, store);
      });
}

} // namespace moec
