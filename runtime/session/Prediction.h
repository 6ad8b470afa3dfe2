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

/// Where the compiler lets a layer's experts be guessed: while the experts of the layer two before or of the layer
/// before are computed, or when the latter is done.
enum class GuessPlace : uint32_t { Far, Early, Late };

/// Zero-filled memory is a valid object without a guess.
class Prediction {
public:
  /// How a guess fared: experts guessed, and of those needed.
  struct Outcome {
    uint32_t predicted, right;
  };
  enum class Answer : uint32_t { Pager, No, Yes };

  /// Takes the arrays from the session's region.
  void place(Carver &carver, const moert_model_descriptor &descriptor);
  /// Whether to guess the experts of `layer` now. `Pager`: it is for the pager to say, once for each turn of a layer,
  /// and `answer` is told. A guess costs time, the late one such in which nothing else runs, so it is left out where
  /// one made before was nearly as good, but for one in 16.
  Answer ask(int32_t layer, GuessPlace at);
  bool answer(int32_t layer, bool isWanted);
  /// Keeps a guess until the layer is routed; it ends at an id out of range. Returns its length, and as `experts` the
  /// guess as layer * experts + expert; 0 also where fewer than half of the guesses at this place were right: the guess
  /// then only counts.
  uint32_t keep(int32_t layer, GuessPlace at, const int32_t *ids, int32_t count, const int32_t *&experts);
  /// Compares the guesses for a layer with what its router chose for a token, and forgets them. The outcome is that of
  /// the latest one, if there is one.
  Outcome settle(int32_t layer, const int32_t *routed, int32_t count);
  /// Forgets all guesses, after an entry function that failed.
  void clear();

private:
  struct Guess {
    int32_t *experts; /// [top_k]
    uint32_t count;   /// 0 = no guess
    Outcome soFar;    /// fades
  };
  /// Whether one that was made before `at` will do.
  bool hasGoodGuess(int32_t layer, GuessPlace at) const;
  static bool isPoor(const Guess &guess);

  Guess *guesses;  /// [num_layers * 3]
  Answer *answers; /// [num_layers] of the pager for the next turn; `Pager` = not asked yet
  uint32_t numLayers, numExperts, topK, numAsked;
};

} // namespace moert
#endif
