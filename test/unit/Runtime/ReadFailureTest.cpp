// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each read of a whole run fails once: the run says so, leaks nothing, and goes on when the file can be read again.
#include "WavesFixture.h"

#include <atomic>
#include <unistd.h>

using namespace fake;

namespace {

/// From the read with number `failing` on, reads at its place fail `times` times.
struct Reads {
  std::atomic<int> count{0}, left{0};
  std::atomic<uint64_t> place{0};
  int failing = 0;
  static int64_t read(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
    auto &self = *static_cast<Reads *>(user);
    if (++self.count == self.failing)
      self.place = offset;
    if (self.count >= self.failing && self.place == offset && self.left > 0 && self.left-- > 0)
      return -5;
    return pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
  }
};

/// The number of reads; `failed` tells whether the user saw a failure.
int wholeRun(const std::string &path, int failing, int times, bool &failed) {
  Reads reads;
  reads.failing = failing;
  reads.left = failing ? times : 0;
  moert::Hooks hooks = {Reads::read, &reads, 0, true};
  moert_open_options given = options(path, budgetFor(5, 1, 1), 1);
  given.reader_lanes = 1;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
  std::vector<int32_t> ids = somePrompt(20);
  moert_status status = moert::openModel(moert_model_v1, &given, hooks, &model, &error);
  failed = status != MOERT_STATUS_OK;
  if (!failed) {
    EXPECT_EQ(api().session_create(model, &session, &error), MOERT_STATUS_OK) << error.message;
    status = api().prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error);
    failed = status != MOERT_STATUS_OK;
    uint64_t done = api().session_length(session);
    if (failed) {
      EXPECT_EQ(api().prefill(session, ids.data() + done, ids.size() - done, 0, nullptr, nullptr, nullptr),
                MOERT_STATUS_OK);
    }
    EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * 4), 0);
    api().session_destroy(session);
    api().close(model);
  }
  if (failed) {
    EXPECT_EQ(status, MOERT_STATUS_IO);
    EXPECT_NE(std::string(error.message).find("input/output error (5)"), std::string::npos) << error.message;
    EXPECT_NE(std::string(error.message).find(path), std::string::npos) << error.message;
  }
  return reads.count;
}

TEST(ReadFailure, EachReadFailsOnceOrTwice) {
  std::string path = makePack();
  bool failed = false;
  int total = wholeRun(path, 0, 0, failed);
  EXPECT_FALSE(failed);
  int numFailed = 0;
  for (int i = 1; i <= total; ++i) {
    wholeRun(path, i, 1, failed);
    EXPECT_FALSE(failed) << "a read that failed once was not tried again: number " << i;
    wholeRun(path, i, 2, failed);
    numFailed += failed;
  }
  // All but the probe of direct reads, which is given up without an error.
  EXPECT_EQ(numFailed, total - 1);
}

/// Refuses to read from `begin` to `end`.
struct Refused {
  uint64_t begin = 0, end = 0;
  static int64_t read(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
    auto &self = *static_cast<Refused *>(user);
    return offset >= self.begin && offset < self.end ? -5
                                                     : pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
  }
};

TEST(ReadFailure, EachOfTwoLoadsIsToldItsOwn) {
  PackLayout layout;
  std::string path = makePack({}, &layout);
  flipBit(path, layout.experts + kRecordBytes + 100);
  Refused refused;
  moert_open_options given = options(path, budgetFor(5, 1, 1), 1);
  given.reader_lanes = 1;
  moert_model *model = openWith(given, {Refused::read, &refused, 0, true});
  moert::Pager &pager = model->pager;
  {
    moert::Lock lock(pager.mutex);
    refused = {layout.experts, layout.experts + kRecordBytes};
    int32_t slots[2];
    for (int32_t expert : {0, 1})
      pager.enqueue(slots[expert] = pager.table.startLoad(expert, 1));
    pager.wakeLanes();
    while (pager.table.numLoading())
      pager.loaded.wait(pager.mutex);
    moert_error error = {};
    EXPECT_EQ(pager.failure(slots[0], &error), MOERT_STATUS_IO);
    EXPECT_EQ(error.status, MOERT_STATUS_IO);
    EXPECT_EQ(std::string(error.message)
                  .rfind("cannot load expert 0 of layer 0 (io); another load failed after it: "
                         "expert 1 of layer 0 is damaged: checksum of ",
                         0),
              0u)
        << error.message;
    EXPECT_EQ(pager.failure(slots[1], &error), MOERT_STATUS_CORRUPT);
    EXPECT_EQ(std::string(error.message).rfind("expert 1 of layer 0 is damaged: checksum of ", 0), 0u) << error.message;
    pager.unpin(slots[0]);
    pager.unpin(slots[1]);
  }
  api().close(model);
}

} // namespace
