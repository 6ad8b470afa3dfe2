// SPDX-License-Identifier: Apache-2.0
/// \file
/// The stored form of a `moe.weight` under a layout family: what the pack holds of it. Part of the plan stage, also
/// read by the pack step. Main source: docs/pack-format.md.
#ifndef PASSES_PLAN_STOREDWEIGHT_H
#define PASSES_PLAN_STOREDWEIGHT_H

#include "dialects/moe/MoeDialect.h"
#include "lib/Pack/Layout.h"

namespace mlir::moe {

struct StoredWeight {
  moec::Encoding encoding;
  int64_t rows = 0, cols = 0; ///< of one matrix; a vector is one row
  int64_t bytes = 0;          ///< of one matrix in its layout, or of a vector of f32
  int64_t rowBytes = 0;       ///< of one row of a streamed table: codes, then scales, a multiple of 4
};

/// The stored form of `weight`. Emits an error on it for schemes without a layout.
FailureOr<StoredWeight> storedWeightOf(WeightOp weight, moec::LayoutFamily family);

/// The layout family of `moe.target`. Emits an error on the module if there is none.
FailureOr<moec::LayoutFamily> familyOf(ModuleOp module);

} // namespace mlir::moe

#endif
