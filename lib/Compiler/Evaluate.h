// SPDX-License-Identifier: Apache-2.0
/// \file
/// Quality of a compiled model on text: perplexity, and divergence from a reference build. Main source:
/// docs/command-line.md ("moec evaluate").
#ifndef LIB_COMPILER_EVALUATE_H
#define LIB_COMPILER_EVALUATE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace moec {

struct EvaluateOptions {
  std::string model, reference;         ///< `.so` files of this machine; no reference: empty
  std::string modelPack, referencePack; ///< empty: beside the `.so`
  std::string textFile, idsFile;        ///< one of them
  uint64_t window = 0;                  ///< tokens; 0: 512, or the context if it is shorter
  uint64_t maxTokens = 0;               ///< 0: all
  uint32_t threads = 0;
  uint32_t expertsUsed = 0; ///< of the model, not of the reference; 0: all
};

struct EvaluateResult {
  double nll = 0;        ///< mean negative log-likelihood of a token, natural logarithm
  double perplexity = 0; ///< e^nll
  uint64_t positions = 0;
  uint32_t expertsUsed = 0, expertsPerToken = 0; ///< in force, and compiled
  bool hasReference = false;
  double klMean = 0, klP99 = 0; ///< KL(reference || model) of a position
  double top1Agreement = 0;     ///< share of positions with the same most likely token
};

/// Cuts the ids into windows that do not overlap, each from an empty session; the first token of a window is not
/// predicted. Progress goes to `progress`. Errors: files, libraries, fewer than two ids, vocabularies that differ.
llvm::Expected<EvaluateResult> evaluate(const EvaluateOptions &options, llvm::raw_ostream &progress);

/// `evaluate` with all experts of a token, half and a quarter of them (at least one), in that order, each number once.
llvm::Expected<std::vector<EvaluateResult>> evaluateExpertsUsed(EvaluateOptions options, llvm::raw_ostream &progress);

/// One JSON object; kl_mean, kl_p99 and top1_agreement are null without a reference. Several results, of a sweep, are
/// listed under "experts_used_sweep"; the first one is also the object itself.
std::string writeEvaluation(llvm::ArrayRef<EvaluateResult> results);

} // namespace moec

#endif
