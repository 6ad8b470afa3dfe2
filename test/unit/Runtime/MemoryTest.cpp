// SPDX-License-Identifier: Apache-2.0
/// \file
/// The ledger holds the plan: nothing is taken beyond it, the KV cache grows by blocks, each refusal is survived.
#include "FakeModel.h"

#include "runtime/api/Model.h"
#include "runtime/session/Session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace fake;

namespace {

uint64_t ledgerBytes(const moert_model *model, uint64_t *peak = nullptr) {
  moert_statistics stats;
  EXPECT_EQ(api().statistics(model, &stats, nullptr), MOERT_STATUS_OK);
  if (peak)
    *peak = stats.ledger_peak_bytes;
  return stats.ledger_bytes;
}

int numOpenFiles() {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (readdir(folder))
    ++count;
  closedir(folder);
  return count;
}

TEST(Memory, LedgerReachesExactlyThePlanAtFullContext) {
  std::string path = makePack();
  for (uint64_t slots : {2u, 9u, 24u}) {
    moert_open_options given = options(path, budgetFor(slots));
    given.threads = 4; // as many as a plan makes room for at least
    moert_model *model = openOrDie(given);
    moert_session *session = nullptr;
    ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
    std::vector<int32_t> ids = somePrompt(kContext);
    // Two turns, so that all checkpoints of the state are taken.
    for (size_t begin : {0u, 128u}) {
      ASSERT_EQ(api().prefill(session, ids.data() + begin, 127, 0, nullptr, nullptr, nullptr), MOERT_STATUS_OK);
      ASSERT_EQ(api().decode(session, ids[begin + 127], nullptr), MOERT_STATUS_OK);
    }
    moert_plan_info info;
    api().model_plan(model, &info, nullptr);
    uint64_t peak = 0;
    EXPECT_EQ(ledgerBytes(model, &peak), info.planned_bytes);
    EXPECT_EQ(peak, info.planned_bytes);
    api().session_destroy(session);
    api().close(model);
  }
}

TEST(Memory, KvGrowsByBlocksAndGoesBack) {
  constexpr uint64_t kBlock = 8ull << 20; // large, so that it stands out in the resident set
  std::string path = makePack({.kvBlockBytes = kBlock, .stateBytes = 0});
  moert_open_options given = options(path);
  given.preload = 1;
  moert_model *model = openOrDie(given);
  moert_session *session = nullptr;
  ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  uint64_t empty = ledgerBytes(model), emptyResident = residentSetBytes();
  std::vector<int32_t> ids = somePrompt(65);
  ASSERT_EQ(api().prefill(session, ids.data(), 64, 0, nullptr, nullptr, nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(ledgerBytes(model), empty + kBlock);
  ASSERT_EQ(api().decode(session, ids[64], nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(ledgerBytes(model), empty + 2 * kBlock);
  if (!kSanitized) { // shadow memory counts as resident
    EXPECT_NEAR(static_cast<double>(residentSetBytes() - emptyResident), 2.0 * kBlock, 0.1 * kBlock);
  }
  ASSERT_EQ(api().session_reset(session, nullptr), MOERT_STATUS_OK);
  EXPECT_EQ(ledgerBytes(model), empty);
  if (!kSanitized) {
    EXPECT_NEAR(static_cast<double>(residentSetBytes()), static_cast<double>(emptyResident), 0.1 * kBlock);
  }
  api().session_destroy(session);
  api().close(model);
}

/// Everything a user does; the first status that is not OK.
moert_status wholeRun(const std::string &path, uint64_t failRequest, uint64_t *requests) {
  moert::Hooks hooks = {};
  hooks.failRequest = failRequest;
  moert_open_options given = options(path, budgetFor(4));
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
  std::vector<int32_t> ids = somePrompt(130);
  moert_status status = moert::openModel(moert_model_v1, &given, hooks, &model, &error);
  if (status == MOERT_STATUS_OK)
    status = api().session_create(model, &session, &error);
  if (status == MOERT_STATUS_OK)
    status = api().prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error);
  if (status != MOERT_STATUS_OK) {
    EXPECT_NE(std::string(error.message).find("no memory"), std::string::npos) << error.message;
  }
  if (model)
    *requests = model->ledger.numRequests();
  // What failed for want of memory works when there is some again.
  if (session && status == MOERT_STATUS_NO_MEMORY) {
    uint64_t done = api().session_length(session);
    EXPECT_EQ(api().prefill(session, ids.data() + done, ids.size() - done, 0, nullptr, nullptr, nullptr),
              MOERT_STATUS_OK);
  }
  if (session) {
    EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * 4), 0);
  }
  api().session_destroy(session);
  api().close(model);
  return status;
}

TEST(Memory, EachRequestFailsOnce) {
  std::string path = makePack();
  uint64_t total = 0;
  ASSERT_EQ(wholeRun(path, 0, &total), MOERT_STATUS_OK);
  ASSERT_GT(total, 8u);
  int files = numOpenFiles();
  for (uint64_t i = 1; i <= total; ++i) {
    uint64_t requests = 0;
    EXPECT_EQ(wholeRun(path, i, &requests), MOERT_STATUS_NO_MEMORY) << "request " << i << " of " << total;
    EXPECT_EQ(numOpenFiles(), files);
  }
}

TEST(Memory, LedgerNeverPassesItsLimit) {
  moert::Ledger ledger = {};
  ledger.initialize(100);
  EXPECT_TRUE(ledger.take(60));
  EXPECT_FALSE(ledger.take(41));
  EXPECT_FALSE(ledger.take(UINT64_MAX));
  EXPECT_TRUE(ledger.take(40));
  ledger.give(100);
  EXPECT_EQ(ledger.usedBytes(), 0u);
  EXPECT_EQ(ledger.peakBytes(), 100u);
}

/// Bytes of a region that the process holds, counted in pages of the kernel.
uint64_t residentBytes(const moert::Region &region) {
  uint64_t page = sysconf(_SC_PAGESIZE), count = 0;
  std::vector<unsigned char> pages(region.sizeBytes / page);
  EXPECT_EQ(mincore(region.data, region.sizeBytes, pages.data()), 0);
  for (unsigned char isResident : pages)
    count += isResident & 1;
  return count * page;
}

TEST(Memory, RegionsAreAlignedForHugePagesAndHoldWhatIsCommitted) {
  constexpr uint64_t kHuge = moert::kHugePageBytes, kPage = moert::kPageBytes;
  moert::Ledger ledger = {};
  ledger.initialize(64 * kHuge);
  for (uint64_t bytes : {kPage, kHuge - kPage, kHuge, 3 * kHuge - kPage, 3 * kHuge + kPage}) {
    moert::Region region = {};
    ASSERT_TRUE(region.create(ledger, bytes, moert::Populate::Now));
    EXPECT_EQ(residentBytes(region), bytes);
    if (bytes >= kHuge) {
      EXPECT_EQ(reinterpret_cast<uint64_t>(region.data) % kHuge, 0u);
    }
    region.destroy(ledger);
    ASSERT_TRUE(region.create(ledger, bytes, moert::Populate::OnCommit));
    for (uint64_t part : {bytes / 3, bytes / 2, bytes}) {
      ASSERT_TRUE(region.commit(ledger, part));
      EXPECT_EQ(residentBytes(region), region.committedBytes);
      EXPECT_EQ(ledger.usedBytes(), region.committedBytes);
    }
    ASSERT_TRUE(region.decommitAll(ledger));
    EXPECT_EQ(residentBytes(region), 0u);
    region.destroy(ledger);
  }
  EXPECT_EQ(ledger.usedBytes(), 0u);
}

} // namespace
