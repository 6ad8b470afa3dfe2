// SPDX-License-Identifier: Apache-2.0
/// \file
/// The precision rules of a module, as they stand in its attribute `moe.precision`, and its weights as the rules see
/// them. Shared by moe-assign-precision and the compiler. Main source: docs/precision.md.
#ifndef PASSES_QUANTIZE_PRECISIONRECORD_H
#define PASSES_QUANTIZE_PRECISIONRECORD_H

#include "dialects/moe/MoeDialect.h"
#include "lib/Quant/PrecisionRules.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::moe {

/// What rules see of each `moe.weight`, in the order of the module.
std::vector<moec::WeightFacts> factsOf(ModuleOp module);

/// The entries of `moe.precision`: an array of dictionaries of strings with the keys `encoding`, `roles`, `layers`,
/// `tensor`, `experts`, `label`, and the unit `group_limit`. Emits an error on the module for anything else.
FailureOr<std::vector<moec::PrecisionRule>> rulesOf(ModuleOp module);
void setRules(ModuleOp module, ArrayRef<moec::PrecisionRule> rules);

} // namespace mlir::moe

#endif
