// SPDX-License-Identifier: Apache-2.0
/// \file
/// A damaged, cut or foreign pack is an error that names the file and what was found; it is never read past.
#include "FakeModel.h"

#include "runtime/base/Hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace fake;

namespace {

std::string openError(const moert_open_options &given, moert_status expected) {
  moert_model *model = nullptr;
  moert_error error = {};
  EXPECT_EQ(api().open(&given, &model, &error), expected) << error.message;
  EXPECT_EQ(model, nullptr);
  return error.message;
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST(Pack, HashIsTheStandardOne) {
  EXPECT_EQ(moert::hash64("", 0), 0x2d06800538d394c2ull); // XXH3-64 of nothing, seed 0: xxHash's sanity test
}

TEST(Pack, MissingFile) {
  makePack();
  std::string message = openError(options("/tmp/no-such-folder/x.moepack"), MOERT_STATUS_IO);
  EXPECT_EQ(message, "cannot open the pack '/tmp/no-such-folder/x.moepack': no such file or directory (2)");
}

TEST(Pack, TruncatedSaysFoundAndNeeded) {
  PackLayout layout;
  std::string path = makePack({}, &layout);
  for (uint64_t cut : {1ull, 4096ull}) {
    truncateFile(path, layout.total - cut);
    std::string message = openError(options(path), MOERT_STATUS_CORRUPT);
    EXPECT_TRUE(
        has(message, "found " + std::to_string(layout.total - cut) + " bytes, needed " + std::to_string(layout.total)))
        << message;
  }
  truncateFile(path, 100);
  EXPECT_TRUE(has(openError(options(path), MOERT_STATUS_CORRUPT), "found 100 bytes"));
}

TEST(Pack, FlippedBitInEachPlace) {
  struct {
    uint64_t PackLayout::*base;
    uint64_t offset;
    const char *text;
  } cases[] = {{&PackLayout::directory, 10, "directory of"},
               {&PackLayout::resident, 600, "resident tensor at record 1"},
               {&PackLayout::experts, 5 * kRecordBytes + 7, "expert 5 of layer 0 is damaged"}};
  for (auto &c : cases) {
    PackLayout layout;
    std::string path = makePack({}, &layout);
    flipBit(path, layout.*c.base + c.offset);
    moert_open_options given = options(path);
    given.preload = 1;
    std::string message = openError(given, MOERT_STATUS_CORRUPT);
    EXPECT_TRUE(has(message, c.text)) << message;
    EXPECT_TRUE(has(message, path)) << message;
  }
  std::string path = makePack();
  flipBit(path, 40);
  EXPECT_TRUE(has(openError(options(path), MOERT_STATUS_CORRUPT), "damaged header"));
  flipBit(path, 0);
  EXPECT_TRUE(has(openError(options(path), MOERT_STATUS_CORRUPT), "is not a weight pack"));
}

TEST(Pack, DamagedRowAndExpertAreFoundWhenUsed) {
  for (bool row : {true, false}) {
    PackLayout layout;
    std::string path = makePack({}, &layout);
    moert_model *model = openOrDie(options(path, budgetFor(kTopK)));
    moert_session *session = nullptr;
    ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
    flipBit(path, row ? layout.rows + 11 * (kRowBytes + 8) : layout.experts + 4);
    std::vector<int32_t> ids = somePrompt(64);
    moert_error error = {};
    EXPECT_EQ(api().prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error), MOERT_STATUS_CORRUPT);
    EXPECT_TRUE(has(error.message, row ? "row 11 of table 0 is damaged" : "expert 0 of layer 0 is damaged"))
        << error.message;
    // Repaired, it works: nothing damaged was kept.
    flipBit(path, row ? layout.rows + 11 * (kRowBytes + 8) : layout.experts + 4);
    ASSERT_EQ(api().session_reset(session, nullptr), MOERT_STATUS_OK);
    EXPECT_EQ(api().prefill(session, ids.data(), ids.size(), 0, nullptr, nullptr, &error), MOERT_STATUS_OK);
    EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * 4), 0);
    api().session_destroy(session);
    api().close(model);
  }
}

TEST(Pack, RowOfAnotherPlaceIsRefused) {
  PackLayout layout;
  std::string path = makePack({}, &layout);
  moert_model *model = openOrDie(options(path));
  moert_session *session = nullptr;
  ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
  // Row 12 with its own checksum in the place of row 11, as after an overwrite by another pack.
  std::vector<char> row(kRowBytes + 8);
  FILE *file = fopen(path.c_str(), "r+b");
  ASSERT_TRUE(file);
  EXPECT_EQ(fseek(file, static_cast<long>(layout.rows + 12 * row.size()), SEEK_SET), 0);
  EXPECT_EQ(fread(row.data(), 1, row.size(), file), row.size());
  EXPECT_EQ(fseek(file, static_cast<long>(layout.rows + 11 * row.size()), SEEK_SET), 0);
  EXPECT_EQ(fwrite(row.data(), 1, row.size(), file), row.size());
  fclose(file);
  moert_error error = {};
  EXPECT_EQ(api().decode(session, 12, &error), MOERT_STATUS_OK) << error.message;
  EXPECT_EQ(api().decode(session, 11, &error), MOERT_STATUS_CORRUPT);
  EXPECT_TRUE(has(error.message, "row 11 of table 0 is damaged")) << error.message;
  api().session_destroy(session);
  api().close(model);
}

/// Makes `path` another pack of the same layout: all experts differ. In place, or as a new file with the old name.
void replacePack(const std::string &path, const PackLayout &layout, bool inPlace) {
  if (!inPlace) {
    std::filesystem::copy_file(path, path + ".new");
    std::filesystem::rename(path + ".new", path);
  }
  for (uint64_t at = layout.experts; at < layout.rows; at += MOEPACK_PAGE_BYTES)
    flipBit(path, at);
}

TEST(Pack, ReplacedWhileOpenGivesTheOldResultOrAnError) {
  for (bool inPlace : {true, false}) {
    PackLayout layout;
    std::string path = makePack({}, &layout);
    moert_model *model = openOrDie(options(path, budgetFor(kTopK)));
    moert_session *session = nullptr;
    ASSERT_EQ(api().session_create(model, &session, nullptr), MOERT_STATUS_OK);
    std::vector<int32_t> ids = somePrompt(64);
    ASSERT_EQ(api().prefill(session, ids.data(), 8, 0, nullptr, nullptr, nullptr), MOERT_STATUS_OK);
    replacePack(path, layout, inPlace);
    moert_error error = {};
    moert_status status = api().prefill(session, ids.data() + 8, ids.size() - 8, 0, nullptr, nullptr, &error);
    EXPECT_EQ(status, inPlace ? MOERT_STATUS_CORRUPT : MOERT_STATUS_OK) << error.message;
    if (!inPlace) // what was opened stays open under no name
      EXPECT_EQ(memcmp(api().logits(session), referenceLogits(ids).back().data(), kVocab * 4), 0);
    api().session_destroy(session);
    api().close(model);
  }
}

TEST(Pack, OtherIdsAreAMismatch) {
  std::string path = makePack();
  moert_model_v1.plan_id[0] ^= 1;
  EXPECT_TRUE(has(openError(options(path), MOERT_STATUS_MISMATCH), "is the pack of another model: its plan id is 11"));
  moert_model_v1.plan_id[0] ^= 1;
  moert_model_v1.weights_id[3] ^= 1;
  EXPECT_TRUE(has(openError(options(path), MOERT_STATUS_MISMATCH), "its weights id is"));
  moert_model_v1.weights_id[3] ^= 1;
  moert_model_v1.layout_family = MOEPACK_FAMILY_ARM64;
  EXPECT_TRUE(has(openError(options(path), MOERT_STATUS_MISMATCH), "has layout family 2, target 'test' needs 1"));
}

TEST(Pack, SeveralParts) {
  std::string path = makePack({.partBytes = 5 * kRecordBytes});
  api().close(openOrDie(options(path)));
  truncateFile(path + ".1", kRecordBytes);
  EXPECT_TRUE(has(openError(options(path), MOERT_STATUS_CORRUPT), path + ".1' is truncated"));
  unlink((path + ".1").c_str());
  EXPECT_TRUE(has(openError(options(path), MOERT_STATUS_IO), "cannot open part 1 of"));
}

} // namespace
