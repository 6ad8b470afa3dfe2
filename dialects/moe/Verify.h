// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks that several verifiers of the `moe` dialect share. Main source: dialects/moe/MoeOps.td.
#ifndef DIALECTS_MOE_VERIFY_H
#define DIALECTS_MOE_VERIFY_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::moe {

/// x [T, K], w [N, K], y [T, N] agree in shape, and x is encoded exactly when w is, with the same group.
LogicalResult verifyProduct(Operation *op, RankedTensorType x, RankedTensorType w, RankedTensorType y);
/// x is encoded exactly when w is quantized, with the same group.
LogicalResult verifyEncodings(Operation *op, RankedTensorType x, RankedTensorType w);
/// w is f32, or encoded as f16.
bool isStoredFloat(RankedTensorType w);
/// A real attribute is positive and finite.
LogicalResult verifyPositive(Operation *op, StringRef name, double value);
/// A cache or state has at most one use.
LogicalResult verifyLinear(Operation *op, Value value);
/// weights and ids are [tokens, k] and 1 <= k <= experts.
LogicalResult verifyRouting(Operation *op, int64_t tokens, int64_t experts, int64_t k, RankedTensorType weights,
                            RankedTensorType ids);

} // namespace mlir::moe

#endif
