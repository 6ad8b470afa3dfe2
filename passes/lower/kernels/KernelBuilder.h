// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every kernel generator shares: the target's instruction level and the expansions of transcendental functions.
/// Step: lower. Main source: docs/architecture.md, "Kernels".
#ifndef PASSES_LOWER_KERNELS_KERNELBUILDER_H
#define PASSES_LOWER_KERNELS_KERNELBUILDER_H

#include "lib/Target/Isa.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

#include <cstdint>

namespace moec {

/// Where and for what a kernel is generated.
struct KernelContext {
  mlir::OpBuilder &builder;
  mlir::Location location;
  Isa isa = Isa::Avx512Vnni;

  LayoutFamily family() const { return familyOf(isa); }
};

/// e^x of an f32 scalar or vector by a fixed sequence of IEEE operations, the same on every ISA.
///
/// n = roundeven(x * log2e), r = fma(n, -ln2lo, fma(n, -ln2hi, x)), polynomial of degree 7 in fmas, scaled by the bits
/// of 2^n. x is cut to [-87.33654, 88.37626]; below that (and for NaN) the result is 0.
/// Error: below 2 units in the last place. Source: the coefficients of Cephes expf.
mlir::Value buildExp(mlir::OpBuilder &builder, mlir::Location location, mlir::Value x);

/// x / (1 + exp(-x)) with an IEEE division.
mlir::Value buildSilu(mlir::OpBuilder &builder, mlir::Location location, mlir::Value x);

/// 1 / (1 + exp(-x)) with an IEEE division.
mlir::Value buildSigmoid(mlir::OpBuilder &builder, mlir::Location location, mlir::Value x);

/// log(1 + e^x) = max(x, 0) + log(1 + u), u = exp(-|x|). With s = u / (2 + u), at most 1/3, log(1 + u) is
/// 2 (s + s³/3 + … + s¹⁵/15); the next term is below 2^-29 of it. For x > 17.4 the sum is x. Error: below 3 units in
/// the last place.
mlir::Value buildSoftplus(mlir::OpBuilder &builder, mlir::Location location, mlir::Value x);

} // namespace moec

#endif
