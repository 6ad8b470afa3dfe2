// SPDX-License-Identifier: Apache-2.0
/// \file
/// The precision plan as a JSON file that people edit: written by `moec precision`, read by `--plan-precision`.
/// Main source: docs/precision.md.
#ifndef LIB_QUANT_PRECISIONFILE_H
#define LIB_QUANT_PRECISIONFILE_H

#include "lib/Quant/PrecisionRules.h"

namespace moec {

/// What a plan file says. `quant` and `group` are the base; then the lines of `tensors` count, then `rules`.
struct PrecisionPlan {
  std::string quant, group;         ///< empty: not given
  std::vector<PrecisionRule> rules; ///< the lines of both lists in the order in which they count
};

/// Errors name the file and the place in it: no JSON, unknown keys, values of the wrong kind.
llvm::Expected<PrecisionPlan> parsePrecisionPlan(llvm::StringRef text, llvm::StringRef file);

/// The resolved plan: a line for each matrix. Reading and writing it again gives the same bytes.
std::string writePrecisionPlan(llvm::StringRef quant, llvm::StringRef group, llvm::ArrayRef<WeightFacts> weights,
                               llvm::ArrayRef<Encoding> encodings);

/// Bits that a weight of `columns` columns takes, scales included: 4.5 for i4/32.
double bitsPerWeight(const Encoding &encoding, int64_t columns);

} // namespace moec

#endif
