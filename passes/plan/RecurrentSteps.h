// SPDX-License-Identifier: Apache-2.0
/// \file
/// The steps of a `moe.delta_step`: three for many tokens, one for one. Part of the plan stage.
/// Main source: docs/architecture.md ("Recurrent layers").
#ifndef PASSES_PLAN_RECURRENTSTEPS_H
#define PASSES_PLAN_RECURRENTSTEPS_H

#include "dialects/moe/MoeDialect.h"
#include "passes/plan/ProgramBuilder.h"

namespace mlir::rt {

/// Views of the operands of a `moe.delta_step`, in its order.
struct DeltaViews {
  SmallVector<Value, 6> inputs;  ///< q, k, v, z, a, b
  SmallVector<Value, 6> weights; ///< q_conv, k_conv, v_conv, a_log, dt_bias, w
  SmallVector<Value, 4> states;  ///< q_state, k_state, v_state, state
};

/// Emits the steps for up to `tokens` rows. They overwrite q, k and v. `y` are floats, and may be the view of v, or
/// with `group` > 0 the codes, scales and sums of an activation.
void emitDeltaSteps(ProgramBuilder &program, moe::DeltaStepOp op, const DeltaViews &views, ValueRange y, int64_t tokens,
                    int64_t group);

} // namespace mlir::rt

#endif
