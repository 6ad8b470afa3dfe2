// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies of the recurrent state at some positions, from which a session that was rewound or interrupted goes on. They
/// save time only: from position 0, which needs no copy, any position can be computed again.
/// Main source: docs/decisions/0009-checkpoints-of-recurrent-state.md.
#ifndef RUNTIME_SESSION_CHECKPOINTS_H
#define RUNTIME_SESSION_CHECKPOINTS_H

#include "moert/Generated.h"
#include "runtime/base/Memory.h"

namespace moert {

struct Checkpoint {
  uint64_t position; /// tokens that the state has seen; 0 = free
  bool hasLogits;    /// those of the last of these tokens are kept, too
};

/// Tokens after which a further copy is taken, so that no more than these are computed again where a copy is free. On a
/// state of 60 MiB (cited: 30 layers of 32 heads of 128 x 128 floats) a copy is then 0.25 MB a token, about a
/// thousandth of the weights that a token of such a model reads.
inline constexpr uint64_t kCheckpointTokens = 256;

/// Zero-filled memory is a valid object without copies. Invariants: (1) positions that are not 0 differ; (2) a copy
/// that is in use lies in committed memory; (3) `prompt` is 0 or the position where the last prompt began, `reply` the
/// same of what was generated behind it.
class Checkpoints {
public:
  /// Bytes of one copy, a multiple of the page.
  static uint64_t bytesOfOne(const moert_model_descriptor &descriptor);
  /// Takes the table from the session's region.
  void place(Carver &carver, uint32_t numCopies);
  /// Reserves addresses; memory is taken when a copy is. False if the system refuses.
  bool create(Ledger &ledger, const moert_model_descriptor &descriptor, uint32_t numCopies);
  void destroy(Ledger &ledger) { memory.destroy(ledger); }

  /// Copies the state at `position`, and the logits unless they are null. Nothing happens without a copy to use: where
  /// all are in use, the one goes whose neighbours are nearest to each other, but never the begin of the last prompt
  /// (if there is more than one copy) and of the last reply.
  void take(Ledger &ledger, uint64_t position, const uint8_t *state, const float *logits);
  /// The latest at `position` or before; null if there is none.
  const Checkpoint *latest(uint64_t position) const;
  const uint8_t *stateOf(const Checkpoint &checkpoint) const { return dataOf(checkpoint); }
  const float *logitsOf(const Checkpoint &checkpoint) const;
  /// Forgets those behind `position`.
  void dropBehind(uint64_t position);
  /// Forgets all, and gives their memory back. False if the system does not take it.
  bool clear(Ledger &ledger);
  uint64_t heldBytes() const { return memory.committedBytes; }

  uint64_t prompt, reply;

private:
  Checkpoint *choose(uint64_t position);
  uint64_t gapAround(const Checkpoint &checkpoint, uint64_t position) const;
  uint8_t *dataOf(const Checkpoint &checkpoint) const;

  Region memory;
  Checkpoint *table; /// [count]
  uint32_t count;
  uint64_t stateBytes, logitsBytes, stride;
};

} // namespace moert
#endif
