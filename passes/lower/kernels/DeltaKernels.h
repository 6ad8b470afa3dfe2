// SPDX-License-Identifier: Apache-2.0
/// \file
/// Generators of the kernels of a Gated DeltaNet layer: convolution, delta rule and gated norm as three steps for many
/// tokens, and all of it as one step for one. Form and contract are those of FloatKernels.h; the parts are emitted by
/// the same functions, so both ways give the same bits. Main source: dialects/moe/MoeRecurrentOps.td.
#ifndef PASSES_LOWER_KERNELS_DELTAKERNELS_H
#define PASSES_LOWER_KERNELS_DELTAKERNELS_H

#include "lib/Quant/Encoding.h"
#include "passes/lower/kernels/KernelBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace moec {

/// Channels of a tile of a convolution.
constexpr int64_t kConvTileChannels = 64;

/// y[t, c] = (silu of) Σ_j w[c, j] * x[t - length + 1 + j, c], j ascending by fma from 0; rows before token 0 come from
/// the state, which then holds the last length - 1 rows. Memrefs: x f32 [maxTokens][channels], w i8 [bytes of a
/// matrix [channels, length] of floats, lib/Pack/Layout.h], y as x (it may be x), state f32 [length - 1][channels].
/// Tile: 64 channels.
struct ConvSpec {
  int64_t maxTokens = 0;
  int64_t channels = 0;
  int64_t length = 0;
  bool silu = true;
  Encoding encoding = Encoding::f32();
  int64_t numTiles() const { return (channels + kConvTileChannels - 1) / kConvTileChannels; }
};

/// What the steps of a layer need to know. Value head h reads key head h / (valueHeads / keyHeads), or h mod keyHeads
/// where `tiled`.
///
/// Rule: k' = k / √(Σk² + l2Epsilon), q' the same and then * scale; e = exp(-exp(a_log) * softplus(a + dt_bias)), one
/// for each head or, with rateColumns = valueHeads * keyDim, for each row of its state; beta = sigmoid(b). For each
/// column, rows d ascending: s = S[d] * e, r = fma(s, k'[d], r); delta = beta * (v - r); S[d] = fma(k'[d], delta, s),
/// o = fma(S[d], q'[d], o). Sums Σk² by N2.
/// Norm: y = (o * 1 / √(Σo²/valueDim + epsilon)) * w * act(z); with group > 0 int8 codes of it as QuantizeSpec.
///
/// Memrefs of the rule: q, k f32 [maxTokens][keyHeads * keyDim], v f32 [maxTokens][valueHeads * valueDim], a f32
/// [maxTokens][rateColumns], b f32 [maxTokens][valueHeads], a_log f32 [logLength], dt_bias f32 [rateColumns], o as v
/// (it may be v), state f32 [valueHeads][keyDim][valueDim]. Tile: a strip of columns of one head, index head * strips +
/// strip. Memrefs of the norm: o, z as v, w f32 [valueDim], y as v (it may be o), or codes, scales and sums. Tile: one
/// token. Memrefs of the whole step: q, k, v, z, a, b, the three weights of the convolutions, a_log, dt_bias, w, y or
/// codes, scales and sums, the three states of the convolutions, state; q, k and v are overwritten, y may be v. Tile:
/// one key head with its value heads.
struct DeltaSpec {
  int64_t maxTokens = 0;
  int64_t keyHeads = 0;
  int64_t valueHeads = 0;
  int64_t keyDim = 0;
  int64_t valueDim = 0;
  int64_t rateColumns = 0;
  int64_t logLength = 0;
  int64_t length = 4; ///< of the convolutions, in the whole step
  float l2Epsilon = 1e-6f;
  float scale = 1.0f;
  float epsilon = 1e-6f;
  bool tiled = false;
  bool silu = true;         ///< after the convolutions
  bool sigmoidGate = false; ///< act of the norm: sigmoid, or else silu
  int64_t group = 0;
  Encoding convEncoding = Encoding::f32();

  bool hasChannelDecay() const { return rateColumns != valueHeads; }
  int64_t keyColumns() const { return keyHeads * keyDim; }
  int64_t valueColumns() const { return valueHeads * valueDim; }
};

/// Columns of the state that a tile of the rule works on: as many as have their sums in registers. No result depends on
/// it.
int64_t deltaStripColumns(Isa isa);
inline int64_t numDeltaStrips(const DeltaSpec &spec, Isa isa) {
  return (spec.valueDim + deltaStripColumns(isa) - 1) / deltaStripColumns(isa);
}

/// Errors name the first number that no kernel is generated for.
llvm::Error check(const ConvSpec &spec);
llvm::Error check(const DeltaSpec &spec);

mlir::func::FuncOp buildConv(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name, const ConvSpec &spec);
mlir::func::FuncOp buildDeltaRule(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                  const DeltaSpec &spec);
mlir::func::FuncOp buildGatedNorm(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                  const DeltaSpec &spec);
mlir::func::FuncOp buildDeltaStep(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                  const DeltaSpec &spec);

} // namespace moec

#endif
