// SPDX-License-Identifier: Apache-2.0
/// \file
/// Guesses of experts, and how they fared.
#include "runtime/session/Prediction.h"

#include <string.h>

namespace moert {

void Prediction::place(Carver &carver, const moert_model_descriptor &d) {
  numLayers = d.plan.num_expert_records ? d.num_layers : 0;
  numExperts = d.num_experts;
  topK = d.top_k;
  experts = carver.take<int32_t>(static_cast<uint64_t>(numLayers) * topK);
  counts = carver.take<int32_t>(numLayers);
}

Prediction::Answer Prediction::ask(int32_t layer, bool isEarly, bool hasMisses) {
  bool isAnswered = answeredLayer == layer + 1;
  if (!isEarly) {
    hasLate = true;
    answeredLayer = 0;
    return !isAnswered ? Answer::Pager : isWanted ? Answer::Yes : Answer::No;
  }
  // What is missing keeps the queue busy until about the end of the layer, and a guess made there has seen more.
  return hasMisses && hasLate ? Answer::No : Answer::Pager;
}

bool Prediction::answer(int32_t layer, bool pagerWants) {
  answeredLayer = layer + 1;
  return isWanted = pagerWants;
}

uint32_t Prediction::keep(int32_t layer, const int32_t *guess, int32_t count) {
  if (layer < 0 || static_cast<uint32_t>(layer) >= numLayers)
    return 0;
  uint32_t kept = 0;
  int32_t *place = experts + static_cast<uint32_t>(layer) * topK, first = layer * static_cast<int32_t>(numExperts);
  // Ranks that are not used hold -1.
  for (; static_cast<int32_t>(kept) < count && kept < topK; ++kept) {
    if (guess[kept] < 0 || static_cast<uint32_t>(guess[kept]) >= numExperts)
      break;
    place[kept] = first + guess[kept];
  }
  counts[layer] = static_cast<int32_t>(kept);
  return kept;
}

Prediction::Outcome Prediction::settle(int32_t layer, const int32_t *routed, int32_t count) {
  answeredLayer = 0;
  if (layer < 0 || static_cast<uint32_t>(layer) >= numLayers || !counts[layer])
    return {0, 0};
  const int32_t *guess = expertsOf(layer);
  int32_t first = layer * static_cast<int32_t>(numExperts);
  Outcome outcome = {static_cast<uint32_t>(counts[layer]), 0};
  for (int32_t i = 0; i < counts[layer]; ++i)
    for (int32_t k = 0; k < count; ++k)
      outcome.right += guess[i] == first + routed[k];
  counts[layer] = 0;
  return outcome;
}

void Prediction::clear() {
  if (numLayers)
    memset(counts, 0, sizeof(int32_t) * numLayers);
}

} // namespace moert
