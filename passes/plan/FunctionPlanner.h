// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plans one entry function: its ops become steps on buffers. Part of the plan stage.
/// Main source: docs/architecture.md ("Plan").
#ifndef PASSES_PLAN_FUNCTIONPLANNER_H
#define PASSES_PLAN_FUNCTIONPLANNER_H

#include "dialects/moe/MoeDialect.h"
#include "dialects/rt/RtDialect.h"

namespace mlir::moe {

/// The KV cache of a session: blocks of 64 positions that hold all layers.
struct KvPlan {
  int64_t blockBytes = 0;
  int64_t capacity = 0;          ///< positions
  int64_t window = 0, sinks = 0; ///< positions; window 0: none
  int64_t numBlocks = 0;         ///< that are ever in use
  SmallVector<int64_t> layerOffsets;
};

/// The recurrent state of a session: byte offsets of the `!moe.state` arguments in their order, which all entry
/// functions share.
struct StatePlan {
  SmallVector<int64_t> offsets;
  int64_t bytes = 0;
};

/// Parts of the arena that all entry functions agree on, in bytes and rows.
struct ArenaPlan {
  int64_t chunk = 0, headRows = 0;
  int64_t hiddenOffset = 0, logitsOffset = 0, maximaOffset = 0;
  int64_t sharedOffset = 0; ///< where buffers of one call start
};

/// Replaces the L2 body of `function` by an L3 body for up to `tokens` rows. Returns the arena bytes it needs.
/// Errors are emitted on the op at fault.
FailureOr<int64_t> planFunction(func::FuncOp function, int64_t tokens, const KvPlan &kv, const StatePlan &state,
                                const ArenaPlan &arena, DictionaryAttr pack);

} // namespace mlir::moe

#endif
