// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves that words are cut as the regex cuts them. Expected words were read off the regex by hand; GoldenTest
/// compares with an independent regex engine.
#include "runtime/tokenizer/Pretokenize.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

using Words = std::vector<std::string>;

static Words wordsOf(const std::string &text, moetok_pattern pattern = MOETOK_PATTERN_QWEN2) {
  Words words;
  for (size_t at = 0; at < text.size();) {
    size_t size = moert::nextWord(pattern, reinterpret_cast<const uint8_t *>(text.data()) + at, text.size() - at);
    EXPECT_GT(size, 0u);
    words.push_back(text.substr(at, size));
    at += size;
  }
  return words;
}

TEST(Pretokenize, TakesOneCharacterBeforeLetters) {
  EXPECT_EQ(wordsOf("Hello world"), (Words{"Hello", " world"}));
  EXPECT_EQ(wordsOf("(a)b\tc"), (Words{"(a", ")b", "\tc"}));
  EXPECT_EQ(wordsOf("\na\r\nb"), (Words{"\n", "a", "\r\n", "b"}));
}

TEST(Pretokenize, CutsContractions) {
  EXPECT_EQ(wordsOf("don't I'LL we've"), (Words{"don", "'t", " I", "'LL", " we", "'ve"}));
  EXPECT_EQ(wordsOf("it'sx"), (Words{"it", "'s", "x"}));
  EXPECT_EQ(wordsOf("'xyz"), (Words{"'xyz"}));
  EXPECT_EQ(wordsOf("'r"), (Words{"'r"}));
  EXPECT_EQ(wordsOf("'\u017fa"), (Words{"'\u017f", "a"}));
}

TEST(Pretokenize, CutsEachNumber) {
  EXPECT_EQ(wordsOf("a12 3"), (Words{"a", "1", "2", " ", "3"}));
  EXPECT_EQ(wordsOf("\u0663\u00bd"), (Words{"\u0663", "\u00bd"}));
}

TEST(Pretokenize, TakesLineEndsBehindSymbols) {
  EXPECT_EQ(wordsOf("!?\n\r\n x"), (Words{"!?\n\r\n", " x"}));
  EXPECT_EQ(wordsOf(" ...a"), (Words{" ...", "a"}));
  EXPECT_EQ(wordsOf("  ..."), (Words{" ", " ..."}));
}

TEST(Pretokenize, SplitsWhiteSpace) {
  EXPECT_EQ(wordsOf("a   b"), (Words{"a", "  ", " b"}));
  EXPECT_EQ(wordsOf("a  1"), (Words{"a", " ", " ", "1"}));
  EXPECT_EQ(wordsOf("a   "), (Words{"a", "   "}));
  EXPECT_EQ(wordsOf("  \n \n  a"), (Words{"  \n \n", " ", " a"}));
  EXPECT_EQ(wordsOf(" \u3000\u3000!"), (Words{" \u3000", "\u3000", "!"}));
}

TEST(Pretokenize, MarksAreLettersOnlyInQwen35) {
  EXPECT_EQ(wordsOf("a\u0301b"), (Words{"a", "\u0301b"}));
  EXPECT_EQ(wordsOf("a\u0301b", MOETOK_PATTERN_QWEN35), (Words{"a\u0301b"}));
  EXPECT_EQ(wordsOf("1\u0301"), (Words{"1", "\u0301"}));
  EXPECT_EQ(wordsOf("!\u0301", MOETOK_PATTERN_QWEN35), (Words{"!\u0301"}));
  EXPECT_EQ(wordsOf("\u0301!", MOETOK_PATTERN_QWEN35), (Words{"\u0301", "!"}));
}

TEST(Pretokenize, IllFormedBytesAreSymbols) {
  EXPECT_EQ(wordsOf("a\xFF\xFE b"), (Words{"a", "\xFF\xFE", " b"}));
  EXPECT_EQ(wordsOf("\xE2\x82"), (Words{"\xE2\x82"}));
  EXPECT_EQ(wordsOf("\xFFz"), (Words{"\xFFz"}));
}
