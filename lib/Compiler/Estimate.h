// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sizes and speed of a model from its config alone: the planner and the pack plan of `moec compile`, and a model of
/// bandwidths on top. Behind `moec estimate`. Main source: docs/synthetic-models.md ("What an estimate assumes").
#ifndef LIB_COMPILER_ESTIMATE_H
#define LIB_COMPILER_ESTIMATE_H

#include "include/moert/TokenCost.h"
#include "include/moert/moert.h"
#include "lib/Compiler/CompileOptions.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace moec {

struct EstimateOptions {
  CompileOptions model;                                            ///< isRandom; one target
  std::optional<uint64_t> dramBytesPerSecond, flashBytesPerSecond; ///< absent: what is known of the target
  std::optional<uint32_t> zipfThousandths;                         ///< of routing; absent: uniform
  std::optional<double> hitRate;                                   ///< of expert uses; absent: from routing and slots
  std::optional<double> predicted;                                 ///< share of misses that are read ahead
  double clock = 1;                                                ///< of the cores, as a share
  std::optional<uint64_t> depth; ///< positions seen; absent: half of the context, or the window
  uint32_t expertsUsed = 0;      ///< of a token; 0: all
};

struct EstimateClass {
  std::string name, placement, encoding;
  uint64_t weights = 0;
  uint64_t bytes = 0; ///< in the pack, without padding between records
};

struct Estimate {
  std::string model, target, quant, group, kv;
  uint64_t context = 0, chunk = 0, packBytes = 0, depth = 0;
  uint32_t topK = 0;
  uint64_t weights = 0;       ///< parameters of the model
  uint64_t activeWeights = 0; ///< of them, what a token is multiplied with: without the embedding table
  std::vector<EstimateClass> classes;
  moert_plan_info plan{};
  moert_token_traffic traffic{};
  moert_token_cost cost{};
  std::optional<uint64_t> memoryBytesPerSecond; ///< before `clock`
  std::vector<std::string> assumptions;
};

/// Runs the steps up to plan and the pack plan; reads and writes no weights.
/// Errors: those of the steps; a budget below the minimum, with the bytes needed.
llvm::Expected<Estimate> estimate(const EstimateOptions &options);

std::string writeEstimate(const Estimate &estimate);  ///< one JSON object
std::string formatEstimate(const Estimate &estimate); ///< lines for people

} // namespace moec

#endif
