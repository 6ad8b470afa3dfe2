// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the lower stage. Main source: docs/architecture.md.
#ifndef PASSES_LOWER_PASSES_TD
#define PASSES_LOWER_PASSES_TD

include "mlir/Pass/PassBase.td"

def GenerateKernels : Pass<"moe-generate-kernels", "::mlir::ModuleOp"> {
  let summary = "generates a kernel for each distinct compute step and launches it";
  let description = [{
    *Before*: L3. *After*: L4: each `rt.compute` has become an `rt.launch` of a function in the nested module `@kernels`;
    equal steps share one function. `rt.joins_per_token` on the module counts the task regions of a decoded token that
    have more than one tile; the experts of a layer are one. *Assumes*: `moe.target`. *Refuses*: shapes that
    a kernel generator does not take, by name.
    *Source*: docs/architecture.md, "Kernels".

    Example: `moe-opt --moe-generate-kernels model.plan.mlir`
  }];
  let dependentDialects = ["::mlir::rt::RtDialect", "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect", "::mlir::math::MathDialect",
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::arm_neon::ArmNeonDialect",
    "::mlir::x86vector::X86VectorDialect"];
}

def LowerEntries : Pass<"moe-lower-entries", "::mlir::ModuleOp"> {
  let summary = "turns entry functions into calls through the runtime's table";
  let description = [{
    *Before*: L4 whose `@kernels` is in the LLVM dialect. *After*: L5: kernels, launch thunks and entry functions side by
    side in one module, all in the LLVM dialect; every call's status is checked. *Assumes*: the ABI of
    include/moert/Generated.h. *Refuses*: steps that are not launches. *Source*: docs/architecture.md, "ABI".

    Example: `moe-opt --moe-lower-entries model.l4.mlir`
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
