// SPDX-License-Identifier: Apache-2.0
/// \file
/// Guesses of experts, and how they fared.
#include "runtime/session/Prediction.h"

namespace moert {

static constexpr uint32_t kNumPlaces = 3;
/// Guessed experts that count before two places are compared, and after which the older ones count half.
static constexpr uint32_t kSample = 64, kFading = 1024;
/// So many tell whether guesses are worth reading: below one right in two, what is missing is wrong mostly.
static constexpr uint32_t kFewest = 16;
/// Of guesses that are left out, one in so many is made to see whether that is still right.
static constexpr uint32_t kProbe = 16;

void Prediction::place(Carver &carver, const moert_model_descriptor &d) {
  numLayers = d.plan.num_expert_records ? d.num_layers : 0;
  numExperts = d.num_experts;
  topK = d.top_k;
  guesses = carver.take<Guess>(static_cast<uint64_t>(numLayers) * kNumPlaces);
  answers = carver.take<Answer>(numLayers);
  auto *experts = carver.take<int32_t>(static_cast<uint64_t>(numLayers) * kNumPlaces * topK);
  for (uint32_t i = 0; guesses && i < numLayers * kNumPlaces; ++i)
    guesses[i].experts = experts + static_cast<uint64_t>(i) * topK;
}

bool Prediction::hasGoodGuess(int32_t layer, GuessPlace at) const {
  const Guess *of = guesses + static_cast<uint32_t>(layer) * kNumPlaces;
  const Outcome &later = of[static_cast<uint32_t>(at)].soFar;
  for (uint32_t p = 0; p < static_cast<uint32_t>(at); ++p) {
    const Outcome &made = of[p].soFar;
    // 0.9 of the later one's share.
    if (of[p].count && made.predicted >= kSample && later.predicted >= kSample &&
        uint64_t{made.right} * later.predicted * 10 >= uint64_t{later.right} * made.predicted * 9)
      return true;
  }
  return false;
}

bool Prediction::isPoor(const Guess &guess) {
  return guess.soFar.predicted >= kFewest && guess.soFar.right * 2 < guess.soFar.predicted;
}

Prediction::Answer Prediction::ask(int32_t layer, GuessPlace at) {
  if (layer < 0 || static_cast<uint32_t>(layer) >= numLayers)
    return Answer::No;
  if (answers[layer] != Answer::Yes)
    return answers[layer];
  return hasGoodGuess(layer, at) && ++numAsked % kProbe ? Answer::No : Answer::Yes;
}

bool Prediction::answer(int32_t layer, bool pagerWants) {
  answers[layer] = pagerWants ? Answer::Yes : Answer::No;
  return pagerWants;
}

uint32_t Prediction::keep(int32_t layer, GuessPlace at, const int32_t *ids, int32_t count, const int32_t *&experts) {
  if (layer < 0 || static_cast<uint32_t>(layer) >= numLayers)
    return 0;
  Guess &guess = guesses[static_cast<uint32_t>(layer) * kNumPlaces + static_cast<uint32_t>(at)];
  int32_t first = layer * static_cast<int32_t>(numExperts);
  // Ranks that are not used hold -1.
  for (guess.count = 0; static_cast<int32_t>(guess.count) < count && guess.count < topK; ++guess.count) {
    int32_t id = ids[guess.count];
    if (id < 0 || static_cast<uint32_t>(id) >= numExperts)
      break;
    guess.experts[guess.count] = first + id;
  }
  experts = guess.experts;
  return isPoor(guess) ? 0 : guess.count;
}

Prediction::Outcome Prediction::settle(int32_t layer, const int32_t *routed, int32_t count) {
  Outcome latest = {0, 0};
  if (layer < 0 || static_cast<uint32_t>(layer) >= numLayers)
    return latest;
  answers[layer] = Answer::Pager;
  int32_t first = layer * static_cast<int32_t>(numExperts);
  for (uint32_t p = 0; p < kNumPlaces; ++p) {
    Guess &guess = guesses[static_cast<uint32_t>(layer) * kNumPlaces + p];
    if (!guess.count)
      continue;
    latest = {guess.count, 0};
    for (uint32_t i = 0; i < guess.count; ++i)
      for (int32_t k = 0; k < count; ++k)
        latest.right += guess.experts[i] == first + routed[k];
    guess.soFar = {guess.soFar.predicted + latest.predicted, guess.soFar.right + latest.right};
    if (guess.soFar.predicted >= kFading)
      guess.soFar = {guess.soFar.predicted / 2, guess.soFar.right / 2};
    guess.count = 0;
  }
  return latest;
}

void Prediction::clear() {
  for (uint32_t layer = 0; layer < numLayers; ++layer)
    answers[layer] = Answer::Pager;
  for (uint32_t i = 0; i < numLayers * kNumPlaces; ++i)
    guesses[i].count = 0;
}

} // namespace moert
