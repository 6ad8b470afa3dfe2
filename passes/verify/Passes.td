// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes that check what a stage leaves behind. Main source: docs/architecture.md.
#ifndef PASSES_VERIFY_PASSES_TD
#define PASSES_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyLevel : Pass<"moe-verify-level", "::mlir::ModuleOp"> {
  let summary = "checks that a module holds only what its IR level allows, with the entry points of a model";
  let description = [{
    *Before*: any module. *After*: the same. *Refuses*: an operation that a stage should have removed, by name; a model
    without the functions @prefill, @decode and @head; module attributes that later stages need and that are missing.
    Levels: L1 (import, graph), L2 (quantize, fuse), L3 (plan), L5 (lower).
    *Source*: docs/architecture.md, "The steps".

    Example: `moe-opt --moe-verify-level=level=L1 model.mlir`
  }];
  let options = [Option<"level", "level", "std::string", "\"L1\"", "IR level to check: L1, L2, L3 or L5">];
}

#endif
