// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the fuse stage: constructors and registration. Main source: passes/fuse/Passes.td.
#ifndef PASSES_FUSE_PASSES_H
#define PASSES_FUSE_PASSES_H

#include "dialects/moe/MoeDialect.h"

#include "mlir/Pass/Pass.h"

namespace mlir::moe {
#define GEN_PASS_DECL
#include "passes/fuse/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/fuse/Passes.h.inc"
} // namespace mlir::moe

#endif
