// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which way reads take: direct ones stay direct after short answers, are given up where they do not fill the buffer,
/// and what goes through the page cache does not stay there.
#include "FakeModel.h"

#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace fake;

namespace {

using Read = std::function<int64_t(bool direct, int fd, void *destination, uint64_t sizeBytes, uint64_t offset)>;

int64_t callRead(void *user, int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
  return (*static_cast<Read *>(user))(fcntl(fd, F_GETFL) & O_DIRECT, fd, destination, sizeBytes, offset);
}

int64_t readFile(int fd, void *destination, uint64_t sizeBytes, uint64_t offset) {
  return pread(fd, destination, sizeBytes, static_cast<off_t>(offset));
}

/// Feeds 20 tokens under a small budget; the logits must be right. Returns what the model did.
moert_statistics runWith(const moert_open_options &given, Read read) {
  moert::Hooks hooks = {};
  hooks.read = callRead;
  hooks.user = &read;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_error error = {};
  moert_statistics stats = {};
  std::vector<int32_t> ids = somePrompt(20);
  EXPECT_EQ(moert::openModel(moert_model_v1, &given, hooks, &model, &error), MOERT_STATUS_OK) << error.message;
  if (!model)
    return stats;
  EXPECT_EQ(api().session_create(model, &session, &error), MOERT_STATUS_OK) << error.message;
  EXPECT_EQ(api().prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error), MOERT_STATUS_OK)
      << error.message;
  EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * 4), 0);
  api().statistics(model, &stats, nullptr);
  api().session_destroy(session);
  api().close(model);
  return stats;
}

TEST(ReadPath, ShortDirectReadsGoOnDirect) {
  PackLayout layout;
  std::string path = makePack({}, &layout);
  std::atomic<uint64_t> bufferedExperts{0}, shortReads{0};
  moert_statistics stats = runWith(options(path, budgetFor(5)),
                                   [&](bool direct, int fd, void *out, uint64_t size, uint64_t offset) -> int64_t {
                                     bool isExpert = offset >= layout.experts && offset < layout.rows;
                                     bufferedExperts += !direct && isExpert;
                                     if (direct && size > 8192 && ++shortReads)
                                       size = 8192;
                                     int64_t got = readFile(fd, out, size, offset);
                                     // Also one that ends within a unit.
                                     return direct && got == 8192 && shortReads % 3 == 0 ? 5000 : got;
                                   });
  if (!stats.direct_io)
    GTEST_SKIP() << "the file system of /tmp has no direct reads";
  EXPECT_GT(shortReads, 50u);
  EXPECT_EQ(bufferedExperts, 0u);
}

TEST(ReadPath, DirectReadsThatFillNothingAreGivenUp) {
  std::string path = makePack();
  std::atomic<uint64_t> direct{0};
  moert_statistics stats =
      runWith(options(path, budgetFor(5)), [&](bool isDirect, int fd, void *out, uint64_t size, uint64_t offset) {
        direct += isDirect;
        return isDirect ? static_cast<int64_t>(size) : readFile(fd, out, size, offset);
      });
  EXPECT_EQ(stats.direct_io, 0u);
  EXPECT_LE(direct, 1u); // the probe
}

TEST(ReadPath, AReadThatNeverAnswersIsAnErrorAndNoHang) {
  std::string path = makePack();
  for (int64_t answer : {-moert::kErrnoAgain, -moert::kErrnoInterrupted}) {
    Read read = [answer](bool, int, void *, uint64_t, uint64_t) -> int64_t { return answer; };
    moert::Hooks hooks = {};
    hooks.read = callRead;
    hooks.user = &read;
    moert_open_options given = options(path);
    moert_model *model = nullptr;
    moert_error error = {};
    EXPECT_EQ(moert::openModel(moert_model_v1, &given, hooks, &model, &error), MOERT_STATUS_IO);
    const char *reason = answer == -moert::kErrnoAgain ? "temporarily unavailable" : "interrupted again and again";
    EXPECT_NE(std::string(error.message).find(reason), std::string::npos) << error.message;
  }
}

uint64_t cachedBytes(const std::string &path, uint64_t begin, uint64_t end) {
  int fd = open(path.c_str(), O_RDONLY);
  void *map = mmap(nullptr, end, PROT_READ, MAP_SHARED, fd, 0);
  uint64_t unit = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), numCached = 0;
  std::vector<unsigned char> pages((end + unit - 1) / unit);
  EXPECT_EQ(mincore(map, end, pages.data()), 0);
  for (uint64_t page = begin / unit; page < end / unit; ++page)
    numCached += pages[page] & 1;
  munmap(map, end);
  close(fd);
  return numCached * unit;
}

TEST(ReadPath, BufferedReadsLeaveNoExpertInThePageCache) {
  PackLayout layout;
  std::string path = makePack({}, &layout);
  int fd = open(path.c_str(), O_RDWR);
  fsync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  if (cachedBytes(path, layout.experts, layout.rows))
    GTEST_SKIP() << "the file system of /tmp is its own cache";
  moert_open_options given = options(path, budgetFor(5));
  given.buffered_reads = 1;
  uint64_t numDirect = 0;
  moert_statistics stats = runWith(given, [&](bool direct, int file, void *out, uint64_t size, uint64_t offset) {
    numDirect += direct;
    return readFile(file, out, size, offset);
  });
  EXPECT_EQ(stats.direct_io, 0u);
  EXPECT_EQ(numDirect, 0u);
  EXPECT_GT(stats.expert_misses, 0u);
  EXPECT_EQ(cachedBytes(path, layout.experts, layout.rows), 0u);
}

} // namespace
