// SPDX-License-Identifier: Apache-2.0
/// \file
/// Passes of the plan stage. Main source: docs/architecture.md.
#ifndef PASSES_PLAN_PASSES_TD
#define PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlaceWeights : Pass<"moe-place-weights", "::mlir::ModuleOp"> {
  let summary = "decides for each weight whether it is resident, paged by expert or streamed by rows, and where";
  let description = [{
    *Before*: L2. *After*: every `moe.weight` has a `placement`; `rt.pack` on the module has the sizes and the tables that
    are made at compile time (rotary cosines and sines). Expert weights go to one record an expert, the embedding to a
    streamed table, all else is resident. The embedding of a tied model has the place of the head, unless it has another encoding. *Assumes*: verified L2 and `moe.target`. *Refuses*: encodings without a layout.
    *Source*: docs/pack-format.md.

    Example: `moe-opt --moe-place-weights model.fuse.mlir`
  }];
  let dependentDialects = ["::mlir::rt::RtDialect"];
}

def PlanMemory : Pass<"moe-plan-memory", "::mlir::ModuleOp"> {
  let summary = "turns tensors into views of one static arena";
  let description = [{
    *Before*: L2 with placements. *After*: L3: each function takes the context, each tensor is an `rt.arena` view at a
    fixed offset, each op one `rt.compute` or a few. Buffers share bytes when their lives do not meet; residual sums stay
    in place. Each `!moe.state` argument becomes an `rt.state` view at an offset that all functions share. `rt.plan` on
    the module has the sizes. Not undoable: shapes become static maxima. *Assumes*: placements from moe-place-weights.
    *Refuses*: ops without a step on the device, by name. *Source*: docs/architecture.md, "Plan".

    Example: `moe-opt --moe-place-weights --moe-plan-memory model.fuse.mlir`
  }];
  let dependentDialects = ["::mlir::rt::RtDialect"];
}

def CheckPlan : Pass<"moe-check-plan", "::mlir::ModuleOp"> {
  let summary = "checks a memory plan independently of the planner";
  let description = [{
    *Before*, *After*: L3. Recomputes the life of each arena view from the steps that use it. *Refuses*: two views that
    are alive at the same time and share bytes, views beyond the arena, the resident segment or the recurrent state,
    states that share bytes, lie elsewhere in another function or are written by two steps, an arena or a state
    that is larger than its views, resident weights whose placement has another size than they, resident views where no weight or table of
    their size lies, a context, window or number of sinks that the caches are not planned for, a table, a top-k or the layer of a guess that
    the model has not, a budget in `moe.options` below the minimum (with the three largest consumers). *Source*:
    docs/architecture.md, "Plan".

    Example: `moe-opt --moe-check-plan model.plan.mlir`
  }];
}

#endif
