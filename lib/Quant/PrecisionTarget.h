// SPDX-License-Identifier: Apache-2.0
/// \file
/// The most precise encodings that fit a size: a fixed ladder of steps, from the least to the most sensitive weights.
/// Main source: docs/precision.md ("A size as the target").
#ifndef LIB_QUANT_PRECISIONTARGET_H
#define LIB_QUANT_PRECISIONTARGET_H

#include "lib/Quant/PrecisionRules.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace moec {

/// Bytes that the weights take under these rules. Never grows when a rule gets fewer bits.
using SizeOfRules = llvm::function_ref<llvm::Expected<uint64_t>(llvm::ArrayRef<PrecisionRule>)>;

struct FittedPrecision {
  std::vector<PrecisionRule> rules; ///< one for each kind of weight that the model has
  uint64_t sizeBytes = 0;
};

/// Rules for all weights, int8 at best, whose size is at most `limitBytes`; the most precise along the ladder.
///
/// `group` 0: the ladder chooses; else 32, 64 or 128 for all. Errors: what `sizeOf` refuses; a limit below the smallest
/// size, which is named together with what stays f32 and why. `flag` stands in the message.
/// Cost: `sizeOf` is called about 30 times at most.
llvm::Expected<FittedPrecision> fitPrecision(llvm::ArrayRef<WeightFacts> weights, uint64_t limitBytes, int64_t group,
                                             llvm::StringRef flag, SizeOfRules sizeOf);

} // namespace moec

#endif
