// SPDX-License-Identifier: Apache-2.0
/// \file
/// Choice of the next token from logits: greedy, temperature, top-k, top-p. Part of the run step.
/// Main source: include/moert/moert.h, moert_sampler_options; generator: Steele et al. 2014 (SplitMix64).
#ifndef RUNTIME_SAMPLER_SAMPLER_H
#define RUNTIME_SAMPLER_SAMPLER_H

#include "moert/moert.h"

namespace moert {

/// nullptr, or what is wrong with the options (a constant text, to be shown with the value).
const char *checkSamplerOptions(const moert_sampler_options &options);

/// The lowest id of the largest logit. NaN counts as minus infinity.
int32_t greedyToken(const float *logits, uint32_t vocabSize);

/// Chooses a token.
///
/// Logits are ordered by value, then by id. Weights exp((logit - max) / temperature) are 40-bit integers, so sums are
/// exact, and the result depends on nothing but the arguments: not on the ISA, the compiler or the order of additions.
/// Draws are numbered: the same (seed, position) always gives the same draw.
/// Shapes: logits [vocabSize]; scratch [vocabSize], overwritten; may be null for temperature 0.
/// Errors: none; the caller checked the options. Weights below 2^-40 of the largest count as zero.
/// Cost: one pass, and one heap pop for each token that top-k or top-p keeps.
int32_t sampleToken(const float *logits, uint32_t vocabSize, const moert_sampler_options &options, uint64_t position,
                    uint64_t *scratch);

/// 2^40 * exp(x) for x <= 0, rounded down after a polynomial in integers; 0 below 2^-40. NaN gives 0.
uint64_t fixedPointExp(double x);

/// Draw number `position` of the stream `seed`: 64 uniform bits.
uint64_t randomBits(uint64_t seed, uint64_t position);

} // namespace moert
#endif
