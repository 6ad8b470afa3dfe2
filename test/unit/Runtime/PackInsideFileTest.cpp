// SPDX-License-Identifier: Apache-2.0
/// \file
/// A pack inside a larger file, given by descriptor and offset as in an archive: right at any offset, read directly
/// where the offset is aligned, refused with the place where there is no pack.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

using namespace fake;

namespace {

/// The pack behind `offset` bytes, before some more.
struct Outer {
  explicit Outer(uint64_t offset) {
    std::string inner = makePack({}, &layout);
    path = inner + ".outer";
    std::ifstream pack(inner, std::ios::binary);
    std::ofstream file(path, std::ios::binary);
    file << std::string(offset, 'x') << pack.rdbuf() << "what follows";
    file.close();
    fd = open(path.c_str(), O_RDONLY);
    given = options("", budgetFor(3));
    given.pack_path = nullptr;
    given.pack_fd = fd;
    given.pack_offset = offset;
    given.pack_bytes = layout.total;
  }
  ~Outer() { close(fd); }
  std::string refused(moert_status expected) const {
    moert_model *model = nullptr;
    moert_error error = {};
    EXPECT_EQ(api().open(&given, &model, &error), expected) << error.message;
    EXPECT_EQ(model, nullptr);
    return error.message;
  }
  PackLayout layout;
  std::string path;
  int fd = -1;
  moert_open_options given = {};
};

TEST(PackInsideFile, IsRightAtEveryOffset) {
  std::vector<int32_t> ids = somePrompt(40);
  for (uint64_t offset : {1u, 64u, 512u, 4096u, 12345u, 16384u}) {
    Outer outer(offset);
    moert_model *model = openOrDie(outer.given);
    moert_session *session = nullptr;
    ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
    moert_error error = {};
    ASSERT_EQ(api().prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error), MOERT_STATUS_OK)
        << error.message;
    EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * sizeof(float)), 0) << offset;
    moert_statistics statistics = {};
    ASSERT_EQ(api().statistics(model, &statistics, nullptr), MOERT_STATUS_OK);
    if (offset % 4096)
      EXPECT_EQ(statistics.direct_io, 0u) << offset;
    EXPECT_GT(statistics.expert_misses, 0u);
    api().session_destroy(session);
    api().close(model);
    EXPECT_GE(fcntl(outer.fd, F_GETFD), 0) << "the caller's descriptor was closed";
  }
}

TEST(PackInsideFile, WrongRangesAreNamed) {
  Outer outer(12345);
  moert_open_options &given = outer.given;
  given.pack_bytes = outer.layout.total - 1;
  EXPECT_NE(outer.refused(MOERT_STATUS_CORRUPT).find("is truncated"), std::string::npos);
  given.pack_bytes = outer.layout.total + 100;
  EXPECT_NE(outer.refused(MOERT_STATUS_INVALID_ARGUMENT).find("does not lie in"), std::string::npos);
  given.pack_bytes = 0;
  given.pack_offset = 1ull << 40;
  EXPECT_NE(outer.refused(MOERT_STATUS_INVALID_ARGUMENT).find("does not lie in"), std::string::npos);
  given.pack_offset = static_cast<uint64_t>(-1);
  EXPECT_NE(outer.refused(MOERT_STATUS_INVALID_ARGUMENT).find("does not lie in"), std::string::npos);
  given.pack_offset = 12346;
  EXPECT_NE(outer.refused(MOERT_STATUS_CORRUPT).find("has no weight pack at offset 12346"), std::string::npos);
}

TEST(PackInsideFile, WrongDescriptorsAreNamed) {
  Outer outer(4096);
  int writeOnly = open(outer.path.c_str(), O_WRONLY), ends[2];
  ASSERT_EQ(pipe(ends), 0);
  outer.given.pack_fd = writeOnly;
  EXPECT_NE(outer.refused(MOERT_STATUS_IO).find("bad file descriptor"), std::string::npos);
  outer.given.pack_fd = ends[0];
  EXPECT_NE(outer.refused(MOERT_STATUS_IO).find("is no regular file"), std::string::npos);
  for (int fd : {-1, 1 << 20}) {
    outer.given.pack_fd = fd;
    EXPECT_NE(outer.refused(MOERT_STATUS_IO).find("bad file descriptor"), std::string::npos);
  }
  for (int fd : {writeOnly, ends[0], ends[1]})
    close(fd);
}

} // namespace
