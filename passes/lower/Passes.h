// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the lower stage: constructors and registration. Main source: passes/lower/Passes.td.
#ifndef PASSES_LOWER_PASSES_H
#define PASSES_LOWER_PASSES_H

#include "dialects/moe/MoeDialect.h"
#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/ArmNeon/ArmNeonDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/Pass/Pass.h"

namespace mlir::moe {
#define GEN_PASS_DECL
#include "passes/lower/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/lower/Passes.h.inc"
} // namespace mlir::moe

#endif
