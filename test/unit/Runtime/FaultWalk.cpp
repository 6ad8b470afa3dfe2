// SPDX-License-Identifier: Apache-2.0
/// \file
/// The steps, and what each of them may end with.
#include "FaultWalk.h"

#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using namespace fake;

//===--- the world ------------------------------------------------------------------------------------------------===//

uint64_t WalkWorld::draw() {
  uint64_t z = drawState.fetch_add(0x9e3779b97f4a7c15ull); // splitmix64
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void WalkWorld::add(moert_session *session) {
  std::lock_guard lock(mutex);
  sessions.push_back(session);
}

void WalkWorld::remove(moert_session *session) {
  std::lock_guard lock(mutex);
  sessions.erase(std::find(sessions.begin(), sessions.end(), session));
}

void WalkWorld::cancelOne() {
  std::lock_guard lock(mutex);
  if (sessions.empty())
    return;
  ++numCancels;
  api().session_cancel(sessions[draw() % sessions.size()]);
}

static std::atomic<WalkWorld *> theWorld{nullptr};
void fake::setWalkWorld(WalkWorld *world) { theWorld = world; }

int32_t fake::disturbLayer(moert_context *context, int32_t layer) {
  WalkWorld &world = *theWorld;
  uint64_t draw = world.draw();
  if (draw % 64 == 0) {
    ++world.numCancels;
    api().session_cancel(static_cast<moert_session *>(context->runtime));
  }
  if (draw / 64 % 32 == 0)
    std::this_thread::sleep_for(std::chrono::microseconds(draw / 2048 % 300));
  int32_t next = (layer + 1) % static_cast<int32_t>(kLayers);
  if (draw / 8192 % 4 < 3 - static_cast<uint32_t>(context->calls->wants_prediction(context, next) != 0))
    return 0;
  int32_t ids[kExperts], count = static_cast<int32_t>(draw / 16384 % (kExperts + 1));
  for (int32_t i = 0; i < count; ++i)
    ids[i] = static_cast<int32_t>(world.draw() % kExperts);
  return context->calls->prefetch(context, next, ids, count);
}

//===--- steps ----------------------------------------------------------------------------------------------------===//

/// Whether the call succeeded. A failure needs a reason. That of a read is young: injected since the step before the
/// last one began, since a read may have begun then.
bool FaultWalk::judge(moert_status status, const moert_error &error, const char *name) {
  ++counts.statuses[static_cast<size_t>(status) % 16];
  if (status == MOERT_STATUS_OK)
    return true;
  ++counts.failures;
  bool hasReason = false;
  if (status == MOERT_STATUS_CANCELLED)
    hasReason = ++world.numCancelled <= world.numCancels;
  else if (status == MOERT_STATUS_NO_MEMORY)
    hasReason = ++world.numRefused <= world.numArmed + world.layer.numInjected;
  else if (status == MOERT_STATUS_IO || status == MOERT_STATUS_CORRUPT)
    hasReason = world.layer.numInjected != injectedBefore[0];
  EXPECT_TRUE(hasReason) << name << " failed without a fault: " << status << ", " << error.message;
  return false;
}

void FaultWalk::create() {
  moert_error error = {};
  if (!judge(api().session_create(world.model, &session, &error), error, "create")) {
    EXPECT_EQ(session, nullptr);
    return;
  }
  held.clear();
  world.add(session);
}

void FaultWalk::destroy() {
  if (!session)
    return;
  world.remove(session);
  api().session_destroy(session);
  session = nullptr;
}

void FaultWalk::expectLogits(const char *name) {
  const float *found = api().logits(session);
  ASSERT_NE(found, nullptr) << name;
  std::vector<float> expected = referenceLogits(held, SIZE_MAX, 0, kTopK, world.hasState).back();
  EXPECT_EQ(memcmp(found, expected.data(), kVocab * sizeof(float)), 0)
      << name << ": wrong logits after " << held.size() << " tokens";
  ++counts.tokens;
}

void FaultWalk::feed() {
  size_t room = kContext - held.size();
  size_t count = std::min<size_t>(below(3) ? 1 : 1 + below(40), room);
  uint32_t chunk = count > 1 ? static_cast<uint32_t>(below(kChunk + 1)) : 1;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int32_t>(below(kVocab)));
  if (!count)
    return;
  moert_error error = {};
  bool decodes = count == 1 && below(4);
  moert_status status = decodes ? api().decode(session, ids[0], &error)
                                : api().prefill(session, ids.data(), count, chunk, nullptr, nullptr, &error);
  bool succeeded = judge(status, error, decodes ? "decode" : "prefill");
  uint64_t length = api().session_length(session), fed = length - held.size();
  EXPECT_TRUE(length >= held.size() && fed <= count) << length;
  EXPECT_EQ(succeeded, fed == count);
  EXPECT_EQ(fed == count ? 0 : fed % (chunk ? chunk : kChunk), 0u);
  held.insert(held.end(), ids.begin(), ids.begin() + static_cast<ptrdiff_t>(fed));
  if (succeeded)
    expectLogits(decodes ? "decode" : "prefill");
}

void FaultWalk::goBack() {
  moert_error error = {};
  if (below(4) == 0) {
    judge(api().session_reset(session, &error), error, "reset"); // what failed is to take memory back
    held.clear();
  } else {
    size_t position = below(held.size() + 1);
    EXPECT_EQ(api().session_rewind(session, position, &error), MOERT_STATUS_OK) << error.message;
    held.resize(position);
  }
  EXPECT_EQ(api().session_length(session), held.size());
}

void FaultWalk::sample() {
  moert_error error = {};
  moert_sampler_options greedy = {};
  int32_t id = -1;
  if (held.empty()) {
    EXPECT_EQ(api().sample(session, &greedy, &id, &error), MOERT_STATUS_INVALID_ARGUMENT);
    return;
  }
  if (!judge(api().sample(session, &greedy, &id, &error), error, "sample"))
    return;
  expectLogits("sample");
  const float *logits = api().logits(session);
  EXPECT_EQ(id, std::max_element(logits, logits + kVocab) - logits);
}

void FaultWalk::inject() {
  FaultLayer &layer = world.layer;
  uint64_t count = below(3) ? 1 + below(4) : 1 + below(60);
  switch (below(6)) {
  case 0:
    layer.clear();
    break;
  case 1:
    layer.refuseNow(static_cast<moert::SystemRequest>(below(3)), 1);
    break;
  case 2:
    ++world.numArmed;
    world.model->ledger.failAfter(1 + below(3));
    break;
  case 3:
    world.cancelOne();
    break;
  default:
    layer.injectReadsNow(static_cast<ReadFault>(1 + below(static_cast<uint64_t>(ReadFault::kCount) - 1)), count);
  }
}

void FaultWalk::step() {
  ++counts.steps;
  injectedBefore[0] = injectedBefore[1];
  injectedBefore[1] = world.layer.numInjected;
  if (!session)
    return create();
  uint64_t choice = below(32);
  if (choice < 18)
    feed();
  else if (choice < 22)
    goBack();
  else if (choice < 25)
    sample();
  else if (choice < 31)
    inject();
  else
    destroy();
}

void FaultWalk::run(uint64_t numSteps) {
  injectedBefore[0] = injectedBefore[1] = world.layer.numInjected;
  for (uint64_t i = 0; i < numSteps && !testing::Test::HasFailure(); ++i)
    step();
  destroy();
}
