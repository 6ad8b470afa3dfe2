// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options that are set at open: experts in use, CPUs, locking, sizes of option structs, trim.
#include "FakeModel.h"

#include "runtime/base/Processors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace fake;

namespace {

struct Opened {
  explicit Opened(const moert_open_options &options) : model(openOrDie(options)) {
    EXPECT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  }
  ~Opened() {
    setLayerHook(nullptr);
    api().session_destroy(session);
    api().close(model);
  }
  moert_statistics statistics() {
    moert_statistics result;
    EXPECT_EQ(api().statistics(model, &result, nullptr), MOERT_STATUS_OK);
    return result;
  }
  void feed(const std::vector<int32_t> &ids, uint32_t chunk = 0) {
    moert_error error = {};
    ASSERT_EQ(api().prefill(session, ids.data(), ids.size(), chunk, nullptr, nullptr, &error), MOERT_STATUS_OK)
        << error.message;
  }
  moert_model *model = nullptr;
  moert_session *session = nullptr;
};

std::string openError(const moert_open_options &options, moert_status expected) {
  moert_model *model = nullptr;
  moert_error error = {};
  EXPECT_EQ(api().open(&options, &model, &error), expected) << error.message;
  return error.message;
}

TEST(ExpertsUsed, LeavesTheOthersOnFlash) {
  std::string path = makePack();
  std::vector<int32_t> ids = somePrompt(60);
  uint64_t bytes[kTopK + 1] = {};
  for (uint32_t used : {2u, 1u}) {
    moert_open_options given = options(path, budgetFor(2));
    given.experts_used = used;
    Opened run(given);
    run.feed(ids, 1);
    EXPECT_EQ(memcmp(api().logits(run.session), referenceLogits(ids, SIZE_MAX, 0, used).back().data(),
                     kVocab * sizeof(float)),
              0);
    moert_statistics statistics = run.statistics();
    EXPECT_EQ(statistics.experts_used, used);
    EXPECT_EQ(statistics.lossy, used < kTopK ? MOERT_LOSSY_EXPERTS_USED : 0u);
    EXPECT_EQ(statistics.expert_hits + statistics.expert_misses, ids.size() * kLayers * used);
    bytes[used] = statistics.expert_bytes_read;
    moert_model_info info;
    ASSERT_EQ(api().model_info(run.model, &info, nullptr), MOERT_STATUS_OK);
    EXPECT_EQ(info.top_k, kTopK);
    EXPECT_EQ(info.experts_used, used);
  }
  EXPECT_LT(bytes[1], bytes[2]);
  moert_open_options given = options(path);
  given.experts_used = kTopK + 1;
  EXPECT_EQ(openError(given, MOERT_STATUS_INVALID_ARGUMENT),
            "options.experts_used is 3, expected 0 (all) to the compiled 2");
}

moert::CpuSet seenByCaller;
int32_t lookAtCpus(moert_context *, int32_t) {
  seenByCaller = moert::allowedCpus();
  return 0;
}

TEST(Cpus, PinTheCallerDuringItsCallOnly) {
  std::string path = makePack();
  moert::CpuSet allowed = moert::allowedCpus(), first = {};
  for (uint32_t cpu = 0; !first.count(); ++cpu)
    if (allowed.has(cpu))
      first.add(cpu);
  char list[moert::kCpuListBytes];
  moert_open_options given = options(path, 0, 0);
  given.cpus = moert::cpuListText(first, list);
  Opened run(given);
  EXPECT_EQ(run.statistics().threads, 1u);
  EXPECT_EQ(run.statistics().pinned_cpus, 1u);
  setLayerHook(lookAtCpus);
  run.feed(somePrompt(3));
  EXPECT_EQ(memcmp(&seenByCaller, &first, sizeof(first)), 0);
  moert::CpuSet after = moert::allowedCpus();
  EXPECT_EQ(memcmp(&after, &allowed, sizeof(after)), 0);
}

TEST(Cpus, ThatAreNotThereAreRefusedWithThePossibleOnes) {
  std::string path = makePack();
  char possible[moert::kCpuListBytes];
  moert::cpuListText(moert::allowedCpus(), possible);
  moert_open_options given = options(path);
  given.cpus = "0-1023";
  std::string message = openError(given, MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(message.find(std::string("; possible are ") + possible), std::string::npos) << message;
  for (const char *wrong : {"", "x", "1-", "5000"}) {
    given.cpus = wrong;
    message = openError(given, MOERT_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(message.find(std::string("of the CPUs that this process may use: ") + possible), std::string::npos);
  }
}

TEST(Lock, IsAccountedOrRefusedAndTheModelRuns) {
  std::string path = makePack();
  moert_open_options given = options(path);
  given.lock_memory = 1;
  Opened run(given);
  moert_statistics before = run.statistics();
  run.feed(somePrompt(100));
  moert_statistics after = run.statistics();
  EXPECT_GT(before.locked_bytes + before.lock_refused_bytes, kLayers * kExperts * uint64_t(kRecordBytes));
  EXPECT_GT(after.locked_bytes + after.lock_refused_bytes, before.locked_bytes + before.lock_refused_bytes); // kv
  EXPECT_LE(after.locked_bytes + after.lock_refused_bytes, after.ledger_bytes);
  EXPECT_GT(after.lock_limit_bytes, 0u);
  ASSERT_EQ(api().session_reset(run.session, nullptr), MOERT_STATUS_OK);
  moert_statistics reset = run.statistics();
  EXPECT_EQ(reset.locked_bytes + reset.lock_refused_bytes, before.locked_bytes + before.lock_refused_bytes);
  run.feed(somePrompt(100));
  EXPECT_EQ(memcmp(api().logits(run.session), referenceLogits(somePrompt(100)).back().data(), kVocab * 4), 0);
  moert_open_options plain = options(path);
  Opened unlocked(plain);
  EXPECT_EQ(unlocked.statistics().locked_bytes + unlocked.statistics().lock_limit_bytes, 0u);
}

TEST(OptionStructs, OfOtherVersionsAreTakenOrRefused) {
  std::string path = makePack();
  moert_plan_info info;
  moert_error error = {};
  struct {
    moert_open_options known;
    uint8_t later[64];
  } newer = {options(path), {}};
  newer.known.struct_bytes = sizeof(newer);
  EXPECT_EQ(api().plan(&newer.known, &info, &error), MOERT_STATUS_OK) << error.message;
  newer.later[3] = 1;
  EXPECT_EQ(api().plan(&newer.known, &info, &error), MOERT_STATUS_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("does not know"), std::string::npos) << error.message;
  for (uint32_t bytes : {0u, 4u, 12u, 76u, UINT32_MAX}) {
    newer.known.struct_bytes = bytes;
    EXPECT_EQ(api().plan(&newer.known, &info, &error), MOERT_STATUS_INVALID_ARGUMENT);
  }
  // The first version ended behind max_sessions.
  moert_open_options older = options(path);
  older.struct_bytes = offsetof(moert_open_options, experts_used);
  older.experts_used = 99;
  EXPECT_EQ(api().plan(&older, &info, &error), MOERT_STATUS_OK) << error.message;
}

TEST(Trim, IsReserved) {
  std::string path = makePack();
  Opened run(options(path));
  moert_error error = {};
  EXPECT_EQ(api().trim(run.model, 0, &error), MOERT_STATUS_OK);
  EXPECT_EQ(api().trim(run.model, 1, &error), MOERT_STATUS_UNSUPPORTED);
  EXPECT_EQ(api().trim(nullptr, 0, &error), MOERT_STATUS_INVALID_ARGUMENT);
}

} // namespace
