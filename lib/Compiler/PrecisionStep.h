// SPDX-License-Identifier: Apache-2.0
/// \file
/// Precision as users ask for it: plan files, rules on the command line, a size as the target. Steps: import, quantize.
/// Main source: docs/precision.md.
#ifndef LIB_COMPILER_PRECISIONSTEP_H
#define LIB_COMPILER_PRECISIONSTEP_H

#include "lib/Compiler/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace moec {

/// Reads `ROLE=ENCODING`, `ROLE@LAYERS=ENCODING` or, for `isTensor`, `GLOB=ENCODING`, the value of `flag`.
/// Errors: another form, an unknown role or encoding, fewer than 4 bits.
llvm::Expected<PrecisionRule> parseRuleFlag(llvm::StringRef flag, llvm::StringRef text, bool isTensor);

/// Reads `options.planFile`; its preset and group count where the command line gives none, its lines before the rules
/// of the command line.
llvm::Error readPlanFile(CompileOptions &options);

/// Chooses the most precise encodings with which the pack has at most `options.packBytes`. Records them, then
/// `options.rules`, in each of `modules`, which are at level L1 and differ in their target only.
llvm::Error fitPackSize(llvm::ArrayRef<mlir::ModuleOp> modules, const CompileOptions &options);

/// The plan file of a module behind the quantize step.
std::string writePlanOf(mlir::ModuleOp module);

} // namespace moec

#endif
