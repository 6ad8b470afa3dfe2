// SPDX-License-Identifier: Apache-2.0
/// \file
/// Guesses and their scores.
#include "runtime/pager/ReadAhead.h"

#include "runtime/base/Checked.h"

namespace moert {

/// So many reads, or turns without any, are looked at before a layer is judged.
static constexpr uint32_t kSample = 32;
static constexpr uint32_t kFirstPause = 64, kLongestPause = 1024;
/// A read that nobody needs costs what stands before the first demanded piece, and what it pushed out; one that is
/// needed gains its whole time. Below one in four the gain is not sure.
static constexpr uint32_t kNeededOneIn = 4;

void ReadAhead::create(LayerScore *layerScores, moert_prediction predictionMode) {
  scores = layerScores;
  mode = predictionMode;
  for (LayerGuesses &of : guesses)
    of.count = of.next = 0;
}

bool ReadAhead::wants(int32_t layer) {
  if (mode != MOERT_PREDICTION_AUTO)
    return mode == MOERT_PREDICTION_ALWAYS;
  LayerScore &score = scores[layer];
  if (!score.pauseLeft)
    return true;
  --score.pauseLeft;
  return false;
}

void ReadAhead::propose(int32_t layer, const int32_t *experts, uint32_t count) {
  // In the place of those for the same layer, or else of what is used up, or else of the lowest.
  auto rank = [&](const LayerGuesses &of) { return of.layer == layer ? -2 : of.isUsedUp() ? -1 : of.layer; };
  LayerGuesses *place = guesses;
  for (LayerGuesses &of : guesses)
    if (rank(of) < rank(*place))
      place = &of;
  place->layer = layer;
  place->count = static_cast<uint32_t>(minOf(count, kMostGuesses));
  place->next = 0;
  for (uint32_t i = 0; i < place->count; ++i)
    place->experts[i] = experts[i];
}

bool ReadAhead::hasGuesses() const {
  for (const LayerGuesses &of : guesses)
    if (!of.isUsedUp())
      return true;
  return false;
}

ReadAhead::Guess ReadAhead::takeGuess() {
  LayerGuesses *nearest = nullptr;
  for (LayerGuesses &of : guesses)
    if (!of.isUsedUp() && (!nearest || of.layer < nearest->layer))
      nearest = &of;
  return {nearest->layer, nearest->experts[nearest->next++]};
}

void ReadAhead::dropGuesses(int32_t layer) {
  for (LayerGuesses &of : guesses)
    if (of.layer == layer)
      of.next = of.count;
}

void ReadAhead::settle(int32_t layer, uint32_t numNeeded) {
  bool wasGuessed = false;
  for (LayerGuesses &of : guesses)
    if (of.layer == layer) {
      wasGuessed |= of.count != 0;
      of.count = of.next = 0;
    }
  LayerScore &score = scores[layer];
  score.numTurns += wasGuessed;
  score.numNeeded += numNeeded;
  if (score.numIssued < kSample && (score.numTurns < kSample || score.numIssued))
    return;
  if (score.numNeeded * kNeededOneIn < score.numIssued || !score.numIssued) {
    score.pauseTurns =
        static_cast<uint32_t>(score.pauseTurns ? minOf(2ull * score.pauseTurns, kLongestPause) : uint64_t{kFirstPause});
    score.pauseLeft = score.pauseTurns;
    score.numIssued = score.numNeeded = 0;
  } else {
    score.pauseTurns = 0;
    score.numIssued /= 2;
    score.numNeeded /= 2;
  }
  score.numTurns = 0;
}

} // namespace moert
