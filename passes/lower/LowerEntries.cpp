// SPDX-License-Identifier: Apache-2.0
/// \file
/// Merges the lowered kernels into the module and lowers the entry functions. Main source: passes/lower/Passes.td.
#include "passes/lower/EntryBuilder.h"
#include "passes/lower/Passes.h"

namespace mlir::moe {
#define GEN_PASS_DEF_LOWERENTRIES
#include "passes/lower/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct LowerEntries : moe::impl::LowerEntriesBase<LowerEntries> {
  using LowerEntriesBase::LowerEntriesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = module.lookupSymbol<ModuleOp>("kernels");
    if (!kernels) {
      module.emitError("expects the module @kernels; run moe-generate-kernels first");
      return signalPassFailure();
    }
    for (Operation &op : llvm::make_early_inc_range(*kernels.getBody())) {
      auto kernel = dyn_cast<LLVM::LLVMFuncOp>(op);
      if (!kernel && !isa<LLVM::GlobalOp>(op)) {
        op.emitOpError("expects kernels in the LLVM dialect");
        return signalPassFailure();
      }
      if (kernel && !kernel.isExternal())
        kernel.setLinkage(LLVM::Linkage::Internal);
      op.moveBefore(module.getBody(), module.getBody()->end());
    }
    kernels.erase();
    rt::ThunkBuilder thunks(module);
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (failed(rt::buildEntry(function, thunks)))
        return signalPassFailure();
  }
};

} // namespace
