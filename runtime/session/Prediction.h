// SPDX-License-Identifier: Apache-2.0
/// \file
/// One session's guesses of experts: at which of the places that the compiler made they are worth their price, which
/// layer has one, and how often they were right. A guess changes what is read ahead, never a result.
/// Main source: docs/prediction.md.
#ifndef RUNTIME_SESSION_PREDICTION_H
#define RUNTIME_SESSION_PREDICTION_H

#include "moert/Generated.h"
#include "runtime/base/Memory.h"

namespace moert {

/// Zero-filled memory is a valid object without a guess.
class Prediction {
public:
  /// How a guess fared: experts guessed, and of those needed.
  struct Outcome {
    uint32_t predicted, right;
  };
  enum class Answer : uint32_t { No, Yes, Pager };

  /// Takes the arrays from the session's region.
  void place(Carver &carver, const moert_model_descriptor &descriptor);
  /// Whether to guess the experts of `layer` now: `isEarly`, while those of the layer before are computed, of which some
  /// were missing or not. `Pager`: it is for the pager to say, once for each turn of a layer; `answer` is told.
  Answer ask(int32_t layer, bool isEarly, bool hasMisses);
  bool answer(int32_t layer, bool isWanted);
  /// Keeps a guess until the layer is routed; a later one replaces it. It ends at an id out of range. Returns its length.
  uint32_t keep(int32_t layer, const int32_t *ids, int32_t count);
  /// The guess for a layer that has one, as layer * experts + expert.
  const int32_t *expertsOf(int32_t layer) const { return experts + static_cast<uint32_t>(layer) * topK; }
  /// Compares the guess for a layer, if there is one, with what its router chose for a token, and forgets it.
  Outcome settle(int32_t layer, const int32_t *routed, int32_t count);
  /// Forgets all guesses, after an entry function that failed.
  void clear();

private:
  int32_t *experts; /// [num_layers * top_k]
  int32_t *counts;  /// [num_layers], 0 = no guess
  uint32_t numLayers, numExperts, topK;
  int32_t answeredLayer; /// one above the layer that the pager answered for in this turn; 0 = none
  bool isWanted;         /// that answer
  bool hasLate;          /// the code has guesses at the end of layers
};

} // namespace moert
#endif
