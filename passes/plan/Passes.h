// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the plan stage: constructors and registration. Main source: passes/plan/Passes.td.
#ifndef PASSES_PLAN_PASSES_H
#define PASSES_PLAN_PASSES_H

#include "dialects/moe/MoeDialect.h"
#include "dialects/rt/RtDialect.h"

#include "mlir/Pass/Pass.h"

namespace mlir::moe {
#define GEN_PASS_DECL
#include "passes/plan/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/plan/Passes.h.inc"
} // namespace mlir::moe

#endif
