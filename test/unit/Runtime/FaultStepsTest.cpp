// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random steps of two sessions on two threads over one model, with one slot above the minimum, while faults come and
/// go. MOERT_FAULT_STEPS sets how many (docs/debugging.md), MOERT_FAULT_SEED which.
#include "FaultWalk.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

using namespace fake;

namespace {

uint64_t numberFrom(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : otherwise;
}

/// How the model of one part of the walk is opened.
Setting settingOf(std::mt19937_64 &random) {
  Setting setting;
  setting.slots = kTopK + 1;
  setting.lanes = 1 + static_cast<uint32_t>(random() % 3);
  setting.threads = 1 + static_cast<uint32_t>(random() % 3);
  setting.inParts = random() % 3 == 0;
  setting.isBuffered = random() % 3 == 0;
  setting.hasState = random() % 3 != 0;
  setting.locks = random() % 4 == 0;
  setting.prediction = static_cast<uint32_t>(random() % 3);
  setting.pieceBytes = random() % 3 * 4096;
  return setting;
}

/// Opens, with faults in some of the reads; what fails is tried again without.
void open(WalkWorld &world, const Setting &setting, std::mt19937_64 &random) {
  FaultLayer &layer = world.layer;
  layer.pieceBytes = setting.pieceBytes;
  std::string path = packFor(setting);
  moert_open_options options = setting.options(path);
  options.eviction = static_cast<uint32_t>(random() % 4);
  layer.injectReadsNow(static_cast<ReadFault>(random() % static_cast<uint64_t>(ReadFault::kCount)), random() % 8);
  if (random() % 4 == 0)
    layer.refuseNow(moert::SystemRequest::Thread, 1);
  moert_error error = {};
  uint64_t before = layer.numInjected;
  if (layer.open(options, &world.model, &error) == MOERT_STATUS_OK)
    return;
  EXPECT_NE(layer.numInjected, before) << error.message;
  EXPECT_EQ(world.model, nullptr);
  EXPECT_EQ(layer.numRanges, 0);
  layer.clear();
  ASSERT_EQ(layer.open(options, &world.model, &error), MOERT_STATUS_OK) << error.message;
}

TEST(FaultSteps, RandomStepsOfTwoSessions) {
  constexpr uint64_t kStepsOfAModel = 250;
  uint64_t numSteps = numberFrom("MOERT_FAULT_STEPS", 500), seed = numberFrom("MOERT_FAULT_SEED", 20261130);
  std::mt19937_64 random(seed);
  WalkWorld world;
  world.drawState = seed;
  setWalkWorld(&world);
  setLayerHook(disturbLayer);
  WalkCounts total;
  for (uint64_t done = 0; done < numSteps && !HasFailure(); done += 2 * kStepsOfAModel) {
    Setting setting = settingOf(random);
    SCOPED_TRACE("after " + std::to_string(done) + " steps: " + setting.text());
    Footprint before = Footprint::now();
    world.layer.reset();
    world.numCancels = world.numCancelled = world.numArmed = world.numRefused = 0;
    world.hasState = setting.hasState;
    world.layer.atRead = [&](int, uint64_t) -> int64_t {
      if (uint64_t draw = world.draw(); draw % 128 == 0)
        world.cancelOne();
      else if (draw % 16 == 1)
        std::this_thread::sleep_for(std::chrono::microseconds(draw / 16 % 400));
      return 0;
    };
    open(world, setting, random);
    if (!world.model)
      break;
    FaultWalk first(world, random()), second(world, random());
    std::thread other([&] { second.run(kStepsOfAModel); });
    first.run(kStepsOfAModel);
    other.join();
    moert_plan_info info = {};
    EXPECT_EQ(api().model_plan(world.model, &info, nullptr), MOERT_STATUS_OK);
    api().close(world.model);
    world.model = nullptr;
    EXPECT_EQ(world.layer.bytesAtClose, info.code_bytes);
    EXPECT_EQ(world.layer.numRanges, 0);
    before.expectSame("a part of the walk");
    for (const FaultWalk *walk : {&first, &second}) {
      total.steps += walk->counts.steps;
      total.failures += walk->counts.failures;
      total.tokens += walk->counts.tokens;
    }
  }
  setLayerHook(nullptr);
  setWalkWorld(nullptr);
  printf("%llu steps, %llu results compared, %llu failures that were injected\n",
         static_cast<unsigned long long>(total.steps), static_cast<unsigned long long>(total.tokens),
         static_cast<unsigned long long>(total.failures));
  EXPECT_GE(total.steps, numSteps);
  EXPECT_GT(total.failures, total.steps / 50);
  EXPECT_GT(total.tokens, total.steps / 10);
}

} // namespace
