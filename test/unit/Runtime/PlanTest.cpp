// SPDX-License-Identifier: Apache-2.0
/// \file
/// The plan adds up, follows the budget, and refuses with numbers.
#include "FakeModel.h"

#include <gtest/gtest.h>

using namespace fake;

namespace {

moert_status planOf(const moert_open_options &options, moert_plan_info &info, std::string *message = nullptr) {
  moert_error error = {};
  moert_status status = api().plan(&options, &info, &error);
  if (message)
    *message = error.message;
  return status;
}

uint64_t sumOfClasses(const moert_plan_info &info) {
  return info.resident_bytes + info.arena_bytes + info.kv_bytes + info.state_bytes + info.code_bytes +
         info.overhead_bytes + info.num_slots * info.slot_bytes;
}

TEST(Plan, ClassesAddUpToThePlannedBytes) {
  makePack();
  moert_plan_info info = {};
  ASSERT_EQ(planOf(options(""), info), MOERT_STATUS_OK);
  EXPECT_EQ(info.num_slots, info.num_experts);
  EXPECT_EQ(info.planned_bytes, info.plan_bytes);
  EXPECT_EQ(sumOfClasses(info), info.planned_bytes);
  EXPECT_EQ(info.plan_bytes - info.min_bytes, (info.num_experts - info.min_slots) * info.slot_bytes);
}

TEST(Plan, OnlyTheNumberOfSlotsFollowsTheBudget) {
  makePack();
  moert_plan_info all = {}, some = {};
  ASSERT_EQ(planOf(options(""), all), MOERT_STATUS_OK);
  for (uint64_t slots = all.min_slots; slots <= all.num_experts; ++slots) {
    uint64_t budget = all.min_bytes + (slots - all.min_slots) * all.slot_bytes + 5;
    ASSERT_EQ(planOf(options("", budget), some), MOERT_STATUS_OK);
    EXPECT_EQ(some.num_slots, slots);
    EXPECT_EQ(some.planned_bytes, budget - 5);
    EXPECT_EQ(some.budget_bytes, budget);
    EXPECT_EQ(some.overhead_bytes, all.overhead_bytes);
    EXPECT_DOUBLE_EQ(some.hit_rate, double(slots) / double(all.num_experts));
    EXPECT_EQ(some.tokens_per_second, 0) << "bandwidths are not known";
  }
}

TEST(Plan, RefusesABudgetBelowTheMinimum) {
  makePack();
  moert_plan_info info = {};
  ASSERT_EQ(planOf(options(""), info), MOERT_STATUS_OK);
  std::string message;
  moert_plan_info refused = {};
  EXPECT_EQ(planOf(options("", info.min_bytes - 1), refused, &message), MOERT_STATUS_BUDGET);
  EXPECT_EQ(refused.min_bytes, info.min_bytes);
  EXPECT_NE(message.find("needs " + std::to_string(info.min_bytes) + " bytes ("), std::string::npos) << message;
  EXPECT_NE(message.find("budget is " + std::to_string(info.min_bytes - 1) + " bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("overhead"), std::string::npos) << message;
  EXPECT_NE(message.find("raise the budget"), std::string::npos) << message;
  EXPECT_EQ(message.find("the reader lanes"), std::string::npos) << message;
  moert_open_options wide = options("", info.min_bytes, 7);
  wide.reader_lanes = 16;
  EXPECT_EQ(planOf(wide, refused, &message), MOERT_STATUS_BUDGET);
  EXPECT_NE(message.find(", the reader lanes (now 16), the threads (now 7) or"), std::string::npos) << message;
}

TEST(Plan, UsesTheStoredDefaultBudget) {
  makePack();
  uint64_t budget = budgetFor(5);
  moert_model_v1.plan.default_budget_bytes = budget;
  moert_plan_info info = {};
  ASSERT_EQ(planOf(options(""), info), MOERT_STATUS_OK);
  EXPECT_EQ(info.budget_bytes, budget);
  EXPECT_EQ(info.num_slots, 5u);
}

TEST(Plan, NamesTheRangeOfEachOption) {
  makePack();
  moert_plan_info info = {};
  std::string message;
  moert_open_options bad = options("", 0, 65);
  EXPECT_EQ(planOf(bad, info, &message), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(message, "options.threads is 65, expected 0 (automatic) to 64");
  bad = options("");
  bad.context = kContext + 1;
  EXPECT_EQ(planOf(bad, info, &message), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(message.find("options.context is 257, expected at most the compiled context 256"), std::string::npos);
  bad = options("");
  bad.read_delay_us = 10000001;
  EXPECT_EQ(planOf(bad, info, &message), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(message.find("options.read_delay_us is 10000001, expected at most 10000000"), std::string::npos);
  bad = options("");
  bad.struct_bytes = 0;
  EXPECT_EQ(planOf(bad, info, &message), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(message.find("options.struct_bytes is 0"), std::string::npos);
}

TEST(Plan, HasRoomForPageTables) {
  makePack({.kvBlockBytes = 16 << 20});
  moert_plan_info all = {}, tight = {};
  ASSERT_TRUE(planOf(options(""), all) == MOERT_STATUS_OK && all.plan_bytes >= 64u << 20);
  for (uint64_t budget = all.min_bytes; budget <= all.plan_bytes; budget += all.slot_bytes / 2) {
    ASSERT_EQ(planOf(options("", budget), tight), MOERT_STATUS_OK);
    EXPECT_LE(tight.planned_bytes, budget);
    EXPECT_EQ(sumOfClasses(tight), tight.planned_bytes);
  }
}

TEST(Plan, HalfTheContextIsHalfTheKv) {
  makePack({.kvBlockBytes = 1 << 20});
  moert_model_v1.context = 4096;
  moert_plan_info all = {}, half = {};
  moert_open_options given = options("");
  ASSERT_EQ(planOf(given, all), MOERT_STATUS_OK);
  EXPECT_EQ(all.kv_bytes, 64u << 20);
  given.context = 2048;
  ASSERT_EQ(planOf(given, half), MOERT_STATUS_OK);
  EXPECT_EQ(half.kv_bytes, all.kv_bytes / 2);
  // The tokenizer's scratch shrinks, too, if there is one.
  EXPECT_EQ(half.plan_bytes + half.kv_bytes + (all.overhead_bytes - half.overhead_bytes), all.plan_bytes);
}

TEST(Plan, AWindowShrinksTheKv) {
  makePack({.kvBlockBytes = 1 << 20});
  moert_model_v1.context = 4096;
  moert_plan_info info = {};
  moert_open_options given = options("");
  given.window = 512;
  given.sinks = 4;
  ASSERT_EQ(planOf(given, info), MOERT_STATUS_OK);
  // A block of sinks; 512 positions and a chunk of 16 less one touch at most 10 blocks.
  EXPECT_EQ(info.kv_bytes, 11u << 20);
  given.window = 4096;
  ASSERT_EQ(planOf(given, info), MOERT_STATUS_OK);
  EXPECT_EQ(info.kv_bytes, 64u << 20);
}

TEST(Plan, ACompiledWindowCanOnlyShrink) {
  makePack({.kvBlockBytes = 1 << 20});
  moert_model_v1.context = 4096;
  moert_model_v1.window = 512;
  moert_plan_info info = {};
  moert_open_options given = options("");
  std::string message;
  ASSERT_EQ(planOf(given, info), MOERT_STATUS_OK);
  EXPECT_EQ(info.kv_bytes, 10u << 20);
  given.window = 256;
  given.sinks = 4;
  ASSERT_EQ(planOf(given, info), MOERT_STATUS_OK);
  EXPECT_EQ(info.kv_bytes, 7u << 20);
  moert_model_v1.sinks = 4;
  given.sinks = 0;
  ASSERT_EQ(planOf(given, info), MOERT_STATUS_OK);
  EXPECT_EQ(info.kv_bytes, 7u << 20) << "0 sinks are those that were compiled";
  given.sinks = UINT32_MAX;
  ASSERT_EQ(planOf(given, info), MOERT_STATUS_OK);
  EXPECT_EQ(info.kv_bytes, 6u << 20) << "UINT32_MAX sinks are none";
  moert_model_v1.sinks = 0;
  given.sinks = 4;
  given.window = 1024;
  EXPECT_EQ(planOf(given, info, &message), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(message,
            "options.window 1024 with 4 sinks needs 19 KV blocks, but the compiled window 512 with 0 sinks has "
            "10; lower them or compile with a larger --window");
}

TEST(Plan, RefusesAWindowOutOfRange) {
  makePack();
  moert_plan_info info = {};
  std::string message;
  moert_open_options bad = options("");
  bad.window = kContext + 1;
  EXPECT_EQ(planOf(bad, info, &message), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(message, "options.window is 257, expected 0 (as compiled) to the compiled context 256");
  bad.window = 64;
  bad.sinks = kContext;
  EXPECT_EQ(planOf(bad, info, &message), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(message, "options.sinks is 256, expected less than the compiled context 256");
  bad.window = 0;
  bad.sinks = 4;
  EXPECT_EQ(planOf(bad, info, &message), MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(message, "options.sinks is 4 without a window, in which every position is seen; set options.window");
}

TEST(Plan, RefusesMissingCpuFeatures) {
  std::string path = makePack();
  moert_model_v1.features_required = 1u << 30;
  moert_open_options given = options(path);
  moert_model *model = nullptr;
  moert_error error = {};
  EXPECT_EQ(api().open(&given, &model, &error), MOERT_STATUS_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("target 'test'"), std::string::npos) << error.message;
}

TEST(Plan, UnknownApiVersionIsNull) { EXPECT_EQ(moert_get_api(MOERT_API_VERSION + 1), nullptr); }

} // namespace
