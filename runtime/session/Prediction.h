// SPDX-License-Identifier: Apache-2.0
/// \file
/// One session's guesses of experts: which layer has one, and how often guesses were right. A guess changes what is
/// read ahead, never a result. Main source: docs/prediction.md.
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

  /// Takes the arrays from the session's region.
  void place(Carver &carver, const moert_model_descriptor &descriptor);
  /// Keeps a guess until the layer is routed; a later one replaces it. Ids out of range end it.
  void keep(int32_t layer, const int32_t *ids, int32_t count);
  /// Compares the guess for a layer, if there is one, with what its router chose for a token, and forgets it.
  Outcome settle(int32_t layer, const int32_t *routed, int32_t count);
  /// Forgets all guesses, after an entry function that failed.
  void clear();

private:
  int32_t *ids;    /// [num_layers * top_k]
  int32_t *counts; /// [num_layers], 0 = no guess
  uint32_t numLayers, numExperts, topK;
};

} // namespace moert
#endif
