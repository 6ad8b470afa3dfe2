// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the quantize stage: constructors and registration. Main source: passes/quantize/Passes.td.
#ifndef PASSES_QUANTIZE_PASSES_H
#define PASSES_QUANTIZE_PASSES_H

#include "dialects/moe/MoeDialect.h"

#include "mlir/Pass/Pass.h"

namespace mlir::moe {
#define GEN_PASS_DECL
#include "passes/quantize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/quantize/Passes.h.inc"
} // namespace mlir::moe

#endif
