// SPDX-License-Identifier: Apache-2.0
/// \file
/// Inner products: sizes, f32 weights, and what the integer forms of all ISAs share. Step: lower.
/// Main source: docs/formats.md.
#include "passes/lower/kernels/Dot.h"

#include "passes/lower/kernels/FloatKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace moec {

//===-- Sizes ---------------------------------------------------------------===//

int64_t rowBlockOf(const MatrixSpec &matrix, LayoutFamily family) {
  return matrix.encoding != WeightEncoding::f32 && family == LayoutFamily::Arm64 ? 8 : 16;
}

static int64_t groupBytesOf(const MatrixSpec &matrix, LayoutFamily family) {
  int64_t codes = rowBlockOf(matrix, family) * matrix.group / (matrix.encoding == WeightEncoding::i4 ? 2 : 1);
  return codes + 2 * rowBlockOf(matrix, family);
}

int64_t matrixBytes(const MatrixSpec &matrix, LayoutFamily family) {
  int64_t block = rowBlockOf(matrix, family);
  int64_t blocks = (matrix.rows + block - 1) / block;
  if (matrix.encoding == WeightEncoding::f32)
    return blocks * matrix.columns * block * 4;
  return blocks * (matrix.columns / matrix.group) * groupBytesOf(matrix, family);
}

llvm::Error check(const MatrixSpec &matrix, StringRef what) {
  if (matrix.rows < 1 || matrix.columns < 1)
    return llvm::createStringError("%s expects at least one row and one column, but got %lld x %lld",
                                   what.str().c_str(), (long long)matrix.rows, (long long)matrix.columns);
  if (matrix.encoding == WeightEncoding::f32)
    return llvm::Error::success();
  if (matrix.group != 32 && matrix.group != 64 && matrix.group != 128)
    return llvm::createStringError("%s expects groups of 32, 64 or 128, but got %lld", what.str().c_str(),
                                   (long long)matrix.group);
  if (matrix.columns % matrix.group != 0)
    return llvm::createStringError("%s expects a multiple of the group %lld as columns, but got %lld",
                                   what.str().c_str(), (long long)matrix.group, (long long)matrix.columns);
  return llvm::Error::success();
}

void appendRowTypes(SmallVectorImpl<Type> &types, Builder &builder, const MatrixSpec &matrix, int64_t maxRows) {
  if (matrix.encoding == WeightEncoding::f32)
    types.push_back(MemRefType::get({maxRows, matrix.columns}, builder.getF32Type()));
  else
    appendActivationTypes(types, builder, maxRows, matrix.columns, matrix.group);
}

ActivationRows takeRows(ValueRange &memrefs, const MatrixSpec &matrix) {
  ActivationRows rows;
  if (matrix.encoding == WeightEncoding::f32) {
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
  if (isa == Isa::Avx512Vnni)
    return 8;
  if (matrix.encoding == WeightEncoding::f32)
    return 4;
  return isa == Isa::Avx2 ? 2 : 4;
}

DotEmitter::Values DotEmitter::emit(Value row, Tokens tokens) {
  if (matrix.encoding == WeightEncoding::f32)
    return emitFloat(row, tokens);
  return familyOf(isa) == LayoutFamily::X86 ? emitX86(row, tokens) : emitArm(row, tokens);
}

DotEmitter::Values DotEmitter::emitFloat(Value row, Tokens tokens) {
  Value base = rowBase(row);
  auto step = [&](Value k, int64_t ahead, ValueRange sums) {
    Value at = f.add(f.add(base, f.multiply(k, 64)), ahead * 64);
    Value w = f.loadBytes(weights, at, f.f32(), kFloatLanes);
    Values next;
    for (auto [token, sum] : llvm::zip_equal(tokens, sums))
      next.push_back(f.fma(w, f.splat(f.load(rows.floats, {token, f.add(k, ahead)})), sum));
    return next;
  };
  Values sums(tokens.size(), f.zeroVector());
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

int64_t DotEmitter::codeBytes() const { return groupBytes() - 2 * rowBlock(); }

int64_t DotEmitter::groupBytes() const { return groupBytesOf(matrix, familyOf(isa)); }

Value DotEmitter::hidden(Value index) {
  OpBuilder &b = f.getBuilder();
  Location location = weights.getLoc();
  Value integer = arith::IndexCastOp::create(b, location, b.getI64Type(), index);
  auto copy = LLVM::InlineAsmOp::create(b, location, TypeRange{b.getI64Type()}, ValueRange{integer}, "", "=r,0",
                                        /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                        /*asm_dialect=*/{}, /*operand_attrs=*/{});
  return arith::IndexCastOp::create(b, location, b.getIndexType(), copy.getResult(0));
}

Value DotEmitter::rowBase(Value row) {
  int64_t blockBytes = matrix.encoding == WeightEncoding::f32 ? matrix.columns * rowBlock() * 4
                                                              : matrix.columns / matrix.group * groupBytes();
  Value offset = f.index(matrix.offsetBytes);
  // Loads of ARM have small displacements: a known large offset would be added again for each of them.
  if (familyOf(isa) == LayoutFamily::Arm64 && matrix.offsetBytes > 0)
    offset = hidden(offset);
  return f.add(f.multiply(f.divide(row, rowBlock()), blockBytes), offset);
}

void DotEmitter::prefetch(Value base, int64_t bytes) {
  // Far enough for DRAM latency at one core's bandwidth (100 ns * 20 GB/s), near enough to stay in the first-level
  // cache.
  constexpr int64_t kAheadBytes = 2048, kLineBytes = 64;
  int64_t size = cast<MemRefType>(weights.getType()).getDimSize(0);
  OpBuilder &builder = f.getBuilder();
  for (int64_t line = 0; line < bytes; line += kLineBytes) {
    Value at = f.minimum(f.add(base, kAheadBytes + line), f.index(size - 1));
    memref::PrefetchOp::create(builder, weights.getLoc(), weights, ValueRange{at}, /*isWrite=*/false,
                               /*localityHint=*/3, /*isDataCache=*/true);
  }
}

Value DotEmitter::weightBytes(Value base, int64_t offset, int64_t width) {
  return f.loadVector(weights, {f.add(base, offset)}, width);
}

Value DotEmitter::weightScales(Value block, int64_t first, int64_t width) {
  Value half = f.loadBytes(weights, f.add(block, codeBytes() + first * 2), f.getBuilder().getF16Type(), width);
  return arith::ExtFOp::create(f.getBuilder(), weights.getLoc(), f.vectorOf(f.f32(), width), half);
}

Value DotEmitter::intrinsic(StringRef name, Type type, ValueRange arguments) {
  OpBuilder &builder = f.getBuilder();
  return LLVM::CallIntrinsicOp::create(builder, weights.getLoc(), type, builder.getStringAttr(name), arguments)
      .getResult(0);
}

Value DotEmitter::splatInteger(Type element, int64_t width, int64_t value) {
  return f.integerLike(f.vectorOf(element, width), value);
}

Value DotEmitter::bitcast(Value vector, Type element) {
  auto type = cast<VectorType>(vector.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return vector::BitCastOp::create(f.getBuilder(), vector.getLoc(),
                                   f.vectorOf(element, bits / element.getIntOrFloatBitWidth()), vector);
}

DotEmitter::Values DotEmitter::overSlices(ValueRange sums, function_ref<Values(Value, ValueRange)> body) {
  // 32 columns are unrolled; that keeps the loop body inside the decoded-instruction caches.
  if (matrix.group == 32)
    return body(f.index(0), sums);
  return f.loop(f.index(0), f.index(matrix.group / 32), 1, sums, body);
}

//===-- Blocks and edges ----------------------------------------------------===//

static void buildIf(FloatBuilder &f, Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  OpBuilder &builder = f.getBuilder();
  auto op = scf::IfOp::create(builder, condition.getLoc(), condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  if (!otherwise)
    return;
  builder.setInsertionPoint(op.elseBlock()->getTerminator());
  otherwise();
}

void overBlocks(FloatBuilder &f, Value count, int64_t most, int64_t widest, function_ref<void(Value, int64_t)> body) {
  Value zero = f.index(0);
  while (widest > most)
    widest /= 2;
  f.loop(zero, f.subtract(count, f.remainder(count, widest)), widest, [&](Value first) { body(first, widest); });
  for (int64_t width = widest / 2; width >= 1; width /= 2) {
    Value rest = f.remainder(count, 2 * width);
    Value present = f.compare(arith::CmpIPredicate::uge, rest, f.index(width));
    buildIf(f, present, [&] { body(f.subtract(count, rest), width); }, {});
  }
}

void storeInside(FloatBuilder &f, Value vector, Value memref, Value row, Value column, int64_t columns) {
  int64_t width = cast<VectorType>(vector.getType()).getNumElements();
  int64_t rest = columns % width;
  auto whole = [&] { f.storeVector(vector, memref, {row, column}); };
  if (rest == 0)
    return whole();
  Value inside = f.compare(arith::CmpIPredicate::ule, f.add(column, width), f.index(columns));
  buildIf(f, inside, whole, [&] {
    Value part = vector::ExtractStridedSliceOp::create(f.getBuilder(), vector.getLoc(), vector, ArrayRef<int64_t>{0},
                                                       ArrayRef<int64_t>{rest}, ArrayRef<int64_t>{1});
    f.storeVector(part, memref, {row, column});
  });
}

Value loadInside(FloatBuilder &f, Value memref, Value row, Value column, int64_t columns, int64_t width) {
  int64_t rest = columns % width;
  if (rest == 0)
    return f.loadVector(memref, {row, column}, width);
  OpBuilder &builder = f.getBuilder();
  Location location = memref.getLoc();
  Value inside = f.compare(arith::CmpIPredicate::ule, f.add(column, width), f.index(columns));
  auto op = scf::IfOp::create(builder, location, TypeRange{f.vectorOf(f.f32(), width)}, inside, true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(op.thenBlock());
  scf::YieldOp::create(builder, location, f.loadVector(memref, {row, column}, width));
  builder.setInsertionPointToEnd(op.elseBlock());
  Value part = f.loadVector(memref, {row, column}, rest);
  Value padded = vector::InsertStridedSliceOp::create(builder, location, part, f.zeroVector(width),
                                                      ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
  scf::YieldOp::create(builder, location, padded);
  return op.getResult(0);
}

} // namespace moec
