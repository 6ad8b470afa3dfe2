// SPDX-License-Identifier: Apache-2.0
/// \file
/// The stages' pass pipelines: the only place that orders passes. Main source: passes/Phases.def.
#ifndef PASSES_PIPELINES_H
#define PASSES_PIPELINES_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace moec {

enum class Phase {
#define MOEC_PHASE(name, enumerator, leaves) enumerator,
#include "passes/Phases.def"
};

/// The name of a phase, as in `--to`.
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// "import, graph, …", for messages.
std::string phaseNames();

/// Adds the passes that lead to the end of `phase` from the end of the one before it, and the level check. Import,
/// object, pack and link are not passes: for import only the check is added, for the others nothing.
void buildPhasePipeline(mlir::OpPassManager &manager, Phase phase);

/// Every dialect that a module of any phase holds.
void registerDialects(mlir::DialectRegistry &registry);
/// Every pass and the option --moe-stage of moe-opt.
void registerPasses();

} // namespace moec

#endif
