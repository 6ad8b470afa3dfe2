// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves NFC on the cases of UAX 15: composition, exclusion, singletons, order of marks, Hangul, ill-formed bytes.
#include "runtime/tokenizer/Normalize.h"
#include "runtime/tokenizer/Unicode.h"
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "gtest/gtest.h"

using namespace moec;

static std::string nfc(const std::string &text) {
  TestScratch scratch;
  moert::ScratchAllocator allocator = scratch.allocator();
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(text.data());
  size_t size = 0;
  EXPECT_TRUE(moert::normalizeNfc(bytes, text.size(), allocator, nullptr, &size));
  std::string out(size, '\0');
  EXPECT_TRUE(moert::normalizeNfc(bytes, text.size(), allocator, reinterpret_cast<uint8_t *>(out.data()), &size));
  return out;
}

static bool isSurelyNfc(const std::string &text) {
  return moert::isSurelyNfc(reinterpret_cast<const uint8_t *>(text.data()), text.size());
}

TEST(Normalize, KeepsWhatIsNormal) {
  for (const char *text : {"", "abc", "\u00e9t\u00e9", "\uac00\uac01", "\U0001F44D\U0001F3FD"}) {
    EXPECT_EQ(nfc(text), text);
    EXPECT_TRUE(isSurelyNfc(text));
  }
}

TEST(Normalize, Composes) {
  EXPECT_EQ(nfc("e\u0301"), "\u00e9");
  EXPECT_EQ(nfc("E\u0323\u0302"), "\u1ec6");
  EXPECT_EQ(nfc("E\u0302\u0323"), "\u1ec6");
  EXPECT_FALSE(isSurelyNfc("e\u0301"));
}

TEST(Normalize, ReplacesSingletons) {
  EXPECT_EQ(nfc("\u212b\u2126"), "\u00c5\u03a9");
  EXPECT_EQ(nfc("\uf900"), "\u8c48");
}

TEST(Normalize, KeepsCompositionExclusionsApart) {
  // U+0958 is excluded from composition; U+1E9B U+0323 keeps its long s.
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");
  EXPECT_EQ(nfc("\u1e9b\u0323"), "\u1e9b\u0323");
}

TEST(Normalize, OrdersMarks) {
  // Classes 230 and 220: the lower one comes first; equal classes keep their order.
  EXPECT_EQ(nfc("x\u0301\u0323"), "x\u0323\u0301");
  EXPECT_EQ(nfc("x\u0301\u0300"), "x\u0301\u0300");
}

TEST(Normalize, ComposesHangul) {
  EXPECT_EQ(nfc("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(nfc("\uac00\u11a8"), "\uac01");
  EXPECT_EQ(nfc("\u1161\u1100"), "\u1161\u1100");
}

TEST(Normalize, OrdersLongRunsAsShortOnes) {
  // 100 marks of class 230 among 100 of class 220: the counting sort is stable, too.
  std::string mixed = "x", low, high;
  for (int i = 0; i < 100; ++i) {
    mixed += "\u0308\u0323";
    low += "\u0323";
    high += "\u0308";
  }
  // U+1E8D is x with U+0308; marks of a lower class in between do not block it, so it takes the first U+0308.
  EXPECT_EQ(nfc(mixed), "\u1e8d" + low + high.substr(2));
  EXPECT_EQ(nfc(mixed), nfc("x" + high + low));
}

TEST(Normalize, KeepsIllFormedBytes) {
  EXPECT_EQ(nfc("e\xFF\u0301"), "e\xFF\u0301");
  EXPECT_EQ(nfc("\xED\xA0\x80\xC0\x80\xE2\x82"), "\xED\xA0\x80\xC0\x80\xE2\x82");
}

TEST(Normalize, ReportsRefusedMemory) {
  std::string text = "x";
  for (int i = 0; i < 1000; ++i)
    text += "\u0308\u0323";
  for (size_t failAt = 1; failAt <= 3; ++failAt) {
    TestScratch scratch;
    scratch.failAt = failAt;
    moert::ScratchAllocator allocator = scratch.allocator();
    size_t size = 0;
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(text.data());
    EXPECT_FALSE(moert::normalizeNfc(bytes, text.size(), allocator, nullptr, &size));
    EXPECT_EQ(scratch.liveBytes, 0u);
  }
}

TEST(Unicode, ClassifiesCodePoints) {
  using moert::CharacterClass;
  EXPECT_EQ(moert::classOf('a'), CharacterClass::Letter);
  EXPECT_EQ(moert::classOf(0x6F22), CharacterClass::Letter);
  EXPECT_EQ(moert::classOf(0x663), CharacterClass::Number);
  EXPECT_EQ(moert::classOf(0xBD), CharacterClass::Number);
  EXPECT_EQ(moert::classOf(0x301), CharacterClass::Mark);
  EXPECT_EQ(moert::classOf(0x85), CharacterClass::Space);
  EXPECT_EQ(moert::classOf(0x200B), CharacterClass::Symbol);
  EXPECT_EQ(moert::classOf(0x1F44D), CharacterClass::Symbol);
  EXPECT_EQ(moert::classOf(0x10FFFF), CharacterClass::Symbol);
  EXPECT_EQ(moert::classOf(0x110000 + 0xFF), CharacterClass::Symbol);
}
