// SPDX-License-Identifier: Apache-2.0
/// \file
/// From kernels and entry functions on func, scf, arith, math, vector and memref to the LLVM dialect. Step: lower.
/// Main source: docs/architecture.md, "Kernels".
#ifndef PASSES_LOWER_LLVMPIPELINE_H
#define PASSES_LOWER_LLVMPIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace moec {

/// Appends the passes. Memrefs of static shape become bare pointers in function signatures.
void buildLLVMPipeline(mlir::OpPassManager &passes);

/// Runs the passes on `module`, so that only the LLVM dialect is left. Errors: a pass failed; its diagnostics went to
/// the context.
llvm::Error lowerToLLVMDialect(mlir::ModuleOp module);

/// Registers what the passes need in `registry` beyond the dialects of the input.
void registerLLVMPipelineDialects(mlir::DialectRegistry &registry);

} // namespace moec

#endif
