// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tests may change in a model: reads, requests for memory and threads that fail, states that are checked at each
/// step. In production nothing of it is set, and what asks is never part of a token without a miss.
#ifndef RUNTIME_BASE_HOOKS_H
#define RUNTIME_BASE_HOOKS_H

#include <stdint.h>

namespace moert {

/// What is asked of the system beside reads.
enum class SystemRequest : uint32_t {
  Reserve,  /// address space
  Commit,   /// memory for a part of it
  Decommit, /// to take that memory back
  Lock,     /// to keep it from being swapped out
  Thread,
  Release /// of address space; cannot be refused
};

struct Hooks {
  /// Replaces `readOnce`; may be null.
  int64_t (*read)(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset);
  void *user;
  /// The n-th request to the ledger fails (1 = first); 0 = none.
  uint64_t failRequest;
  /// Check the invariants of the pager after each transition; a violation becomes MOERT_STATUS_INTERNAL.
  bool checkStates;
  /// Asked before each request; false: it is refused, as the system would. May be null.
  bool (*allows)(void *user, SystemRequest request) = nullptr;
  /// Told at the end of `close`, and of an `open` that fails: what the ledger then still accounts for. May be null.
  void (*closed)(void *user, uint64_t ledgerBytes) = nullptr;
  /// Experts are read in pieces of so many bytes, a multiple of 4096; 0 = as usual.
  uint64_t pieceBytes = 0;
};

} // namespace moert
#endif
