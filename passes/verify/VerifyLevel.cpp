// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks that a module holds only what its IR level allows. Main source: passes/verify/Passes.td.
#include "passes/verify/Passes.h"

#include "dialects/rt/RtDialect.h"

namespace mlir::moe {
#define GEN_PASS_DEF_VERIFYLEVEL
#include "passes/verify/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct VerifyLevel : moe::impl::VerifyLevelBase<VerifyLevel> {
  using VerifyLevelBase::VerifyLevelBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (level != "L1" && level != "L2" && level != "L3" && level != "L5") {
      module.emitError("expects a level L1, L2, L3 or L5, but got '") << level << "'";
      return signalPassFailure();
    }
    for (StringRef name : {"moe.files", "moe.model", "moe.tokenizer", "moe.generation", "moe.target", "moe.options"})
      if (!module->hasAttr(name)) {
        module.emitError("expects the module attribute '") << name << "', which the import step records";
        return signalPassFailure();
      }
    if (level == "L3" || level == "L5")
      if (!module->hasAttr("rt.plan")) {
        module.emitError("expects the module attribute 'rt.plan', which the plan step records");
        return signalPassFailure();
      }
    for (StringRef entry : {"prefill", "decode", "head"})
      if (!module.lookupSymbol(entry)) {
        module.emitError("expects the entry point @") << entry << " of a model";
        return signalPassFailure();
      }
    WalkResult result = module.walk([&](Operation *op) {
      if (op == module.getOperation() || allows(op))
        return WalkResult::advance();
      op->emitOpError("should be gone at level ") << level;
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  bool allows(Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    bool isFused =
        isa<QuantizeActOp, NormQuantizeOp, MultiLinearOp, RopeAppendOp, RouterTopkOp, DeltaStepOp, PredictExpertsOp>(
            op);
    if (isa<WeightOp>(op))
      return true;
    if (level == "L1")
      return (dialect == "moe" || dialect == "func" || dialect == "arith") && !isFused;
    if (level == "L2")
      return dialect == "moe" || dialect == "func" || dialect == "arith";
    if (level == "L3")
      return (dialect == "rt" || dialect == "func") && !isa<rt::LaunchOp>(op);
    return dialect == "llvm";
  }
};

} // namespace
