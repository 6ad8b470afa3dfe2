// SPDX-License-Identifier: Apache-2.0
/// \file
/// Inner products: sizes, f32 weights, and what the integer forms of all ISAs share. Step: lower.
/// Main source: docs/pack-format.md.
#include "passes/lower/kernels/Dot.h"

#include "passes/lower/kernels/FloatKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace moec {

//===-- Specs ---------------------------------------------------------------===//

Layout MatrixSpec::layout(LayoutFamily family) const {
  return llvm::cantFail(Layout::create(family, rows, columns, encoding, "matrix"));
}

llvm::Error check(const MatrixSpec &matrix, StringRef what) {
  return Layout::create(LayoutFamily::X86, matrix.rows, matrix.columns, matrix.encoding, what).takeError();
}

void appendRowTypes(SmallVectorImpl<Type> &types, Builder &builder, const MatrixSpec &matrix, int64_t maxRows) {
  if (!matrix.encoding.isInteger())
    types.push_back(MemRefType::get({maxRows, matrix.columns}, builder.getF32Type()));
  else
    appendActivationTypes(types, builder, maxRows, matrix.columns, matrix.encoding.group);
}

ActivationRows takeRows(ValueRange &memrefs, const MatrixSpec &matrix) {
  ActivationRows rows;
  if (!matrix.encoding.isInteger()) {
    rows.floats = memrefs.front();
    memrefs = memrefs.drop_front();
  } else {
    rows.codes = memrefs[0];
    rows.scales = memrefs[1];
    rows.sums = memrefs[2];
    memrefs = memrefs.drop_front(3);
  }
  return rows;
}

//===-- Products ------------------------------------------------------------===//

int64_t DotEmitter::widestBlock() const {
  if (isa == Isa::Avx512Vnni && !matrix.encoding.isInteger())
    return 8;
  if (isa == Isa::Avx512Vnni) {
    // Of two row blocks, sums and accumulators take 4 registers for each token; minima and 6 bits take more in between.
    const bool needsMore = matrix.encoding.minimum || matrix.encoding.bits() == 6;
    if (matrix.encoding.group == 32 && needsMore)
      return 4;
    return matrix.encoding.bits() == 8 ? 5 : 6;
  }
  if (!matrix.encoding.isInteger())
    return 4;
  if (int64_t width = widestCopy())
    return width;
  return familyOf(isa) == LayoutFamily::X86 ? 2 : 4;
}

int64_t DotEmitter::rowBlocksAtOnce() const { return isa == Isa::Avx512Vnni && matrix.encoding.isInteger() ? 2 : 1; }

DotEmitter::Values DotEmitter::emit(Value row, Tokens tokens) {
  if (!matrix.encoding.isInteger())
    return emitFloat(row, tokens);
  return familyOf(isa) == LayoutFamily::X86 ? emitX86(row, tokens) : emitArm(row, tokens);
}

DotEmitter::Values DotEmitter::emitBlocks(Value row, int64_t numBlocks, Tokens tokens) {
  if (matrix.encoding.isInteger() && isa == Isa::Avx512Vnni && tokens.size() > 1)
    return emitX86Many(row, numBlocks, tokens);
  Values all;
  for (int64_t block = 0; block < numBlocks; ++block)
    all.append(emit(f.add(row, block * rowBlock()), tokens));
  return all;
}

DotEmitter::Values DotEmitter::emitFloat(Value row, Tokens tokens) {
  Value base = rowBase(row);
  const int64_t columnBytes = layout.blockBytes();
  const bool isHalf = encoding().kind == EncodingKind::f16;
  auto step = [&](Value k, int64_t ahead, ValueRange sums) {
    Value at = f.add(f.add(base, f.multiply(k, columnBytes)), ahead * columnBytes);
    Value w = f.loadBytes(weights, at, isHalf ? Type(f.getBuilder().getF16Type()) : f.f32(), rowBlock());
    if (isHalf)
      w = f.fromHalf(w);
    Values next;
    for (auto [token, sum] : llvm::zip_equal(tokens, sums))
      next.push_back(f.fma(w, f.splat(f.load(rows.floats, {token, f.add(k, ahead)}), rowBlock()), sum));
    return next;
  };
  Values sums(tokens.size(), f.zeroVector(rowBlock()));
  int64_t unrolled = matrix.columns / 4 * 4;
  sums = f.loop(f.index(0), f.index(unrolled), 4, sums, [&](Value k, ValueRange carried) {
    Values next(carried.begin(), carried.end());
    for (int64_t i = 0; i < 4; ++i)
      next = step(k, i, next);
    return next;
  });
  for (int64_t k = unrolled; k < matrix.columns; ++k)
    sums = step(f.index(k), 0, sums);
  return sums;
}

Value DotEmitter::hiddenInteger(Value integer) {
  OpBuilder &b = f.getBuilder();
  auto copy = LLVM::InlineAsmOp::create(b, integer.getLoc(), TypeRange{b.getI64Type()}, ValueRange{integer}, "", "=r,0",
                                        /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                        /*asm_dialect=*/{}, /*operand_attrs=*/{});
  return copy.getResult(0);
}

Value DotEmitter::hidden(Value index) {
  OpBuilder &b = f.getBuilder();
  Location location = weights.getLoc();
  Value integer = arith::IndexCastOp::create(b, location, b.getI64Type(), index);
  return arith::IndexCastOp::create(b, location, b.getIndexType(), hiddenInteger(integer));
}

void DotEmitter::finishBefore(ValueRange values) {
  // A vector register of the ISA.
  StringRef constraint = familyOf(isa) == LayoutFamily::X86 ? "x" : "w";
  std::string constraints = llvm::join(SmallVector<StringRef>(values.size(), constraint), ",");
  LLVM::InlineAsmOp::create(f.getBuilder(), weights.getLoc(), TypeRange{}, values, "", constraints,
                            /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            /*asm_dialect=*/{}, /*operand_attrs=*/{});
}

Value DotEmitter::rowBase(Value row) {
  Value offset = f.index(matrix.offsetBytes);
  // Loads of ARM have small displacements: a known large offset would be added again for each of them.
  if (familyOf(isa) == LayoutFamily::Arm64 && matrix.offsetBytes > 0)
    offset = hidden(offset);
  return f.add(f.multiply(f.divide(row, rowBlock()), layout.tileBytes()), offset);
}

Value DotEmitter::weightBytes(Value base, int64_t offset, int64_t width) {
  return f.loadVector(weights, {f.add(base, offset)}, width);
}

Value DotEmitter::weightScales(Value block, int64_t first, int64_t width) {
  return f.fromHalf(f.loadBytes(weights, f.add(block, codeBytes() + first * 2), f.getBuilder().getF16Type(), width));
}

Value DotEmitter::weightMinima(Value block, int64_t first, int64_t width) {
  return weightScales(block, first + rowBlock(), width);
}

Value DotEmitter::activationSum(Value token, Value group) {
  return f.mulf(f.toFloat(f.load(rows.sums, {token, group})), f.load(rows.scales, {token, group}));
}

Value DotEmitter::splatInteger(Type element, int64_t width, int64_t value) {
  return f.integerLike(f.vectorOf(element, width), value);
}

DotEmitter::Values DotEmitter::overSlices(ValueRange sums, function_ref<Values(Value, ValueRange)> body) {
  // 32 columns are unrolled; that keeps the loop body inside the decoded-instruction caches.
  if (group() == 32)
    return body(f.index(0), sums);
  return f.loop(f.index(0), f.index(group() / 32), 1, sums, body);
}

//===-- Blocks and edges ----------------------------------------------------===//

void overBlocks(FloatBuilder &f, Value count, int64_t most, int64_t widest, function_ref<void(Value, int64_t)> body) {
  Value zero = f.index(0);
  while (widest > most)
    widest /= 2;
  f.loop(zero, f.subtract(count, f.remainder(count, widest)), widest, [&](Value first) { body(first, widest); });
  for (int64_t width = widest / 2; width >= 1; width /= 2) {
    Value rest = f.remainder(count, 2 * width);
    Value present = f.compare(arith::CmpIPredicate::uge, rest, f.index(width));
    f.branch(present, [&] { body(f.subtract(count, rest), width); }, {});
  }
}

void overEvenBlocks(FloatBuilder &f, Value count, int64_t most, int64_t widest,
                    function_ref<void(Value, int64_t)> body) {
  Value zero = f.index(0);
  widest = std::min(widest, most);
  if (widest == 1)
    return f.loop(zero, count, 1, [&](Value first) { body(first, 1); });
  OpBuilder &builder = f.getBuilder();
  Value numBlocks = f.ceilDivide(count, widest);
  auto begin = [&](Value block) -> Value {
    return arith::DivUIOp::create(builder, count.getLoc(), arith::MulIOp::create(builder, count.getLoc(), block, count),
                                  numBlocks);
  };
  f.loop(zero, numBlocks, 1, [&](Value block) {
    Value first = begin(block), width = f.subtract(begin(f.add(block, 1)), first);
    SmallVector<int64_t> narrower;
    for (int64_t i = 1; i < widest; ++i)
      narrower.push_back(i);
    auto choice = scf::IndexSwitchOp::create(builder, count.getLoc(), TypeRange{}, width, narrower, narrower.size());
    OpBuilder::InsertionGuard guard(builder);
    for (Region &region : choice->getRegions()) {
      // The default region is the first; it takes the widest blocks.
      int64_t number = region.getRegionNumber();
      builder.setInsertionPointToStart(&region.emplaceBlock());
      body(first, number == 0 ? widest : number);
      scf::YieldOp::create(builder, count.getLoc());
    }
  });
}

void overRowBlocks(FloatBuilder &f, Value begin, Value end, int64_t rows, int64_t rowBlock, int64_t together,
                   function_ref<void(Value, int64_t)> body) {
  const int64_t step = rowBlock * together, rest = rows % step;
  const bool hasSingle = rest > 0 && rest <= step - rowBlock;
  Value single = f.index(rows - rest);
  f.loop(begin, hasSingle ? f.minimum(end, single) : end, step, [&](Value row) { body(row, together); });
  if (hasSingle)
    f.branch(f.compare(arith::CmpIPredicate::ugt, end, single), [&] { body(single, 1); }, {});
}

void DotEmitter::overTokens(Value count, int64_t most, function_ref<void(Value, int64_t)> body) {
  return (rowBlocksAtOnce() > 1 ? overEvenBlocks : overBlocks)(f, count, most, widestBlock(), body);
}

void DotEmitter::overProducts(Value begin, Value end, int64_t rowsPerTile, Value count, int64_t most,
                              function_ref<Values(Value, int64_t)> rowsOf,
                              function_ref<void(Value, int64_t, Tokens)> body) {
  if (!copiesRows()) {
    const int64_t together = most > 1 && rowsPerTile % (rowBlocksAtOnce() * rowBlock()) == 0 ? rowBlocksAtOnce() : 1;
    overRowBlocks(f, begin, end, matrix.rows, rowBlock(), together, [&](Value row, int64_t numBlocks) {
      overTokens(count, most, [&](Value first, int64_t width) { body(row, numBlocks, rowsOf(first, width)); });
    });
    return;
  }
  // One copy of the activations serves all rows.
  reserveCopy();
  overBlocks(f, count, most, widestBlock(), [&](Value first, int64_t width) {
    if (width > 1)
      copyRows(rowsOf(first, width));
    f.loop(begin, end, rowBlock(), [&](Value row) { body(row, 1, rowsOf(first, width)); });
  });
}

void storeInside(FloatBuilder &f, Value vector, Value memref, Value row, Value column, int64_t columns) {
  int64_t width = cast<VectorType>(vector.getType()).getNumElements();
  int64_t rest = columns % width;
  auto whole = [&] { f.storeVector(vector, memref, {row, column}); };
  if (rest == 0)
    return whole();
  Value inside = f.compare(arith::CmpIPredicate::ule, f.add(column, width), f.index(columns));
  f.branch(inside, whole, [&] {
    Value part = vector::ExtractStridedSliceOp::create(f.getBuilder(), vector.getLoc(), vector, ArrayRef<int64_t>{0},
                                                       ArrayRef<int64_t>{rest}, ArrayRef<int64_t>{1});
    f.storeVector(part, memref, {row, column});
  });
}

Value loadInside(FloatBuilder &f, Value memref, ArrayRef<Value> row, Value column, int64_t columns, int64_t width) {
  SmallVector<Value, 3> indices(row);
  indices.push_back(column);
  int64_t rest = columns % width;
  if (rest == 0)
    return f.loadVector(memref, indices, width);
  OpBuilder &builder = f.getBuilder();
  Location location = memref.getLoc();
  Value inside = f.compare(arith::CmpIPredicate::ule, f.add(column, width), f.index(columns));
  auto op = scf::IfOp::create(builder, location, TypeRange{f.vectorOf(f.f32(), width)}, inside, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(op.thenBlock());
  scf::YieldOp::create(builder, location, f.loadVector(memref, indices, width));
  builder.setInsertionPointToEnd(op.elseBlock());
  Value part = f.loadVector(memref, indices, rest);
  Value padded = vector::InsertStridedSliceOp::create(builder, location, part, f.zeroVector(width),
                                                      ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
  scf::YieldOp::create(builder, location, padded);
  return op.getResult(0);
}

} // namespace moec
