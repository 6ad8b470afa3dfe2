// SPDX-License-Identifier: Apache-2.0
/// \file
/// Choice of the next token from logits: greedy, temperature, top-k, top-p. Part of the run step.
/// Main source: include/moert/moert.h, moert_sampler_options; generator: Steele et al. 2014 (SplitMix64).
#ifndef RUNTIME_SAMPLER_SAMPLER_H
#define RUNTIME_SAMPLER_SAMPLER_H

#include "moert/Generated.h"
#include "moert/moert.h"

namespace moert {

/// Tiles of `vocabSize` logits.
inline uint32_t numLogitTiles(uint32_t vocabSize) {
  return vocabSize / MOERT_LOGIT_TILE + (vocabSize % MOERT_LOGIT_TILE != 0);
}

/// nullptr, or what is wrong with the options (a constant text, to be shown with the value).
const char *checkSamplerOptions(const moert_sampler_options &options);

/// Logits of one token by tiles of MOERT_LOGIT_TILE ids, each with its largest: most tiles need not be looked at.
struct TiledLogits {
  const float *values; /// [vocabSize]
  const float *maxima; /// [numLogitTiles(vocabSize)]: the largest of each tile; where all are NaN, minus infinity
  uint32_t vocabSize;

  uint32_t numTiles() const { return numLogitTiles(vocabSize); }
  uint32_t begin(uint32_t tile) const { return tile * MOERT_LOGIT_TILE; }
  uint32_t end(uint32_t tile) const {
    return vocabSize - begin(tile) < MOERT_LOGIT_TILE ? vocabSize : begin(tile) + MOERT_LOGIT_TILE;
  }
};

/// Maxima of logits whose model leaves none. Shapes as in TiledLogits.
void findMaxima(const float *values, uint32_t vocabSize, float *maxima);

/// The lowest id of the largest logit. NaN counts as minus infinity.
int32_t greedyToken(const TiledLogits &logits);

/// Chooses a token.
///
/// Logits are ordered by value, then by id. Weights exp((logit - max) / temperature) are 40-bit integers, so sums are
/// exact, and the result depends on nothing but the arguments: not on the ISA, the compiler or the order of additions.
/// Draws are numbered: the same (seed, position) always gives the same draw.
/// Shapes: scratch [vocabSize], overwritten; may be null for temperature 0.
/// Errors: none; the caller checked the options. Weights below 2^-40 of the largest count as zero.
/// Cost: greedy looks at the maxima and one tile, top-k at the tiles whose maximum is among the k largest maxima, all
/// else at the tiles with a weight above zero; then one heap pop for each token that top-k or top-p keeps.
int32_t sampleToken(const TiledLogits &logits, const moert_sampler_options &options, uint64_t position,
                    uint64_t *scratch);

/// 2^40 * exp(x) for x <= 0, rounded down after a polynomial in integers; 0 below 2^-40. NaN gives 0.
uint64_t fixedPointExp(double x);

/// Draw number `position` of the stream `seed`: 64 uniform bits.
uint64_t randomBits(uint64_t seed, uint64_t position);

} // namespace moert
#endif
