// SPDX-License-Identifier: Apache-2.0
/// \file
/// How often the experts of a generated model are used: the routers' scores that make it so. Main source:
/// docs/synthetic-models.md ("Skewed routing").
#ifndef LIB_SYNTH_ROUTING_H
#define LIB_SYNTH_ROUTING_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moec {

/// Weights of experts proportional to 1 / rank^S, of which a token draws `topK` without putting them back.
struct Routing {
  bool operator==(const Routing &) const = default;
  bool isPlain() const { return topK == 0; }

  uint32_t zipfThousandths = 0; ///< S in thousandths; 0: every expert is as likely
  uint32_t topK = 0;            ///< experts of a token; 0: weights without a meaning, the default
};

inline constexpr uint32_t kLargestZipfThousandths = 4000;

/// S of "zipf:S" in thousandths: a number from 0 to 4 with at most three decimals. Nothing if `text` is no such text.
std::optional<uint32_t> parseZipf(llvm::StringRef text);
/// "zipf:1.2" of 1200.
std::string zipfText(uint32_t zipfThousandths);

/// The share of tokens that use the expert of each rank, most used first: 1 - exp(-t / rank^S), which sum up to `topK`.
/// This is the chance to be among the first `topK` of independent arrivals with rates 1 / rank^S, where `t` is their
/// time on average: drawing without putting back.
std::vector<double> usedShares(uint64_t numExperts, Routing routing);

/// Scores by rank that reach `usedShares` where each gets a normal deviate of variance 1 and the `topK` largest win:
/// the deviate that is exceeded with that share. Multiples of 2^-8, within 5 of 0.
std::vector<float> scoresByRank(uint64_t numExperts, Routing routing);

} // namespace moec

#endif
