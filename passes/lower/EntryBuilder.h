// SPDX-License-Identifier: Apache-2.0
/// \file
/// Builds an entry function and its launch thunks in the LLVM dialect from L4. Part of the lower stage.
/// Main source: include/moert/Generated.h, docs/architecture.md ("ABI").
#ifndef PASSES_LOWER_ENTRYBUILDER_H
#define PASSES_LOWER_ENTRYBUILDER_H

#include "dialects/rt/RtDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::rt {

/// Makes thunks: functions of type `moert_kernel` that unpack the argument array and call kernels over a range of
/// tiles. Equal launches share a thunk.
class ThunkBuilder {
public:
  explicit ThunkBuilder(ModuleOp module) : module(module) {}
  /// The thunk of `launch`; `inExperts`: tiles are counted by the experts of the context's wave, and the first two
  /// arguments, record and pairs, come from there.
  LLVM::LLVMFuncOp thunkFor(LaunchOp launch, bool inExperts);

private:
  void buildPlain(LLVM::LLVMFuncOp thunk, LaunchOp launch);
  void buildExperts(LLVM::LLVMFuncOp thunk, LaunchOp launch);
  ModuleOp module;
  llvm::StringMap<LLVM::LLVMFuncOp> thunks;
};

/// Replaces the L4 function `function` by an LLVM function of type `moert_entry` with the same name.
LogicalResult buildEntry(func::FuncOp function, ThunkBuilder &thunks);

} // namespace mlir::rt

#endif
