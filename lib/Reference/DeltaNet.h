// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts of a Gated DeltaNet layer as plain loops over tensors. Compiled code gives the same bits.
/// Main source: dialects/moe/MoeRecurrentOps.td.
#ifndef LIB_REFERENCE_DELTANET_H
#define LIB_REFERENCE_DELTANET_H

#include "dialects/moe/MoeDialect.h"
#include "lib/Reference/Matrix.h"

#include <optional>

namespace moec {

/// silu or sigmoid of one value.
float activate(float x, mlir::moe::ActivationKind kind);

/// y[t][c] = act(Σ_j w[c][j] x[t - K + 1 + j][c]), j ascending by fma from 0; rows before the chunk come from `state`,
/// which then holds the last K - 1 rows. Shapes: x [T][C], w [C][K], state [K - 1][C].
FloatTensor convolve(const FloatTensor &x, const Matrix &w, FloatTensor &state,
                     std::optional<mlir::moe::ActivationKind> kind);

/// x * s for each block of `block` values, s = 1 / sqrt(Σ x² + eps).
FloatTensor l2Norm(const FloatTensor &x, int64_t block, float eps);

/// g = -exp(aLog[h]) * softplus(a + dtBias). Shapes: a [T][R], aLog [H] where H divides R, dtBias [R].
FloatTensor logDecay(const FloatTensor &a, llvm::ArrayRef<float> aLog, llvm::ArrayRef<float> dtBias);

/// What a delta rule reads beside its state. Shapes: q, k [T][Hk * Dk], v [T][Hv * Dv], g [T][Hv] or [T][Hv * Dk], beta
/// [T][Hv]. The columns fit the state [Hv][Dk][Dv].
struct DeltaInputs {
  const FloatTensor &q, &k, &v, &g, &beta;
  float scale = 1;
  mlir::moe::HeadMap headMap = mlir::moe::HeadMap::grouped;
};

/// For each token and value head, in this order, each sum with one accumulator from 0 and d ascending:
///   S[d][j] = S[d][j] * exp(g); r_j = fma(S[d][j], k[d], r_j); delta_j = beta * (v_j - r_j);
///   S[d][j] = fma(k[d], delta_j, S[d][j]); o_j = fma(S[d][j], q[d] * scale, o_j).
FloatTensor deltaRule(const DeltaInputs &inputs, FloatTensor &state);

/// rms norm of each block of w.size() values, times act(z).
FloatTensor gatedNorm(const FloatTensor &x, const FloatTensor &z, llvm::ArrayRef<float> w, float eps,
                      mlir::moe::ActivationKind kind);

} // namespace moec

#endif
