// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which copies of the recurrent state are kept, what they cost, and that their memory is the ledger's.
#include "FakeModel.h"

#include "runtime/session/Checkpoints.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace fake;

namespace {

/// A table of copies outside of a session.
struct Copies {
  explicit Copies(uint32_t count) : table(count) {
    d.plan.state_bytes = sizeof(uint64_t);
    d.vocab_size = 3;
    ledger.initialize(UINT64_MAX);
    moert::Carver carver = {reinterpret_cast<uint8_t *>(table.data()), 0};
    checkpoints.place(carver, count);
    EXPECT_TRUE(checkpoints.create(ledger, d, count));
  }
  ~Copies() {
    checkpoints.destroy(ledger);
    EXPECT_EQ(ledger.usedBytes(), 0u);
  }
  void take(uint64_t position, bool withLogits = false) {
    uint64_t state = position * 1000;
    float logits[] = {1, 2, static_cast<float>(position)};
    checkpoints.take(ledger, position, reinterpret_cast<uint8_t *>(&state), withLogits ? logits : nullptr);
  }
  std::vector<uint64_t> positions() const {
    std::vector<uint64_t> found;
    for (const moert::Checkpoint *c = checkpoints.latest(UINT64_MAX); c; c = checkpoints.latest(c->position - 1)) {
      found.insert(found.begin(), c->position);
      EXPECT_EQ(*reinterpret_cast<const uint64_t *>(checkpoints.stateOf(*c)), c->position * 1000);
      if (c->hasLogits) {
        EXPECT_EQ(checkpoints.logitsOf(*c)[2], static_cast<float>(c->position));
      }
    }
    return found;
  }
  moert_model_descriptor d = {};
  moert::Ledger ledger = {};
  alignas(64) std::vector<moert::Checkpoint> table;
  moert::Checkpoints checkpoints = {};
};

using Positions = std::vector<uint64_t>;

TEST(Checkpoints, LatestIsAtOrBefore) {
  Copies copies(3);
  EXPECT_EQ(copies.checkpoints.latest(100), nullptr);
  copies.take(0); // zeros need no copy
  EXPECT_EQ(copies.checkpoints.latest(100), nullptr);
  copies.take(20);
  copies.take(10, true);
  copies.take(30);
  EXPECT_EQ(copies.positions(), (Positions{10, 20, 30}));
  EXPECT_EQ(copies.checkpoints.latest(9), nullptr);
  EXPECT_EQ(copies.checkpoints.latest(29)->position, 20u);
  copies.checkpoints.dropBehind(20);
  EXPECT_EQ(copies.positions(), (Positions{10, 20}));
}

TEST(Checkpoints, LogitsJoinACopyThatHasNone) {
  Copies copies(2);
  copies.take(10);
  EXPECT_FALSE(copies.checkpoints.latest(10)->hasLogits);
  copies.take(10, true);
  EXPECT_TRUE(copies.checkpoints.latest(10)->hasLogits);
  copies.take(10);
  EXPECT_TRUE(copies.checkpoints.latest(10)->hasLogits);
  EXPECT_EQ(copies.positions(), (Positions{10}));
}

TEST(Checkpoints, BeginOfPromptAndReplyStay) {
  Copies copies(3);
  copies.take(50);
  copies.take(copies.checkpoints.prompt = 100);
  copies.take(copies.checkpoints.reply = 130);
  for (uint64_t position : {386u, 642u, 898u}) {
    copies.take(position);
    EXPECT_EQ(copies.positions(), (Positions{100, 130, position}));
  }
}

TEST(Checkpoints, OneCopyIsTheBeginOfTheReply) {
  Copies copies(1);
  copies.take(copies.checkpoints.prompt = 100);
  copies.take(copies.checkpoints.reply = 130);
  copies.take(386);
  EXPECT_EQ(copies.positions(), (Positions{130}));
  Copies none(0);
  none.take(5);
  EXPECT_EQ(none.positions(), Positions());
}

TEST(Checkpoints, TheOthersSpread) {
  Copies copies(6);
  for (uint64_t position = 256; position <= 256 * 64; position += 256)
    copies.take(position);
  Positions positions = copies.positions();
  ASSERT_EQ(positions.size(), 6u);
  EXPECT_EQ(positions.back(), 256u * 64);
  uint64_t before = 0, widest = 0;
  for (uint64_t position : positions) {
    widest = std::max(widest, position - before);
    before = position;
  }
  EXPECT_LE(widest, 256u * 64 / 2); // a half of all is the most that a rewind computes again
}

TEST(Checkpoints, MemoryIsTakenWithTheFirstCopyAndMayBeRefused) {
  Copies copies(2);
  EXPECT_EQ(copies.ledger.usedBytes(), 0u);
  copies.ledger.failAfter(1);
  copies.take(10);
  EXPECT_EQ(copies.positions(), Positions());
  copies.take(10);
  EXPECT_EQ(copies.ledger.usedBytes(), moert::Checkpoints::bytesOfOne(copies.d));
  copies.take(20);
  EXPECT_EQ(copies.ledger.usedBytes(), 2 * moert::Checkpoints::bytesOfOne(copies.d));
  EXPECT_TRUE(copies.checkpoints.clear(copies.ledger));
  EXPECT_EQ(copies.ledger.usedBytes(), 0u);
  EXPECT_EQ(copies.positions(), Positions());
}

TEST(Checkpoints, ThePlanCountsThem) {
  constexpr uint64_t kState = 1 << 20, kOne = (1 << 20) + 16384; // logits in a page of their own
  std::string path = makePack({.stateBytes = kState});
  moert_open_options given = options(path);
  moert_plan_info info = {};
  auto plan = [&](uint32_t wanted) {
    given.state_checkpoints = wanted;
    moert_error error = {};
    EXPECT_EQ(api().plan(&given, &info, &error), MOERT_STATUS_OK) << error.message;
    EXPECT_EQ(info.state_bytes, kState + info.checkpoint_bytes);
    return info.checkpoint_bytes;
  };
  EXPECT_EQ(plan(0), 2 * kOne);
  EXPECT_EQ(plan(1), kOne);
  EXPECT_EQ(plan(64), 64 * kOne);
  EXPECT_EQ(plan(UINT32_MAX), 0u);
  moert_error error = {};
  given.state_checkpoints = 65;
  EXPECT_EQ(api().plan(&given, &info, &error), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "options.state_checkpoints is 65, expected 0 (default), UINT32_MAX (none) or 1 to 64");
  given.state_checkpoints = 2;
  given.budget_bytes = 1;
  EXPECT_EQ(api().plan(&given, &info, &error), MOERT_STATUS_BUDGET);
  EXPECT_NE(std::string(error.message).find("the state checkpoints (now 2)"), std::string::npos) << error.message;
  makePack({.stateBytes = 0});
  given.budget_bytes = 0;
  EXPECT_EQ(api().plan(&given, &info, &error), MOERT_STATUS_OK);
  EXPECT_EQ(info.state_bytes, 0u);
}

} // namespace
