// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which experts are worth reading before their need shows: the guesses for the next layers, and for each layer whether
/// guesses have paid so far. No thread, no lock.
#ifndef RUNTIME_PAGER_READAHEAD_H
#define RUNTIME_PAGER_READAHEAD_H

#include "moert/moert.h"

namespace moert {

/// Zero-filled memory wants nothing. A layer is open until its guesses turned out useless, then paused for some turns,
/// then open again: 64 turns at first, each time twice as many, up to 1024.
class ReadAhead {
public:
  static constexpr uint32_t kMostGuesses = 64, kMostLayers = 2;
  struct LayerScore {
    uint32_t numTurns;  /// with guesses, since `numIssued` was 0
    uint32_t numIssued; /// reads that began
    uint32_t numNeeded; /// of those
    uint32_t pauseLeft, pauseTurns;
  };

  /// `scores` [numLayers] are zero.
  void create(LayerScore *scores, moert_prediction mode);
  /// Whether guesses for `layer` may pay now; once for each turn.
  bool wants(int32_t layer);
  /// Replaces the guesses for one layer: experts (layer * experts + expert), the likeliest first.
  void propose(int32_t layer, const int32_t *experts, uint32_t count);
  bool hasGuesses() const;
  /// One for the lowest layer that has any; there must be one.
  struct Guess {
    int32_t layer, expert;
  };
  Guess takeGuess();
  void dropGuesses(int32_t layer);
  void noteIssued(int32_t layer) { ++scores[layer].numIssued; }
  /// The layer's turn is here; of what was issued for it, so many are needed.
  void settle(int32_t layer, uint32_t numNeeded);

private:
  struct LayerGuesses {
    int32_t layer;
    uint32_t count, next;
    int32_t experts[kMostGuesses];
    bool isUsedUp() const { return next == count; }
  };

  LayerScore *scores;
  moert_prediction mode;
  LayerGuesses guesses[kMostLayers];
};

} // namespace moert
#endif
