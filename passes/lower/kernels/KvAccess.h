// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the kernels of the KV cache share: where a block lies, and the Hadamard transform of int4 caches. Step: lower.
/// Main source: docs/architecture.md ("KV cache").
#ifndef PASSES_LOWER_KERNELS_KVACCESS_H
#define PASSES_LOWER_KERNELS_KVACCESS_H

#include "passes/lower/kernels/FloatBuilder.h"

namespace moec {

/// The fields of `moert_kv_window` as indices.
struct KvWindowValues {
  mlir::Value window, sinks, sinkBlocks, ringBlocks;

  static mlir::MemRefType typeOf(mlir::Builder &builder);
  /// Reads them from a memref of that type.
  static KvWindowValues load(FloatBuilder &builder, mlir::Value memref);
  /// Where block `number` lies, as moert_kv_physical_block.
  mlir::Value physicalBlock(FloatBuilder &builder, mlir::Value number) const;
};

/// Transforms the `dim` values of `x` (f32 memref of rank 1) in place by normalized Hadamard matrices of the largest
/// power of two that divides dim: butterflies (a + b, a - b) at distances 1, 2, 4, …, then one product with the
/// constant. The matrix is symmetric and orthogonal, so scores of transformed queries with transformed keys are those
/// of the originals, while outliers of single columns are spread over all of them.
/// Source: Ashkboos et al., "QuaRot: Outlier-Free 4-Bit Inference in Rotated LLMs", arXiv:2404.00456.
void emitHadamard(FloatBuilder &builder, mlir::Value x, int64_t dim);

} // namespace moec

#endif
