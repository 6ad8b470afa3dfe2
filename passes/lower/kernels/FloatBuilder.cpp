// SPDX-License-Identifier: Apache-2.0
/// \file
/// Building blocks of the float kernels. Step: lower. Main source: docs/architecture.md.
#include "passes/lower/kernels/FloatBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace moec {

Value FloatBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(builder, location, value); }

Value FloatBuilder::constant(float value) {
  return arith::ConstantOp::create(builder, location, builder.getF32FloatAttr(value));
}

Value FloatBuilder::constantLike(Value like, float value) {
  auto attribute = builder.getF32FloatAttr(value);
  auto vector = dyn_cast<VectorType>(like.getType());
  if (!vector)
    return arith::ConstantOp::create(builder, location, attribute);
  return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(vector, attribute.getValue()));
}

Value FloatBuilder::integerLike(Type type, int64_t value) {
  auto attribute = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(vector, attribute.getValue()));
  return arith::ConstantOp::create(builder, location, attribute);
}

Value FloatBuilder::booleanLike(Value like, bool value) {
  VectorType type = vectorOf(builder.getI1Type(), cast<VectorType>(like.getType()).getNumElements());
  return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(type, value));
}

Value FloatBuilder::zeroVector(int64_t width) {
  return arith::ConstantOp::create(builder, location, builder.getZeroAttr(vectorOf(f32(), width)));
}

Value FloatBuilder::laneNumbers() {
  SmallVector<int32_t, kFloatLanes> lanes;
  for (int32_t lane = 0; lane < kFloatLanes; ++lane)
    lanes.push_back(lane);
  return arith::ConstantOp::create(builder, location, builder.getI32VectorAttr(lanes));
}

Value FloatBuilder::fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, location, a, b, c); }

Value FloatBuilder::sqrt(Value a) { return math::SqrtOp::create(builder, location, a); }

Value FloatBuilder::roundEven(Value a) { return math::RoundEvenOp::create(builder, location, a); }

Value FloatBuilder::abs(Value a) { return math::AbsFOp::create(builder, location, a); }

Value FloatBuilder::maxIgnoringNan(Value a, Value b) { return select(compare(arith::CmpFPredicate::OGT, a, b), a, b); }

Value FloatBuilder::splat(Value scalar, int64_t width) {
  return vector::BroadcastOp::create(builder, location, vectorOf(scalar.getType(), width), scalar);
}

Value FloatBuilder::toFloat(Value integers) {
  Type type = f32();
  if (auto vector = dyn_cast<VectorType>(integers.getType()))
    type = vectorOf(type, vector.getNumElements());
  return arith::SIToFPOp::create(builder, location, type, integers);
}

Value FloatBuilder::signedNibble(Value bytes, bool high) {
  Type type = i32();
  if (auto vector = dyn_cast<VectorType>(bytes.getType()))
    type = vectorOf(type, vector.getNumElements());
  Value wide = arith::ExtSIOp::create(builder, location, type, bytes);
  if (!high)
    wide = arith::ShLIOp::create(builder, location, wide, integerLike(type, 28));
  return arith::ShRSIOp::create(builder, location, wide, integerLike(type, high ? 4 : 28));
}

Value FloatBuilder::packNibbles(Value low, Value high) {
  Value first = arith::AndIOp::create(builder, location, low, integerLike(low.getType(), 15));
  Value second = arith::ShLIOp::create(builder, location, high, integerLike(high.getType(), 4));
  return arith::OrIOp::create(builder, location, first, second);
}

Value FloatBuilder::bitcast(Value vector, Type element) {
  auto type = cast<VectorType>(vector.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return vector::BitCastOp::create(builder, location, vectorOf(element, bits / element.getIntOrFloatBitWidth()),
                                   vector);
}

Value FloatBuilder::intrinsic(StringRef name, Type type, ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(builder, location, type, builder.getStringAttr(name), arguments).getResult(0);
}

Value FloatBuilder::tree(ArrayRef<Value> rows, Join join) {
  SmallVector<Value, 16> level(rows);
  // A vector of the level holds `rowsEach` rows of 2 * half lanes. Two vectors are halved together.
  int64_t rowsEach = 1;
  for (int64_t half = kFloatLanes / 2; half >= 1; half /= 2) {
    const int64_t numTogether = level.size() > 1 ? 2 : 1;
    SmallVector<Value, 16> next;
    SmallVector<int64_t, 16> low, high;
    for (int64_t row = 0; row < numTogether * rowsEach; ++row)
      for (int64_t lane = 0; lane < half; ++lane) {
        low.push_back(row * 2 * half + lane);
        high.push_back(low.back() + half);
      }
    for (size_t i = 0; i < level.size(); i += numTogether) {
      Value a = level[i], b = level[i + numTogether - 1];
      next.push_back(join(vector::ShuffleOp::create(builder, location, a, b, low),
                          vector::ShuffleOp::create(builder, location, a, b, high)));
    }
    rowsEach *= numTogether;
    level = std::move(next);
  }
  return level[0];
}

Value FloatBuilder::treeSums(ArrayRef<Value> rows) {
  return tree(rows, [&](Value a, Value b) { return addf(a, b); });
}

Value FloatBuilder::treeMaxima(ArrayRef<Value> rows) {
  return tree(rows, [&](Value a, Value b) { return maxIgnoringNan(b, a); });
}

Value FloatBuilder::treeSum(Value partials) { return extract(treeSums(partials), 0); }

Value FloatBuilder::treeMax(Value lanes) { return extract(treeMaxima(lanes), 0); }

Value FloatBuilder::loadVector(Value memref, Indices indices, int64_t width) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  return vector::LoadOp::create(builder, location, vectorOf(element, width), memref, indices);
}

Value FloatBuilder::loadBytes(Value bytes, Value offset, Type element, int64_t width) {
  int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  Value raw = loadVector(bytes, {offset}, width * elementBytes);
  if (element == i8())
    return raw;
  return vector::BitCastOp::create(builder, location, vectorOf(element, width), raw);
}

void FloatBuilder::storeBytes(Value vector, Value bytes, Value offset) {
  auto type = cast<VectorType>(vector.getType());
  int64_t elementBytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  if (type.getElementType() != i8())
    vector = vector::BitCastOp::create(builder, location, vectorOf(i8(), type.getNumElements() * elementBytes), vector);
  storeVector(vector, bytes, {offset});
}

Value FloatBuilder::padded(Value vector, Value behind) {
  if (cast<VectorType>(vector.getType()).getNumElements() == kFloatLanes)
    return vector;
  if (!behind)
    behind = zeroVector();
  return vector::InsertStridedSliceOp::create(builder, location, vector, behind, ArrayRef<int64_t>{0},
                                              ArrayRef<int64_t>{1});
}

Value FloatBuilder::firstLanes(Value vector, int64_t width) {
  return vector::ExtractStridedSliceOp::create(builder, location, vector, ArrayRef<int64_t>{0},
                                               ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
}

Value FloatBuilder::toHalf(Value vector) {
  int64_t width = cast<VectorType>(vector.getType()).getNumElements();
  return arith::TruncFOp::create(builder, location, vectorOf(builder.getF16Type(), width), vector);
}

Value FloatBuilder::fromHalf(Value vector) {
  int64_t width = cast<VectorType>(vector.getType()).getNumElements();
  return arith::ExtFOp::create(builder, location, vectorOf(f32(), width), vector);
}

Value FloatBuilder::scratch(int64_t count, Type element) {
  return memref::AllocaOp::create(builder, location, MemRefType::get({count}, element), builder.getI64IntegerAttr(64));
}

void FloatBuilder::prefetch(Value bytes, Value offset) {
  memref::PrefetchOp::create(builder, location, bytes, offset, /*isWrite=*/false, /*localityHint=*/3,
                             /*isDataCache=*/true);
}

void FloatBuilder::branch(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(builder, location, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  if (!otherwise)
    return;
  builder.setInsertionPoint(op.elseBlock()->getTerminator());
  otherwise();
}

FloatBuilder::Values FloatBuilder::loop(Value begin, Value end, int64_t step, ValueRange carried, LoopBody body) {
  auto op = scf::ForOp::create(builder, location, begin, end, index(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  if (carried.empty())
    builder.setInsertionPoint(op.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(op.getBody());
  Values results = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(builder, location, results);
  return Values(op.getResults().begin(), op.getResults().end());
}

void FloatBuilder::loop(Value begin, Value end, int64_t step, function_ref<void(Value)> body) {
  loop(begin, end, step, ValueRange{}, [&](Value iv, ValueRange) {
    body(iv);
    return Values{};
  });
}

FloatBuilder::Values FloatBuilder::loop(Range first, Range second, ValueRange carried, LoopBody body) {
  return loop(index(0), index(2), 1, carried, [&](Value number, ValueRange outer) {
    Value isFirst = compare(arith::CmpIPredicate::eq, number, index(0));
    return loop(select(isFirst, first.begin, second.begin), select(isFirst, first.end, second.end), 1, outer, body);
  });
}

FloatBuilder::Values FloatBuilder::overVectors(int64_t count, ValueRange carried,
                                               function_ref<Values(Value, int64_t, ValueRange)> body) {
  int64_t whole = count / kFloatLanes * kFloatLanes;
  Values values(carried.begin(), carried.end());
  if (whole > 0)
    values = loop(index(0), index(whole), kFloatLanes, values,
                  [&](Value iv, ValueRange arguments) { return body(iv, kFloatLanes, arguments); });
  if (whole < count)
    values = body(index(whole), count - whole, values);
  return values;
}

void FloatBuilder::overVectors(int64_t count, function_ref<void(Value, int64_t)> body) {
  overVectors(count, ValueRange{}, [&](Value iv, int64_t width, ValueRange) {
    body(iv, width);
    return Values{};
  });
}

Value FloatBuilder::sumOfSquares(Value memref, Indices row, Value first, int64_t count) {
  Values partials = overVectors(count, zeroVector(), [&](Value iv, int64_t width, ValueRange sums) {
    SmallVector<Value, 4> indices(row);
    indices.push_back(add(first, iv));
    Value x = padded(loadVector(memref, indices, width));
    return Values{fma(x, x, sums[0])};
  });
  return treeSum(partials[0]);
}

FloatBuilder::CodeScale FloatBuilder::codeScale(Value largest) {
  Value isZero = compare(arith::CmpFPredicate::OLT, largest, constantLike(largest, 1e-30f));
  Value zero = constantLike(largest, 0.0f), top = constantLike(largest, 127.0f);
  return {select(isZero, zero, divf(top, largest)), select(isZero, zero, divf(largest, top))};
}

Value FloatBuilder::encode(Value values, Value inverse, float limit) {
  int64_t width = cast<VectorType>(values.getType()).getNumElements();
  Value rounded = roundEven(mulf(values, splat(inverse, width)));
  // Finite values are in range already, or nearly (a rounded scale); the selects give NaN a defined code.
  Value low = constantLike(rounded, -limit), high = constantLike(rounded, limit);
  rounded = select(compare(arith::CmpFPredicate::OGE, rounded, low), rounded, low);
  rounded = select(compare(arith::CmpFPredicate::OLE, rounded, high), rounded, high);
  return arith::FPToSIOp::create(builder, location, vectorOf(i32(), width), rounded);
}

Value FloatBuilder::encodeUnsigned(Value values) {
  int64_t width = cast<VectorType>(values.getType()).getNumElements();
  Value rounded = roundEven(values), top = constantLike(values, 127.0f);
  rounded = maxIgnoringNan(rounded, constantLike(values, 0.0f));
  rounded = select(compare(arith::CmpFPredicate::OLT, rounded, top), rounded, top);
  return arith::FPToSIOp::create(builder, location, vectorOf(i32(), width), rounded);
}

Value FloatBuilder::narrowToBytes(Value codes) {
  int64_t width = cast<VectorType>(codes.getType()).getNumElements();
  return arith::TruncIOp::create(builder, location, vectorOf(i8(), width), codes);
}

func::FuncOp buildFloatKernel(KernelContext &context, ModuleOp module, StringRef name, ArrayRef<Type> memrefs,
                              function_ref<void(FloatBuilder &, const FloatKernelArguments &)> body) {
  OpBuilder &builder = context.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type, 12> types(memrefs);
  types.append(4, builder.getIndexType());
  auto function = func::FuncOp::create(builder, context.location, name, builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  FloatBuilder floats(builder, context.location);
  ValueRange arguments = entry->getArguments();
  size_t count = memrefs.size();
  body(floats, {arguments.take_front(count), arguments[count], arguments[count + 1], arguments[count + 2],
                arguments[count + 3]});
  func::ReturnOp::create(builder, context.location);
  return function;
}

} // namespace moec
