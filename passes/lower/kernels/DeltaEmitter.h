// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts of a Gated DeltaNet layer that its kernels are put together from. Step: lower.
/// Main source: passes/lower/kernels/DeltaKernels.h.
#ifndef PASSES_LOWER_KERNELS_DELTAEMITTER_H
#define PASSES_LOWER_KERNELS_DELTAEMITTER_H

#include "passes/lower/kernels/DeltaKernels.h"
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/FloatKernels.h"

namespace moec {

/// The memrefs of one convolution.
struct ConvMemrefs {
  mlir::Value x, w, y, state;
};

/// Emits ConvSpec for tokens [0, count) and channels [channel, channel + width), which lie in one row tile of w.
void emitConvolution(FloatBuilder &builder, const ConvSpec &spec, const ConvMemrefs &memrefs, mlir::Value count,
                     mlir::Value channel, int64_t width);

/// The memrefs of DeltaSpec; those that a kernel does not have are null.
struct DeltaMemrefs {
  mlir::Value q, k, v, z, a, b, aLog, dtBias, w, o, y, state;
  ActivationMemrefs codes;
};

/// Columns of the state of a head from `first` on.
struct DeltaStrip {
  mlir::Value head, first;
};

/// Emits rule and norm for one token at a time.
class DeltaEmitter {
public:
  /// Allocates scratch: at the top of a kernel.
  DeltaEmitter(FloatBuilder &builder, const DeltaSpec &spec, const DeltaMemrefs &memrefs);

  /// Unit vectors of the token's key head, to scratch.
  void emitKeyHead(mlir::Value token, mlir::Value keyHead);
  /// Decay and beta of the token's value head.
  void emitRates(mlir::Value token, mlir::Value head);
  /// State and output of columns [first, first + count) of the head, after emitKeyHead and emitRates. Meanwhile the
  /// columns of `next`, as many, are brought near, if it is given.
  void emitColumns(mlir::Value token, mlir::Value head, mlir::Value first, int64_t count,
                   const DeltaStrip *next = nullptr);
  /// Gated norm of the token's head.
  void emitNorm(mlir::Value token, mlir::Value head);
  mlir::Value keyHeadOf(mlir::Value head);

private:
  using Values = FloatBuilder::Values;
  void emitUnit(mlir::Value x, mlir::Value token, mlir::Value first, mlir::Value unit, bool isScaled);
  /// exp(-exp(log) * softplus(x)), of a scalar or a vector.
  mlir::Value emitDecay(mlir::Value log, mlir::Value x);
  /// S[row] * decay of a vector of columns.
  mlir::Value decayed(mlir::Value head, mlir::Value row, mlir::Value column, int64_t width, mlir::Value factor);
  /// Vectors [begin, end) of a row of the strip.
  void prefetch(const DeltaStrip &strip, mlir::Value row, int64_t begin, int64_t end);

  FloatBuilder &f;
  const DeltaSpec &spec;
  DeltaMemrefs memrefs;
  mlir::Value keys, queries; // scratch f32 [keyDim]
  mlir::Value decays;        // scratch f32 [keyDim], for decay of each row
  mlir::Value decay, beta;   // scalars
};

} // namespace moec

#endif
