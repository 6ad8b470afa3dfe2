// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a decoded token of a planned module is expected to move, by the runtime's own formula. Behind the report and
/// `moec estimate`. Main source: include/moert/TokenCost.h.
#ifndef LIB_COMPILER_TOKENESTIMATE_H
#define LIB_COMPILER_TOKENESTIMATE_H

#include "include/moert/Generated.h"
#include "include/moert/TokenCost.h"
#include "include/moert/moert.h"
#include "lib/Support/Json.h"
#include "lib/Target/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"

namespace moec {

/// Fills `token_resident_bytes` and `expert_bytes`; leaves 0, unknown, where a weight cannot be stored.
void describeTokenWeights(mlir::ModuleOp module, moert_model_descriptor &descriptor);

/// What is known of the target: sustained, else peak.
const std::optional<MachineNumber> &knownMemoryRate(const MachineFacts &machine);
const std::optional<MachineNumber> &knownFlashRate(const MachineFacts &machine);

moert_token_cost costOf(const moert_token_traffic &traffic);

/// Numbers of experts worth a look: all that the model uses, then 3, 2 and 1 quarters of them.
std::vector<uint32_t> expertsWorthALook(uint32_t topK);

/// For each of these the bytes that one token's experts take in memory, what is read, and tokens per second.
JsonArray describeByExpertsUsed(const moert_token_traffic &traffic, uint32_t topK);

/// Lines for people of what `describeByExpertsUsed` gave; none if it is empty.
void formatByExpertsUsed(const JsonArray &entries, llvm::raw_ostream &stream);

} // namespace moec

#endif
