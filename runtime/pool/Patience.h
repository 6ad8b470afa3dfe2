// SPDX-License-Identifier: Apache-2.0
/// \file
/// How long a thread spins before it parks. Spinning costs nothing while the others run: what it waits for takes a few
/// microseconds. It costs everything when it keeps the thread that it waits for from running, on a machine with fewer
/// free cores than threads; so the time is learned from the waits before.
#ifndef RUNTIME_POOL_PATIENCE_H
#define RUNTIME_POOL_PATIENCE_H

#include "runtime/base/Atomic.h"
#include "runtime/base/Platform.h"

namespace moert {

/// Zero-filled memory is an object that does not spin at all. Shared by threads: a lost update costs a few
/// microseconds.
class Patience {
public:
  void start(uint32_t mostNs) {
    most = mostNs;
    limit.store(mostNs);
  }
  /// Spins until `done()`, for the learned time at most. Says whether it is done.
  template <typename Done> bool spin(Done done) {
    // Without a look at the clock: serial steps between two regions end here.
    for (int i = 0; i < kFirstSpins; ++i) {
      if (done())
        return true;
      cpuRelax();
    }
    uint32_t allowed = limit.loadRelaxed();
    uint64_t end = allowed ? monotonicNs() + allowed : 0;
    while (allowed && monotonicNs() < end)
      for (int i = 0; i < kSpinsPerLook; ++i) {
        if (done()) {
          learn(allowed, true);
          return true;
        }
        cpuRelax();
      }
    learn(allowed, false);
    return done();
  }

private:
  static constexpr int kFirstSpins = 64, kSpinsPerLook = 32;
  void learn(uint32_t allowed, bool paid) {
    uint32_t next = paid ? allowed + allowed / 2 : allowed / 2;
    uint32_t least = most / 8;
    limit.store(next > most ? most : next < least ? least : next);
  }
  Atomic<uint32_t> limit;
  uint32_t most;
};

} // namespace moert
#endif
