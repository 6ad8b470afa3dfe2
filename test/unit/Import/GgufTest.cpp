// SPDX-License-Identifier: Apache-2.0
/// \file
/// gguf headers: every value is read, and every inconsistency ends in a message with the file, what was found and what
/// was expected.
#include "lib/Import/Gguf.h"
#include "test/unit/Import/TinyGguf.h"
#include "test/unit/Support/TestFolder.h"

using namespace moec;
using namespace moec::test;

static std::string refused(llvm::StringRef bytes) {
  TestFolder folder;
  return errorText(GgufFile::open(folder.write("m", bytes), "m.gguf"));
}

static std::string refusedKey(const std::string &key) { return refused(ggufBytes({key}, {})); }

static std::string refusedTensor(const std::string &tensor, uint64_t dataBytes = 64) {
  return refused(ggufBytes({}, {tensor}, dataBytes));
}

TEST(Gguf, ReadsEveryKindOfValue) {
  auto key = [](const char *name, uint32_t kind, const std::string &value) { return text(name) + u32(kind) + value; };
  std::vector<std::string> keys = {key("u8", 0, number(255, 1)),
                                   key("i8", 1, number(255, 1)),
                                   key("u16", 2, number(65535, 2)),
                                   key("i16", 3, number(65535, 2)),
                                   key("u32", 4, u32(UINT32_MAX)),
                                   key("i32", 5, u32(UINT32_MAX)),
                                   key("f32", 6, u32(0x3FC00000)),
                                   key("bool", 7, number(1, 1)),
                                   key("text", 8, text("a\xC3\xA4")),
                                   key("u64", 10, u64(UINT64_MAX)),
                                   key("i64", 11, u64(UINT64_MAX)),
                                   key("f64", 12, u64(0xBFE0000000000000)),
                                   key("array", 9, u32(8) + u64(2) + text("a") + text("")),
                                   key("nested", 9, u32(9) + u64(1) + u32(4) + u64(2) + u32(7) + u32(8)),
                                   key("empty", 9, u32(4) + u64(0))};
  TestFolder folder;
  llvm::Expected<GgufFile> file = GgufFile::open(folder.write("m", ggufBytes(keys, {})), "m");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(writeJson(file->metadata(), 0),
            R"({"u8":255,"i8":-1,"u16":65535,"i16":-1,"u32":4294967295,"i32":-1,"f32":1.5,"bool":true,"text":"aä",)"
            R"("u64":18446744073709551615,"i64":-1,"f64":-0.5,"array":["a",""],"nested":[[7,8]],"empty":[]})");
}

TEST(Gguf, ListsTensorsByOffset) {
  std::string bytes = ggufBytes({countKey("general.alignment", 64)},
                                {tensorEntry("b", {32, 3}, 8, 64), tensorEntry("a", {3}, 0, 0)}, 64 + 102, 64);
  TestFolder folder;
  llvm::Expected<GgufFile> file = GgufFile::open(folder.write("m", bytes), "m");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->tensors()[0].name, "a");
  const GgufTensor &b = file->tensors()[1];
  EXPECT_EQ(b.shape, (std::vector<uint64_t>{3, 32}));
  EXPECT_EQ(b.type, TensorType::Q8_0);
  EXPECT_EQ(b.sizeBytes, 102u); // 3 blocks of 34
  EXPECT_EQ(b.offsetBytes, bytes.size() - 102);
}

TEST(Gguf, VersionTwoIsTheSame) {
  std::string bytes = ggufBytes({}, {});
  bytes[4] = 2;
  EXPECT_EQ(refused(bytes), "no error");
}

TEST(Gguf, RefusesOtherFiles) {
  EXPECT_TRUE(contains(refused("GGUX" + u32(3) + u64(0) + u64(0)), "m.gguf: it does not begin with GGUF"));
  EXPECT_TRUE(contains(refused("GGUF" + u32(1) + u64(0)), "it has the version 1, expects 2 or 3"));
  EXPECT_TRUE(contains(refused(std::string("GGUF\0\0\0\3", 8) + u64(0) + u64(0)), "it is big-endian"));
  EXPECT_TRUE(contains(refused("version https://git-lfs.github.com/spec/v1\nsize 7\n"), "is a Git LFS pointer"));
}

TEST(Gguf, TruncatedFilesNameBytesFoundAndNeeded) {
  EXPECT_TRUE(contains(refused("GG"), "m.gguf is truncated: found 2 bytes, needs 4 at 0 for the start"));
  std::string bytes = ggufBytes({countKey("count", 1)}, {tensorEntry("t", {3}, 0, 0)}, 12);
  for (size_t size = 4; size < bytes.size(); ++size)
    EXPECT_TRUE(contains(refused(llvm::StringRef(bytes).take_front(size)), "download")) << size;
}

TEST(Gguf, RefusesWrongKeys) {
  EXPECT_TRUE(contains(refusedKey(text("a") + u32(13) + u64(0)), "key 'a' has a value of the unknown type 13"));
  EXPECT_TRUE(contains(refusedKey(text("a") + u32(9) + u32(13) + u64(0)), "key 'a' is an array of the unknown type"));
  EXPECT_TRUE(contains(refusedKey(text("a") + u32(9) + u32(0) + u64(UINT64_MAX)),
                       "key 'a' is an array of 18446744073709551615 values, but"));
  EXPECT_TRUE(contains(refusedKey(text("a") + u32(8) + u64(UINT64_MAX)),
                       "the text for a has 18446744073709551615 bytes, expects at most 16777216"));
  std::string deep = text("a") + u32(9);
  for (unsigned depth = 0; depth < 6; ++depth)
    deep += u32(9) + u64(1);
  EXPECT_TRUE(contains(refusedKey(deep), "key 'a' is an array in more than 4 others"));
  EXPECT_TRUE(contains(refused(ggufBytes({countKey("a", 1), countKey("a", 1)}, {})), "key 'a' is there twice"));
  EXPECT_TRUE(contains(refused("GGUF" + u32(3) + u64(0) + u64(UINT64_MAX)), "metadata keys, expects at most 16384"));
  EXPECT_TRUE(contains(refused("GGUF" + u32(3) + u64(UINT64_MAX) + u64(0)), "tensors, expects at most 1048576"));
  for (uint64_t alignment : {0, 24, 1 << 21})
    EXPECT_TRUE(contains(refusedKey(countKey("general.alignment", alignment)), "expects a power of two up to 1048576"));
}

TEST(Gguf, RefusesWrongTensors) {
  EXPECT_TRUE(contains(refusedTensor(tensorEntry("t", {1, 1, 1, 1, 1}, 0, 0)), "has 5 dimensions, expects at most 4"));
  EXPECT_TRUE(contains(refusedTensor(tensorEntry("t", {32, 0, uint64_t(1) << 40}, 0, 0)),
                       "tensor 't' has the shape [1099511627776, 0, 32], expects no dimension of 0"));
  EXPECT_TRUE(contains(refusedTensor(tensorEntry("t", {33, 2}, 8, 0)), "has rows of 33 values, expects whole blocks"));
  EXPECT_TRUE(contains(refusedTensor(tensorEntry("t", {uint64_t(1) << 32, uint64_t(1) << 32}, 0, 0)),
                       "has the shape [4294967296, 4294967296], which is 2^64 bytes or more"));
  EXPECT_TRUE(contains(refusedTensor(tensorEntry("t", {uint64_t(1) << 62}, 0, 0)), "which is 2^64 bytes or more"));
  EXPECT_TRUE(contains(refusedTensor(tensorEntry("t", {1}, 0, 4)), "begins at 4, expects a multiple of 32"));
  EXPECT_TRUE(contains(refusedTensor(tensorEntry("t", {17}, 0, 0)), "ends behind the file: found"));
  EXPECT_TRUE(
      contains(refusedTensor(tensorEntry("t", {1}, 0, uint64_t(0) - 32)), "needs more than 2^64; the download"));
  auto twice = [](const char *other, uint64_t offset) {
    return refused(ggufBytes({}, {tensorEntry("t", {16}, 0, 0), tensorEntry(other, {8}, 0, offset)}, 128));
  };
  EXPECT_TRUE(contains(twice("t", 64), "tensor 't' is there twice"));
  EXPECT_TRUE(contains(twice("u", 32), "tensor 'u' begins at"));
  EXPECT_EQ(twice("u", 64), "no error");
}

TEST(Gguf, RefusesOtherTypesByName) {
  std::vector<std::string> tensors;
  for (auto [name, type] : {std::pair("a", 12u), {"b", 12u}, {"c", 12u}, {"d", 12u}, {"e", 23u}, {"f", 77u}, {"g", 0u}})
    tensors.push_back(tensorEntry(name, {256}, type, 0));
  EXPECT_EQ(refused(ggufBytes({}, tensors, 2048)),
            "m.gguf: it has tensors of types that are not read: Q4_K of 'a', 'b', 'c' and 1 more; IQ4_XS of 'e'; the "
            "unknown type 77 of 'f'; read are F32, F16, Q4_0, Q4_1, Q8_0, Q6_K, BF16: take the Q8_0 or the F16 file of "
            "the same model");
}

TEST(Gguf, ListsTheFirstOfManyTypes) {
  std::vector<std::string> tensors;
  for (uint32_t i = 0; i < 20000; ++i)
    tensors.push_back(tensorEntry("t" + std::to_string(i), {1}, 1000 + i, 0));
  std::string message = refused(ggufBytes({}, tensors));
  EXPECT_TRUE(contains(message, "the unknown type 1007 of 't7'; and 19992 more types; read are"));
  EXPECT_LT(message.size(), 1000u);
}

TEST(Gguf, RefusesControlCharactersInNames) {
  EXPECT_EQ(refusedKey(countKey("a\n\x1B[31m", 1)),
            "m.gguf: a metadata key is \"a\\n\\u001b[31m\", expects no control characters; the file is damaged");
  EXPECT_TRUE(
      contains(refusedTensor(tensorEntry("t\r", {1}, 0, 0)), "the name of a tensor is \"t\\u000d\", expects no"));
}

// Random damage ends in a message or in a list that stays inside the file, never in a crash.
TEST(Gguf, SurvivesDamagedHeaders) {
  std::string bytes = ggufBytes(tinyKeys(), {tensorEntry("t", {32, 3}, 8, 0), tensorEntry("u", {3}, 0, 128)}, 140);
  TestFolder folder;
  uint32_t state = 1;
  for (unsigned round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    for (unsigned i = 0; i < 3; ++i) {
      state = state * 1664525 + 1013904223;
      damaged[(state >> 8) % (bytes.size() - 140)] = static_cast<char>(state >> 24);
    }
    llvm::Expected<GgufFile> file = GgufFile::open(folder.write("m", damaged), "m");
    if (!file) {
      EXPECT_FALSE(llvm::toString(file.takeError()).empty());
      continue;
    }
    for (const GgufTensor &tensor : file->tensors())
      EXPECT_LE(tensor.offsetBytes + tensor.sizeBytes, damaged.size());
  }
}
