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
  ids = carver.take<int32_t>(static_cast<uint64_t>(numLayers) * topK);
  counts = carver.take<int32_t>(numLayers);
}

void Prediction::keep(int32_t layer, const int32_t *guess, int32_t count) {
  if (layer < 0 || static_cast<uint32_t>(layer) >= numLayers)
    return;
  int32_t kept = 0;
  // Ranks that are not used hold -1.
  for (; kept < count && static_cast<uint32_t>(kept) < topK; ++kept) {
    if (guess[kept] < 0 || static_cast<uint32_t>(guess[kept]) >= numExperts)
      break;
    ids[static_cast<uint32_t>(layer) * topK + static_cast<uint32_t>(kept)] = guess[kept];
  }
  counts[layer] = kept;
}

Prediction::Outcome Prediction::settle(int32_t layer, const int32_t *routed, int32_t count) {
  if (layer < 0 || static_cast<uint32_t>(layer) >= numLayers || !counts[layer])
    return {0, 0};
  const int32_t *guess = ids + static_cast<uint32_t>(layer) * topK;
  Outcome outcome = {static_cast<uint32_t>(counts[layer]), 0};
  for (int32_t i = 0; i < counts[layer]; ++i)
    for (int32_t k = 0; k < count; ++k)
      outcome.right += guess[i] == routed[k];
  counts[layer] = 0;
  return outcome;
}

void Prediction::clear() {
  if (numLayers)
    memset(counts, 0, sizeof(int32_t) * numLayers);
}

} // namespace moert
