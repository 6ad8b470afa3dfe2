// SPDX-License-Identifier: Apache-2.0
/// \file
/// Short spellings of the operations that float kernels are made of: one vector of 16 f32, its tails, byte regions, and
/// the order of operations that docs/architecture.md N2 fixes. Nothing here depends on the ISA.
/// Main source: docs/architecture.md.
#ifndef PASSES_LOWER_KERNELS_FLOATBUILDER_H
#define PASSES_LOWER_KERNELS_FLOATBUILDER_H

#include "passes/lower/kernels/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace moec {

/// Lanes of the standard vector, and virtual partials of every cross-lane sum (N2).
constexpr int64_t kFloatLanes = 16;

/// Builds float kernels at one insertion point. Loops nest by callback; the insertion point follows.
class FloatBuilder {
public:
  using Values = llvm::SmallVector<mlir::Value, 8>;
  using Indices = llvm::ArrayRef<mlir::Value>;
  /// Body of a loop: induction variable and carried values in, carried values out.
  using LoopBody = llvm::function_ref<Values(mlir::Value, mlir::ValueRange)>;

  FloatBuilder(mlir::OpBuilder &builder, mlir::Location location) : builder(builder), location(location) {}

  mlir::OpBuilder &getBuilder() { return builder; }

  // Types.
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type i8() { return builder.getI8Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::VectorType vectorOf(mlir::Type element, int64_t width = kFloatLanes) {
    return mlir::VectorType::get({width}, element);
  }

  // Constants.
  mlir::Value index(int64_t value);
  mlir::Value constant(float value);
  mlir::Value constantLike(mlir::Value like, float value);
  mlir::Value integerLike(mlir::Type type, int64_t value);
  mlir::Value zeroVector(int64_t width = kFloatLanes);
  /// The i32 vector 0, 1, .. 15.
  mlir::Value laneNumbers();

  // Index arithmetic.
  mlir::Value add(mlir::Value a, mlir::Value b) { return mlir::arith::AddIOp::create(builder, location, a, b); }
  mlir::Value add(mlir::Value a, int64_t b) { return b == 0 ? a : add(a, index(b)); }
  mlir::Value multiply(mlir::Value a, int64_t b) {
    return b == 1 ? a : mlir::arith::MulIOp::create(builder, location, a, index(b)).getResult();
  }
  /// The same of i32.
  mlir::Value multiply32(mlir::Value a, int32_t b) {
    return mlir::arith::MulIOp::create(builder, location, a, integerLike(a.getType(), b));
  }
  mlir::Value multiply(mlir::Value a, mlir::Value b) { return mlir::arith::MulIOp::create(builder, location, a, b); }
  mlir::Value subtract(mlir::Value a, mlir::Value b) { return mlir::arith::SubIOp::create(builder, location, a, b); }
  mlir::Value minimum(mlir::Value a, mlir::Value b) { return mlir::arith::MinSIOp::create(builder, location, a, b); }
  mlir::Value maximum(mlir::Value a, mlir::Value b) { return mlir::arith::MaxSIOp::create(builder, location, a, b); }
  mlir::Value divide(mlir::Value a, int64_t b) { return mlir::arith::DivUIOp::create(builder, location, a, index(b)); }
  mlir::Value divide(mlir::Value a, mlir::Value b) { return mlir::arith::DivUIOp::create(builder, location, a, b); }
  mlir::Value remainder(mlir::Value a, int64_t b) {
    return mlir::arith::RemUIOp::create(builder, location, a, index(b));
  }
  mlir::Value remainder(mlir::Value a, mlir::Value b) { return mlir::arith::RemUIOp::create(builder, location, a, b); }
  mlir::Value ceilDivide(mlir::Value a, int64_t b) { return divide(add(a, b - 1), b); }
  mlir::Value indexToI32(mlir::Value a) { return mlir::arith::IndexCastOp::create(builder, location, i32(), a); }
  mlir::Value i32ToIndex(mlir::Value a) {
    return mlir::arith::IndexCastOp::create(builder, location, builder.getIndexType(), a);
  }

  // Float arithmetic, scalar or vector; each is one IEEE operation without flags.
  mlir::Value addf(mlir::Value a, mlir::Value b) { return mlir::arith::AddFOp::create(builder, location, a, b); }
  mlir::Value subf(mlir::Value a, mlir::Value b) { return mlir::arith::SubFOp::create(builder, location, a, b); }
  mlir::Value mulf(mlir::Value a, mlir::Value b) { return mlir::arith::MulFOp::create(builder, location, a, b); }
  mlir::Value divf(mlir::Value a, mlir::Value b) { return mlir::arith::DivFOp::create(builder, location, a, b); }
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value sqrt(mlir::Value a);
  mlir::Value roundEven(mlir::Value a);
  mlir::Value abs(mlir::Value a);
  /// a > b ? a : b. A NaN in a is passed over.
  mlir::Value maxIgnoringNan(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(builder, location, condition, a, b);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpFOp::create(builder, location, predicate, a, b);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(builder, location, predicate, a, b);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) { return mlir::arith::AndIOp::create(builder, location, a, b); }
  mlir::Value either(mlir::Value a, mlir::Value b) { return mlir::arith::OrIOp::create(builder, location, a, b); }
  mlir::Value splat(mlir::Value scalar, int64_t width = kFloatLanes);
  /// i1 for each element of `like`.
  mlir::Value booleanLike(mlir::Value like, bool value);
  /// The signed integer elements as f32.
  mlir::Value toFloat(mlir::Value integers);
  /// The low or high four bits of the i8 elements, as signed i32.
  mlir::Value signedNibble(mlir::Value bytes, bool high);
  /// Bytes with the i8 codes `low` and `high` in their halves.
  mlir::Value packNibbles(mlir::Value low, mlir::Value high);
  mlir::Value toHalf(mlir::Value vector);
  mlir::Value fromHalf(mlir::Value vector);
  mlir::Value negate(mlir::Value a) { return mlir::arith::NegFOp::create(builder, location, a); }
  /// KernelBuilder's expansions.
  mlir::Value exp(mlir::Value x) { return buildExp(builder, location, x); }
  mlir::Value silu(mlir::Value x) { return buildSilu(builder, location, x); }
  mlir::Value sigmoid(mlir::Value x) { return buildSigmoid(builder, location, x); }
  mlir::Value softplus(mlir::Value x) { return buildSoftplus(builder, location, x); }
  mlir::Value extract(mlir::Value vector, int64_t lane) {
    return mlir::vector::ExtractOp::create(builder, location, vector, lane);
  }
  /// The bytes of a vector as elements of another type.
  mlir::Value bitcast(mlir::Value vector, mlir::Type element);
  /// A call of the LLVM intrinsic `name`.
  mlir::Value intrinsic(llvm::StringRef name, mlir::Type type, mlir::ValueRange arguments);

  // Lanes against each other.
  /// Sum of 16 partials by the tree 8-4-2-1.
  mlir::Value treeSum(mlir::Value partials);
  /// Maximum of 16 lanes; NaN lanes are passed over.
  mlir::Value treeMax(mlir::Value lanes);
  /// The same of 1, 2, 4, 8 or 16 vectors at once: lane i of the result belongs to vector i.
  mlir::Value treeSums(llvm::ArrayRef<mlir::Value> rows);
  mlir::Value treeMaxima(llvm::ArrayRef<mlir::Value> rows);

  // Memory. Vectors narrower than 16 are tails.
  mlir::Value load(mlir::Value memref, Indices indices) {
    return mlir::memref::LoadOp::create(builder, location, memref, indices);
  }
  void store(mlir::Value value, mlir::Value memref, Indices indices) {
    mlir::memref::StoreOp::create(builder, location, value, memref, indices);
  }
  mlir::Value loadVector(mlir::Value memref, Indices indices, int64_t width = kFloatLanes);
  void storeVector(mlir::Value vector, mlir::Value memref, Indices indices) {
    mlir::vector::StoreOp::create(builder, location, vector, memref, indices);
  }
  /// Values of type `element` at byte `offset` of a memref of i8.
  mlir::Value loadBytes(mlir::Value bytes, mlir::Value offset, mlir::Type element, int64_t width);
  void storeBytes(mlir::Value vector, mlir::Value bytes, mlir::Value offset);
  /// A scalar at byte `offset` of a memref of i8.
  void storeScalarBytes(mlir::Value scalar, mlir::Value bytes, mlir::Value offset) {
    storeBytes(splat(scalar, 1), bytes, offset);
  }
  /// `vector` in the first of 16 lanes; behind them the lanes of `behind`, by default zeros.
  mlir::Value padded(mlir::Value vector, mlir::Value behind = {});
  mlir::Value firstLanes(mlir::Value vector, int64_t width);
  /// Stack memory; only at the top of a kernel.
  mlir::Value scratch(int64_t count, mlir::Type element);

  /// Asks for the line at byte `offset` of a memref of i8. Never faults.
  void prefetch(mlir::Value bytes, mlir::Value offset);

  // Branches and loops.
  /// `otherwise` may be null.
  void branch(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr);
  Values loop(mlir::Value begin, mlir::Value end, int64_t step, mlir::ValueRange carried, LoopBody body);
  void loop(mlir::Value begin, mlir::Value end, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// A half-open range.
  struct Range {
    mlir::Value begin;
    mlir::Value end;
  };
  /// One loop over `first`, then over `second`; either may be empty. The body stands in the code once.
  Values loop(Range first, Range second, mlir::ValueRange carried, LoopBody body);
  /// Covers [0, count) by vectors: a loop over whole ones, then the tail with its width.
  Values overVectors(int64_t count, mlir::ValueRange carried,
                     llvm::function_ref<Values(mlir::Value, int64_t, mlir::ValueRange)> body);
  void overVectors(int64_t count, llvm::function_ref<void(mlir::Value, int64_t)> body);

  /// Σ x² over row [row.., 0 .. count) by N2, each partial by fma. `row` are the leading indices.
  mlir::Value sumOfSquares(mlir::Value memref, Indices row, mlir::Value first, int64_t count);

  // Symmetric integer codes.
  /// The factor and the scale of values up to `largest`, a scalar or a vector: {127/largest, largest/127}, zeros below
  /// 1e-30.
  struct CodeScale {
    mlir::Value inverse;
    mlir::Value scale;
  };
  CodeScale codeScale(mlir::Value largest);
  /// roundeven(values * inverse) as i32, always in -limit..limit (NaN: -limit).
  mlir::Value encode(mlir::Value values, mlir::Value inverse, float limit = 127.0f);
  /// roundeven(values) as i32, always in 0..127 (NaN: 0).
  mlir::Value encodeUnsigned(mlir::Value values);
  mlir::Value narrowToBytes(mlir::Value codes);

private:
  using Join = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  /// The tree 8-4-2-1 of each of the vectors, whose number is a power of two.
  mlir::Value tree(llvm::ArrayRef<mlir::Value> rows, Join join);

  mlir::OpBuilder &builder;
  mlir::Location location;
};

/// Arguments of a kernel under construction.
struct FloatKernelArguments {
  /// The memrefs, in the order of the spec.
  mlir::ValueRange memrefs;
  /// The number of tokens; for router and combine the number of ranks in use.
  mlir::Value count;
  /// Absolute position of token 0.
  mlir::Value position;
  mlir::Value tileBegin;
  mlir::Value tileEnd;
};

/// Adds `func.func @name(memrefs.., index n, index position, index tile_begin, index tile_end)` to `module` and lets
/// `body` fill it.
mlir::func::FuncOp buildFloatKernel(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                    llvm::ArrayRef<mlir::Type> memrefs,
                                    llvm::function_ref<void(FloatBuilder &, const FloatKernelArguments &)> body);

} // namespace moec

#endif
