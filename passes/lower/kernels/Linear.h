// SPDX-License-Identifier: Apache-2.0
/// \file
/// Generators of the kernels that are matrix products. Memrefs have static maximum shapes and are passed as bare
/// pointers; weights are memref<BYTESxi8>. "rows" below is: float weights: x f32 [n][K]; integer weights: codes i8
/// [n][K], scales f32 [n][K/G], sums i32 [n][K/G]. Step: lower. Main source: docs/architecture.md, "Kernels".
#ifndef PASSES_LOWER_KERNELS_LINEAR_H
#define PASSES_LOWER_KERNELS_LINEAR_H

#include "passes/lower/kernels/Dot.h"

namespace moec {

/// y = W x (+ bias) (+ residual), added in this order to the finished product.
///
/// Arguments: weights, rows of x [maxTokens], bias f32 [N] if hasBias, residual f32 [maxTokens][N] if hasResidual, y
/// f32 [maxTokens][N], index n, index position (unused), index tile_begin, index tile_end. residual may be y. Tile:
/// rowsPerTile rows for all n tokens. Memory: reads each weight once for each block of tokens.
struct LinearSpec {
  MatrixSpec matrix;
  int64_t maxTokens = 0;
  int64_t rowsPerTile = 32;
  bool hasResidual = false;
  bool hasBias = false;

  int64_t numTiles() const { return (matrix.rows + rowsPerTile - 1) / rowsPerTile; }
};

/// The matrices of one expert record and how its kernels are cut.
struct ExpertsSpec {
  int64_t recordBytes = 0;
  /// [I, H] each.
  MatrixSpec gate, up;
  /// [H, I].
  MatrixSpec down;
  int64_t topK = 0;
  int64_t maxTokens = 0;
  /// Rows of one tile of expertsDown.
  int64_t rowsPerTile = 32;

  /// Whether up reads x in another form than gate: floats or codes, or other groups.
  bool hasOwnUpRows() const {
    return gate.encoding.isInteger() != up.encoding.isInteger() ||
           (gate.encoding.isInteger() && gate.encoding.group != up.encoding.group);
  }
  int64_t maxPairs() const { return maxTokens * topK; }
  /// Columns of I in one tile of expertsGateUp: the group of `down`, or 32.
  int64_t columnsPerTile() const { return down.encoding.isInteger() ? down.encoding.group : 32; }
  int64_t numGateUpTiles() const { return (gate.rows + columnsPerTile() - 1) / columnsPerTile(); }
  int64_t numDownTiles() const { return (down.rows + rowsPerTile - 1) / rowsPerTile; }
};

/// Adds `func.func @name(memrefs.., index..)` with `numIndices` index arguments and lets `body` fill it.
mlir::func::FuncOp
buildProductKernel(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                   llvm::ArrayRef<mlir::Type> memrefs, int64_t numIndices,
                   llvm::function_ref<void(FloatBuilder &, mlir::ValueRange memrefs, mlir::ValueRange indices)> body);

llvm::Error check(const LinearSpec &spec, LayoutFamily family);
llvm::Error check(const ExpertsSpec &spec, LayoutFamily family);

mlir::func::FuncOp buildLinear(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                               const LinearSpec &spec);

/// h = silu(W_gate x) * (W_up x) of the pairs of one expert.
///
/// Arguments: record i8 [recordBytes], pairs i32 [maxPairs] (token * topK + rank), rows of x by token [maxTokens], with
/// hasOwnUpRows() the same for up, rows of h by pair [maxPairs] in the form that `down` reads (f32, or quantized by
/// group), index m (pairs of this expert), index tile_begin, index tile_end.
mlir::func::FuncOp buildExpertsGateUp(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                      const ExpertsSpec &spec);

/// y = W_down h of the pairs of one expert.
///
/// Arguments: record i8 [recordBytes], pairs i32 [maxPairs], rows of h by pair [maxPairs], y f32 [maxPairs][H] by pair,
/// index m, index tile_begin, index tile_end.
mlir::func::FuncOp buildExpertsDown(KernelContext &context, mlir::ModuleOp module, llvm::StringRef name,
                                    const ExpertsSpec &spec);

} // namespace moec

#endif
