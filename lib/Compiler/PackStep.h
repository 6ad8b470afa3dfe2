// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a planned module to the weight pack: what is stored where, and the values from the source files.
/// Step: pack. Main source: docs/pack-format.md.
#ifndef LIB_COMPILER_PACKSTEP_H
#define LIB_COMPILER_PACKSTEP_H

#include "include/moert/Generated.h"
#include "lib/Pack/PackPlan.h"
#include "lib/Pack/PackWriter.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace moec {

/// A finished pack plan, and where each of its tensors' values come from.
struct PackPlanOfModule {
  PackPlan plan;
  std::unique_ptr<TensorSource> source;
  std::vector<moert_streamed_table> tables; ///< in the order of their numbers in the module
};

/// Reads placements from a module at level L3 or later. Opens the source files. `partBytes` 0: one part.
llvm::Expected<PackPlanOfModule> planPack(mlir::ModuleOp module, uint64_t partBytes);

/// Version of the compiler as it stands in the plan's identity.
llvm::StringRef compilerVersion();

} // namespace moec

#endif
