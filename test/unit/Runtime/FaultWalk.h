// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random steps of one session beside those of others on the same model, while faults come and go. Every result that is
/// right is compared with the reference; a failure is allowed only where something was injected.
#ifndef TEST_UNIT_RUNTIME_FAULTWALK_H
#define TEST_UNIT_RUNTIME_FAULTWALK_H

#include "FaultRun.h"

#include <mutex>
#include <random>

namespace fake {

/// What all walks of a model share. Cancels come from reader threads, and from the hook of the layers.
struct WalkWorld {
  FaultLayer layer;
  moert_model *model = nullptr;
  bool hasState = true;
  /// Cancels, and requests to the ledger that will fail, so far; both may wait for long. And calls that ended so.
  std::atomic<uint64_t> numCancels{0}, numArmed{0}, numCancelled{0}, numRefused{0};
  /// Draws for hooks, from any thread.
  uint64_t draw();
  std::atomic<uint64_t> drawState{1};

  std::mutex mutex; /// of `sessions`
  std::vector<moert_session *> sessions;
  void add(moert_session *session);
  void remove(moert_session *session);
  /// Cancels one of the sessions.
  void cancelOne();
};

struct WalkCounts {
  uint64_t steps = 0, failures = 0, tokens = 0, statuses[16] = {};
};

class FaultWalk {
public:
  FaultWalk(WalkWorld &world, uint64_t seed) : world(world), random(seed) {}
  /// Takes `numSteps` steps, then destroys the session.
  void run(uint64_t numSteps);
  WalkCounts counts;

private:
  void step();
  void create();
  void destroy();
  void feed();
  void goBack();
  void sample();
  void inject();
  bool judge(moert_status status, const moert_error &error, const char *name);
  void expectLogits(const char *name);
  uint64_t below(uint64_t limit) { return random() % limit; }

  WalkWorld &world;
  std::mt19937_64 random;
  moert_session *session = nullptr;
  std::vector<int32_t> held;
  /// Injections when the last two steps began.
  uint64_t injectedBefore[2] = {0, 0};
};

/// Layer hook: wrong and right hints, now and then a cancel or a delay. Uses the world of the running test.
int32_t disturbLayer(moert_context *context, int32_t layer);
void setWalkWorld(WalkWorld *world);

} // namespace fake
#endif
