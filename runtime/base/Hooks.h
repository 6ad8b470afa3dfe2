// SPDX-License-Identifier: Apache-2.0
/// \file
/// What tests may change in a model: reads and requests for memory that fail, states that are checked at each step.
#ifndef RUNTIME_BASE_HOOKS_H
#define RUNTIME_BASE_HOOKS_H

#include <stdint.h>

namespace moert {

struct Hooks {
  /// Replaces `readOnce`; may be null.
  int64_t (*read)(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset);
  void *user;
  /// The n-th request to the ledger fails (1 = first); 0 = none.
  uint64_t failRequest;
  /// Check the invariants of the pager after each transition; a violation becomes MOERT_STATUS_INTERNAL.
  bool checkStates;
};

} // namespace moert
#endif
