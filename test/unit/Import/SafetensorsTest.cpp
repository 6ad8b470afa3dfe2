// SPDX-License-Identifier: Apache-2.0
/// \file
/// safetensors headers: every inconsistency ends in a message with the file, what was found and what was expected.
#include "lib/Import/Safetensors.h"
#include "test/unit/Import/TinyCheckpoint.h"

using namespace moec;
using namespace moec::test;

static std::string refused(llvm::StringRef bytes) {
  TestFolder folder;
  return errorText(SafetensorsFile::open(folder.write("m", bytes), "m.safetensors"));
}

static std::string refusedHeader(llvm::StringRef header, size_t dataBytes = 0) {
  return refused(safetensorsBytes(header, std::string(dataBytes, 'x')));
}

static std::string entry(llvm::StringRef name, llvm::StringRef type, llvm::StringRef shape, llvm::StringRef offsets) {
  return ("\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}")
      .str();
}

TEST(Safetensors, ListsTensorsByOffset) {
  TestFolder folder;
  std::string header = "{" + entry("b", "F32", "[2,3]", "[4,28]") + "," + entry("a", "BF16", "[2]", "[0,4]") + "," +
                       entry("scalar", "U8", "[]", "[28,29]") + "," + entry("none", "I64", "[0,5]", "[29,29]") + "}";
  std::string path = folder.write("m", safetensorsBytes(header, std::string(29, 'x')));
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(path, "m");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->entries().size(), 4u);
  EXPECT_EQ(file->entries()[0].name, "a");
  EXPECT_EQ(file->entries()[1].shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(file->entries()[1].offsetBytes, 8 + header.size() + 4);
  EXPECT_EQ(file->entries()[1].sizeBytes, 24u);
  EXPECT_EQ(file->entries()[2].type, TensorType::U8);
}

TEST(Safetensors, TruncatedFilesNameBytesFoundAndNeeded) {
  std::string header = "{" + entry("a", "F32", "[1024]", "[0,4096]") + "}";
  std::string bytes = safetensorsBytes(header, std::string(4096, 'x'));
  std::string whole = std::to_string(bytes.size());
  for (size_t cut : {1, 4096})
    EXPECT_TRUE(contains(refused(llvm::StringRef(bytes).drop_back(cut)), "m.safetensors is truncated: found " +
                                                                             std::to_string(bytes.size() - cut) +
                                                                             " bytes, needs " + whole + "; download"));
  EXPECT_TRUE(contains(refused("1234567"), "m.safetensors is truncated: found 7 bytes, needs at least 8"));
  EXPECT_TRUE(contains(refused(""), "found 0 bytes, needs at least 8"));
  EXPECT_TRUE(contains(refused(llvm::StringRef(bytes).take_front(20)),
                       "found 20 bytes, needs " + std::to_string(8 + header.size()) + " for the header alone"));
}

TEST(Safetensors, RefusesTrailingBytes) {
  std::string header = "{" + entry("a", "U8", "[4]", "[0,4]") + "}";
  EXPECT_TRUE(contains(refusedHeader(header, 5), "its tensors end at " + std::to_string(8 + header.size() + 4) +
                                                     "; the rest belongs to no tensor"));
}

TEST(Safetensors, RefusesHeadersThatAreTooLong) {
  std::string tooLong("\x01\xE1\xF5\x05\0\0\0\0", 8); // 100,000,001
  EXPECT_TRUE(contains(refused(tooLong), "the header has 100000001 bytes, expects at most 100000000"));
  EXPECT_TRUE(contains(refused(std::string(8, '\xFF')), "the header has 18446744073709551615 bytes"));
}

TEST(Safetensors, RefusesHeadersThatAreNoObject) {
  EXPECT_TRUE(contains(refusedHeader(""), "m.safetensors: header: parse error"));
  EXPECT_TRUE(contains(refusedHeader("{\"a\":"), "m.safetensors: header: parse error"));
  EXPECT_EQ(refusedHeader("[]"), "m.safetensors: the document is an array of 0, expects an object");
  EXPECT_EQ(refusedHeader(R"({"a": 3})"), "m.safetensors: a is 3, expects an object");
  EXPECT_EQ(refusedHeader(R"({"a": {}})"), "m.safetensors: a.dtype is missing");
  EXPECT_EQ(refusedHeader(R"({"a": {"dtype": "U8"}})"), "m.safetensors: a.shape is missing");
  EXPECT_EQ(refusedHeader(R"({"a": {"dtype": "U8", "shape": []}})"), "m.safetensors: a.data_offsets is missing");
}

TEST(Safetensors, RefusesWrongEntries) {
  struct {
    std::string entries;
    const char *why;
  } cases[] = {
      {entry("a", "F4_X", "[1]", "[0,1]"), "tensor 'a' has the unknown dtype 'F4_X', expects F32, F16 or BF16"},
      {entry("a", "U8", "[-1]", "[0,1]"), "a.shape[0] is -1, expects an integer from 0"},
      {entry("a", "U8", "[1.5]", "[0,1]"), "a.shape[0] is 1.5, expects an integer"},
      {entry("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), "a.shape is an array of 9, expects at most 8 dimensions"},
      {entry("a", "U8", "[1]", "[0]"), "a.data_offsets is an array of 1, expects an array of 2"},
      {entry("a", "BF16", "[3]", "[0,4]"), "data_offsets [0, 4], but BF16 of shape [3] needs 6 bytes"},
      {entry("a", "U8", "[1]", "[5,4]"), "data_offsets [5, 4], but U8 of shape [1] needs 1 bytes"},
      {entry("a", "U8", "[4294967296,4294967296]", "[0,0]"), "which is 2^64 bytes or more"},
      {entry("a", "F32", "[9223372036854775807]", "[0,0]"), "which is 2^64 bytes or more"},
      {entry("a", "U8", "[1]", "[18446744073709551614,18446744073709551615]"), "tensor 'a' begins at"},
      {entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "U8", "[2]", "[3,5]"),
       "tensor 'b' begins at 3 and overlaps 'a', which ends at 4"},
      {entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "U8", "[2]", "[5,7]"),
       "tensor 'b' begins at 5, expects 4, where the data before it end"},
      {entry("a", "U8", "[1]", "[0,1]") + "," + entry("a", "U8", "[1]", "[1,2]"), "duplicate key \"a\""}};
  for (const auto &one : cases)
    EXPECT_TRUE(contains(refusedHeader("{" + one.entries + "}", 16), one.why));
}

TEST(Safetensors, LfsPointersAreToldApart) {
  std::string text =
      refused("version https://git-lfs.github.com/spec/v1\noid sha256:0000000000000000\nsize 16055224\n");
  EXPECT_TRUE(contains(text, "m.safetensors is a Git LFS pointer, not the file itself"));
  EXPECT_TRUE(contains(text, "the file has 16055224"));
  EXPECT_TRUE(contains(text, "run `git lfs pull`"));
}

// Random damage ends in a message or in a list that stays inside the file, never in a crash.
TEST(Safetensors, SurvivesDamagedHeaders) {
  std::string bytes = safetensorsBytes(tinyTensors());
  TestFolder folder;
  uint32_t state = 1;
  for (unsigned round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    for (unsigned i = 0; i < 3; ++i) {
      state = state * 1664525 + 1013904223;
      damaged[(state >> 8) % (i == 0 ? 400 : 2500)] = static_cast<char>(state >> 24);
    }
    std::string path = folder.write("m" + std::to_string(round), damaged);
    llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(path, "m");
    if (!file) {
      EXPECT_FALSE(llvm::toString(file.takeError()).empty());
      continue;
    }
    for (const SafetensorsEntry &tensor : file->entries())
      EXPECT_LE(tensor.offsetBytes + tensor.sizeBytes, damaged.size());
  }
}
