// SPDX-License-Identifier: Apache-2.0
/// \file
/// The pack is replaced or cut short at each read of a run, descriptors run out, reads take long: the old result or an
/// error.
#include "FaultRun.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <sys/resource.h>
#include <thread>

using namespace fake;

namespace {

/// Runs with `damage` done to the file before read `at`, and undone before a call is repeated.
FaultRun runWith(FaultLayer &layer, const std::string &path, const Setting &setting, uint64_t at,
                 const std::function<void()> &damage, const std::function<void()> &mend, const char *what) {
  layer.reset();
  std::atomic<bool> isDone{false};
  layer.atRead = [&, at](int, uint64_t) {
    if (layer.numReads >= at && !isDone.exchange(true))
      damage();
    return 0;
  };
  layer.mend = mend;
  FaultRun run(layer, setting, path, std::string(what) + " at read " + std::to_string(at));
  run.readsFromDisk = true;
  run.run();
  layer.reset();
  return run;
}

/// Read by read while a model is opened, then now and then.
uint64_t nextRead(uint64_t at) { return at < 12 ? at + 1 : at * 2; }

TEST(FaultFile, ReplacedAtAnyReadGivesTheOldResult) {
  namespace fs = std::filesystem;
  FaultLayer layer;
  for (const Setting &setting : {settings()[0], settings()[1]}) {
    PackLayout layout;
    std::string path = makePack({.stateBytes = setting.hasState ? 64u : 0u}, &layout), kept = path + ".kept";
    fs::copy_file(path, kept);
    for (uint64_t at = 1; at < 300; at = nextRead(at)) {
      // Of another compile: the first expert is the same, the others are not.
      auto replace = [&] {
        fs::copy_file(kept, path + ".new");
        for (uint64_t i = layout.experts + kRecordBytes; i < layout.rows; i += kRecordBytes)
          flipBit(path + ".new", i);
        fs::rename(path + ".new", path);
      };
      FaultRun run = runWith(layer, path, setting, at, replace, nullptr, "replaced");
      EXPECT_EQ(run.status, MOERT_STATUS_OK) << at << ": " << run.message;
      fs::copy_file(kept, path, fs::copy_options::overwrite_existing);
    }
  }
}

TEST(FaultFile, CutShortAtAnyReadIsAnError) {
  FaultLayer layer;
  for (const Setting &setting : {settings()[0], settings()[1]}) {
    PackLayout layout;
    std::string path = makePack({.stateBytes = setting.hasState ? 64u : 0u}, &layout), kept = path + ".kept";
    std::filesystem::copy_file(path, kept);
    auto restore = [&] { std::filesystem::copy_file(kept, path, std::filesystem::copy_options::overwrite_existing); };
    uint64_t numFailed = 0;
    for (uint64_t at = 1; at < 300; at = nextRead(at)) {
      auto cut = [&] { truncateFile(path, layout.experts + 100); };
      FaultRun run = runWith(layer, path, setting, at, cut, restore, "cut short");
      if (run.status == MOERT_STATUS_OK)
        continue;
      ++numFailed;
      EXPECT_EQ(run.status, MOERT_STATUS_CORRUPT) << at << ": " << run.message;
      EXPECT_NE(run.message.find(path + "' ends at offset"), std::string::npos) << at << ": " << run.message;
    }
    EXPECT_GT(numFailed, 10u);
    restore();
  }
}

TEST(FaultFile, DescriptorsRunOut) {
  FaultLayer layer;
  std::string path = packFor(settings()[4]); // in parts, each of which is opened twice
  moert_open_options options = settings()[4].options(path);
  Footprint before = Footprint::now();
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  bool opened = false, refused = false;
  for (rlim_t more = 0; more < 16; ++more) {
    layer.reset();
    rlimit low = {static_cast<rlim_t>(before.files) - 1 + more, limit.rlim_max};
    moert_model *model = nullptr;
    moert_error error = {};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    moert_status status = layer.open(options, &model, &error);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (status == MOERT_STATUS_OK) {
      opened = true;
      moert_session *session = nullptr;
      ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
      ASSERT_EQ(api().decode(session, 5, &error), MOERT_STATUS_OK) << error.message;
      std::vector<float> expected = referenceLogits({5}, SIZE_MAX, 0, kTopK, false).back();
      EXPECT_EQ(memcmp(api().logits(session), expected.data(), kVocab * sizeof(float)), 0);
      api().session_destroy(session);
      api().close(model);
    } else {
      refused = true;
      EXPECT_EQ(status, MOERT_STATUS_IO);
      EXPECT_NE(std::string(error.message).find("too many open files"), std::string::npos) << error.message;
    }
    EXPECT_EQ(layer.numRanges, 0);
    before.expectSame("descriptors");
  }
  EXPECT_TRUE(opened && refused);
}

TEST(FaultFile, SlowReadsChangeNothing) {
  FaultLayer layer;
  const Setting &setting = settings()[0];
  std::string path = packFor(setting);
  layer.reset();
  layer.atRead = [](int, uint64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return 0;
  };
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
  ASSERT_EQ(layer.open(setting.options(path), &model, &error), MOERT_STATUS_OK) << error.message;
  ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  for (int32_t id : {3, 4})
    ASSERT_EQ(api().decode(session, id, &error), MOERT_STATUS_OK) << error.message;
  EXPECT_EQ(memcmp(api().logits(session), referenceLogits({3, 4}).back().data(), kVocab * sizeof(float)), 0);
  api().session_destroy(session);
  api().close(model);
}

} // namespace
