// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the verify stage: constructors and registration. Main source: passes/verify/Passes.td.
#ifndef PASSES_VERIFY_PASSES_H
#define PASSES_VERIFY_PASSES_H

#include "dialects/moe/MoeDialect.h"

#include "mlir/Pass/Pass.h"

namespace mlir::moe {
#define GEN_PASS_DECL
#include "passes/verify/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/verify/Passes.h.inc"
} // namespace mlir::moe

#endif
