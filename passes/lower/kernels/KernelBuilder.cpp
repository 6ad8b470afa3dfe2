// SPDX-License-Identifier: Apache-2.0
/// \file
/// Expansions of transcendental functions. Step: lower. Main source: docs/architecture.md ("Numerics contract", N3).
#include "passes/lower/kernels/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace moec {

namespace {

/// Constants and operations of one element type, scalar or vector.
struct Expansion {
  OpBuilder &builder;
  Location location;
  Type type;

  Value constant(float value) {
    auto attribute = builder.getF32FloatAttr(value);
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(vector, attribute.getValue()));
    return arith::ConstantOp::create(builder, location, attribute);
  }
  Value integer(int32_t value) {
    auto attribute = builder.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(integerType()))
      return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(vector, attribute.getValue()));
    return arith::ConstantOp::create(builder, location, attribute);
  }
  Type integerType() {
    if (auto vector = dyn_cast<VectorType>(type))
      return VectorType::get(vector.getShape(), builder.getI32Type());
    return builder.getI32Type();
  }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, location, a, b, c); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, location, a, b); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, location, a, b); }
  Value select(arith::CmpFPredicate predicate, Value a, Value b, Value yes, Value no) {
    Value condition = arith::CmpFOp::create(builder, location, predicate, a, b);
    return arith::SelectOp::create(builder, location, condition, yes, no);
  }
};

constexpr float kExpLow = -87.33654f, kExpHigh = 88.37626f;
constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
constexpr float kExpPolynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                    4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};

} // namespace

Value buildExp(OpBuilder &builder, Location location, Value x) {
  Expansion e{builder, location, x.getType()};
  Value low = e.constant(kExpLow), high = e.constant(kExpHigh);
  // Ordered comparisons send NaN to the low end, so that the conversion to an integer below is always defined.
  Value cut = e.select(arith::CmpFPredicate::OGE, x, low, x, low);
  cut = e.select(arith::CmpFPredicate::OLE, cut, high, cut, high);
  Value n = math::RoundEvenOp::create(builder, location, e.mul(cut, e.constant(kLog2E)));
  Value r = e.fma(n, e.constant(-kLn2High), cut);
  r = e.fma(n, e.constant(-kLn2Low), r);
  Value y = e.constant(kExpPolynomial[0]);
  for (unsigned i = 1; i < std::size(kExpPolynomial); ++i)
    y = e.fma(y, r, e.constant(kExpPolynomial[i]));
  y = e.add(e.fma(y, e.mul(r, r), r), e.constant(1.0f));
  Value exponent = arith::FPToSIOp::create(builder, location, e.integerType(), n);
  exponent = arith::AddIOp::create(builder, location, exponent, e.integer(127));
  exponent = arith::ShLIOp::create(builder, location, exponent, e.integer(23));
  Value scale = arith::BitcastOp::create(builder, location, e.type, exponent);
  return e.select(arith::CmpFPredicate::OGE, x, low, e.mul(y, scale), e.constant(0.0f));
}

Value buildSilu(OpBuilder &builder, Location location, Value x) {
  Expansion e{builder, location, x.getType()};
  Value negative = arith::NegFOp::create(builder, location, x);
  Value denominator = e.add(e.constant(1.0f), buildExp(builder, location, negative));
  return arith::DivFOp::create(builder, location, x, denominator);
}

Value buildSigmoid(OpBuilder &builder, Location location, Value x) {
  Expansion e{builder, location, x.getType()};
  Value negative = arith::NegFOp::create(builder, location, x), one = e.constant(1.0f);
  return arith::DivFOp::create(builder, location, one, e.add(one, buildExp(builder, location, negative)));
}

Value buildSoftplus(OpBuilder &builder, Location location, Value x) {
  Expansion e{builder, location, x.getType()};
  Value zero = e.constant(0.0f), magnitude = math::AbsFOp::create(builder, location, x);
  Value u = buildExp(builder, location, arith::NegFOp::create(builder, location, magnitude));
  Value s = arith::DivFOp::create(builder, location, u, e.add(u, e.constant(2.0f)));
  Value square = e.mul(s, s), sum = e.constant(1.0f / 15.0f);
  for (float divisor = 13.0f; divisor >= 3.0f; divisor -= 2.0f)
    sum = e.fma(sum, square, e.constant(1.0f / divisor));
  Value twice = e.add(s, s);
  Value logarithm = e.fma(e.mul(twice, square), sum, twice);
  // NaN is not below 0 and stays.
  return e.add(e.select(arith::CmpFPredicate::OLT, x, zero, zero, x), logarithm);
}

} // namespace moec
