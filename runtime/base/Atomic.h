// SPDX-License-Identifier: Apache-2.0
/// \file
/// Atomics over compiler builtins, so that the runtime needs no C++ standard header. Zero-filled memory is a valid
/// object. Operations are sequentially consistent unless the name says otherwise.
#ifndef RUNTIME_BASE_ATOMIC_H
#define RUNTIME_BASE_ATOMIC_H

#include <stdint.h>

namespace moert {

template <typename T> struct Atomic {
  T value;

  T load() const { return __atomic_load_n(&value, __ATOMIC_SEQ_CST); }
  T loadRelaxed() const { return __atomic_load_n(&value, __ATOMIC_RELAXED); }
  void store(T desired) { __atomic_store_n(&value, desired, __ATOMIC_SEQ_CST); }
  T exchange(T desired) { return __atomic_exchange_n(&value, desired, __ATOMIC_SEQ_CST); }
  /// Returns the value before.
  T fetchAdd(T amount) { return __atomic_fetch_add(&value, amount, __ATOMIC_SEQ_CST); }
  T fetchSub(T amount) { return __atomic_fetch_sub(&value, amount, __ATOMIC_SEQ_CST); }
  /// On failure `expected` receives the value found.
  bool compareExchange(T &expected, T desired) {
    return __atomic_compare_exchange_n(&value, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
};

} // namespace moert
#endif
