// SPDX-License-Identifier: Apache-2.0
/// \file
/// A mutex and a condition on futexes. Zero-filled memory is a valid object; nothing needs to be destroyed. (glibc's
/// condition variables have two symbol versions, and a model `.so` is linked without versions.)
#ifndef RUNTIME_BASE_SYNC_H
#define RUNTIME_BASE_SYNC_H

#include "runtime/base/Atomic.h"
#include "runtime/base/Platform.h"

namespace moert {

/// States: 0 free, 1 held, 2 held and somebody may sleep.
class Mutex {
public:
  void lock() {
    uint32_t seen = 0;
    if (state.compareExchange(seen, 1))
      return;
    for (int i = 0; i < kSpins && seen != 2; ++i) {
      cpuRelax();
      seen = 0;
      if (state.compareExchange(seen, 1))
        return;
    }
    while (state.exchange(2) != 0)
      futexWait(&state.value, 2);
  }
  void unlock() {
    if (state.exchange(0) == 2)
      futexWake(&state.value, 1);
  }

private:
  static constexpr int kSpins = 100;
  Atomic<uint32_t> state;
};

class Lock {
public:
  explicit Lock(Mutex &m) : mutex(m) { mutex.lock(); }
  ~Lock() { mutex.unlock(); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  Mutex &mutex;
};

/// Used by holders of one mutex only, waking included; so a wake without sleepers costs no system call. Wake-ups may be
/// spurious: callers test their condition in a loop.
class Condition {
public:
  void wait(Mutex &mutex) {
    uint32_t seen = sequence.load();
    ++numWaiting;
    mutex.unlock();
    futexWait(&sequence.value, seen);
    mutex.lock();
    --numWaiting;
  }
  void wakeOne() { wake(1); }
  void wakeAll() { wake(INT32_MAX); }

private:
  void wake(int count) {
    if (!numWaiting)
      return;
    sequence.fetchAdd(1);
    futexWake(&sequence.value, count);
  }
  Atomic<uint32_t> sequence;
  uint32_t numWaiting;
};

} // namespace moert
#endif
