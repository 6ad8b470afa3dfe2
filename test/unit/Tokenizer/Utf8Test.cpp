// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves that text leaves in whole code points, whatever the pieces it comes in.
#include "runtime/text/Utf8.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

using namespace moert;

static std::string push(Utf8Assembler &assembler, const std::string &bytes) {
  std::string out(Utf8Assembler::capacityFor(bytes.size()), '\0');
  out.resize(assembler.push(bytes.data(), bytes.size(), out.data()));
  return out;
}

static std::string finish(Utf8Assembler &assembler) {
  char out[3];
  return std::string(out, assembler.finish(out));
}

/// The text that comes out when `bytes` go in by pieces of `pieceBytes`.
static std::string assembled(const std::string &bytes, size_t pieceBytes) {
  Utf8Assembler assembler;
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += pieceBytes)
    text += push(assembler, bytes.substr(at, pieceBytes));
  return text + finish(assembler);
}

TEST(Utf8Assembler, HoldsBackWhatIsNotWhole) {
  Utf8Assembler assembler;
  EXPECT_EQ(push(assembler, "a\xF0\x9F"), "a");
  EXPECT_TRUE(assembler.hasPending());
  EXPECT_EQ(push(assembler, "\x91"), "");
  EXPECT_EQ(push(assembler, "\x8D!"), "\U0001F44D!");
  EXPECT_FALSE(assembler.hasPending());
  EXPECT_EQ(finish(assembler), "");
}

TEST(Utf8Assembler, ReplacesWhatCannotBecomeWhole) {
  EXPECT_EQ(assembled("\xFF", 1), "\uFFFD");
  EXPECT_EQ(assembled("\x80z", 1), "\uFFFDz");
  EXPECT_EQ(assembled("\xE2\x82z", 1), "\uFFFDz");
  EXPECT_EQ(assembled("\xC3\xC3\xA9", 1), "\uFFFD\u00e9");
  // Overlong, surrogate and too large: the second byte already proves it.
  EXPECT_EQ(assembled("\xC0\x80", 1), "\uFFFD\uFFFD");
  EXPECT_EQ(assembled("\xED\xA0\x80", 1), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(assembled("\xF4\x90\x80\x80", 1), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(Utf8Assembler, ReplacesAPrefixAtTheEnd) { EXPECT_EQ(assembled("ok\xF0\x9F\x91", 4), "ok\uFFFD"); }

TEST(Utf8Assembler, DoesNotDependOnThePieces) {
  const std::string bytes = "a\u00e9\u6f22\U0001F44D\xF0\x9F\xFF\xE2\x82\xE2\x82\xAC";
  std::string whole = assembled(bytes, bytes.size());
  for (size_t pieceBytes = 1; pieceBytes < bytes.size(); ++pieceBytes)
    EXPECT_EQ(assembled(bytes, pieceBytes), whole);
}

TEST(Utf8, DecodesWhatItEncodes) {
  for (uint32_t code = 0; code <= 0x10FFFF; code += code < 0x11000 ? 1 : 97) {
    uint8_t bytes[4];
    uint32_t size = encodeCodePoint(code, bytes);
    CodePoint point = decodeCodePoint(bytes, size);
    if (code >= 0xD800 && code <= 0xDFFF)
      EXPECT_EQ(point.code, kInvalidByte + 0xED);
    else
      EXPECT_TRUE(point.code == code && point.length == size) << code;
  }
}
