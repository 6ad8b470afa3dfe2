// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves tokenizing and detokenizing: added tokens, ill-formed text, capacity, refused memory, bounds.
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "gtest/gtest.h"

#include <random>

using namespace moec;
using Ids = std::vector<int32_t>;

TEST(Tokenize, MergesByRank) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  EXPECT_EQ(tokenizer.tokenize("abc"), (Ids{257}));
  EXPECT_EQ(tokenizer.tokenize("bc"), (Ids{258}));
  // " abc" is one word: a+b has rank 0 and goes before space+a.
  EXPECT_EQ(tokenizer.tokenize(" abc"), (Ids{' ', 257}));
  EXPECT_EQ(tokenizer.tokenize(" aab"), (Ids{259, 256}));
}

TEST(Tokenize, TakesSpecialTokensOnlyWhenAllowed) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  EXPECT_EQ(tokenizer.tokenize("<s>"), (Ids{'<', 's', '>'}));
  EXPECT_EQ(tokenizer.tokenize("ab<s>ab", MOERT_TOKENIZE_ALLOW_SPECIAL), (Ids{256, 260, 256}));
}

TEST(Tokenize, TakesTheLongestAddedToken) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  EXPECT_EQ(tokenizer.tokenize("<tt><t><t"), (Ids{262, 261, '<', 't'}));
}

TEST(Tokenize, CutsTextAtAddedTokens) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  // Without the token "ab c" would be "ab", " c"; white space before a token ends its stretch.
  EXPECT_EQ(tokenizer.tokenize("a<t>bc"), (Ids{'a', 261, 258}));
  EXPECT_EQ(tokenizer.tokenize("<t>  <t>"), (Ids{261, ' ', ' ', 261}));
}

TEST(Tokenize, NormalizesText) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  EXPECT_EQ(tokenizer.tokenize("e\u0301"), (Ids{0xC3, 0xA9}));
}

TEST(Tokenize, KeepsIllFormedBytes) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  EXPECT_EQ(tokenizer.tokenize("ab\xFF\xC3"), (Ids{256, 0xFF, 0xC3}));
  EXPECT_EQ(tokenizer.tokenize(llvm::StringRef("\0", 1)), (Ids{0}));
  EXPECT_EQ(tokenizer.tokenize(llvm::StringRef("ab\0ab", 5)), (Ids{256, 0, 256}));
}

TEST(Tokenize, TakesAMegabyteOfLineEnds) {
  // One word, since the pattern cuts between no two line ends; the time must not grow with its square.
  OpenedTokenizer tokenizer = openSmallTokenizer();
  std::string text(1 << 20, '\n');
  EXPECT_EQ(tokenizer.tokenize(text), Ids(1 << 20, '\n'));
}

TEST(Tokenize, ReturnsEveryTextThatIsNormal) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (unsigned i = random() % 40; i > 0; --i)
      text += static_cast<char>(random() % 4 == 0 ? random() % 256 : "abc <t>\n"[random() % 8]);
    // A random pair of bytes can be a mark; those texts are not their own normal form.
    if (text.find_first_of("\xCC\xCD\xE0\xE1\xE2\xE3\xEA\xEF\xF0") == std::string::npos) {
      EXPECT_EQ(tokenizer.detokenize(tokenizer.tokenize(text)), text);
    }
  }
}

TEST(Tokenize, CountsBeyondTheCapacity) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  moert::ScratchAllocator allocator = tokenizer.scratch.allocator();
  int32_t ids[3] = {-7, -7, -7};
  size_t count = 0;
  EXPECT_EQ(tokenizer.tokenizer.tokenize("xyz", 3, 0, allocator, ids, 2, &count), MOERT_STATUS_OK);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(ids[1], 'y');
  EXPECT_EQ(ids[2], -7);
}

TEST(Tokenize, ReportsRefusedMemory) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  std::string text = std::string(1000, 'x') + "e\u0301" + std::string(1000, 'y');
  tokenizer.tokenize(text);
  size_t numBlocks = tokenizer.scratch.numBlocks / 2;
  ASSERT_GT(numBlocks, 1u);
  for (size_t failAt = 1; failAt <= numBlocks; ++failAt) {
    TestScratch scratch;
    scratch.failAt = failAt;
    moert::ScratchAllocator allocator = scratch.allocator();
    size_t count = 0;
    EXPECT_EQ(tokenizer.tokenizer.tokenize(text.data(), text.size(), 0, allocator, nullptr, 0, &count),
              MOERT_STATUS_NO_MEMORY);
    EXPECT_EQ(scratch.liveBytes, 0u);
  }
}

TEST(Tokenize, NeedsNoMemoryForOrdinaryText) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "an ordinary line with caf\u00e9.\n";
  tokenizer.tokenize(text);
  EXPECT_EQ(tokenizer.scratch.numBlocks, 0u);
}

TEST(Detokenize, GivesNothingForPadding) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  EXPECT_EQ(tokenizer.detokenize({257, 263, 260}), "abc<s>");
}

TEST(Detokenize, RefusesIdsOutsideTheVocabulary) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  for (int32_t bad : {-1, 264, INT32_MAX, INT32_MIN}) {
    int32_t ids[2] = {1, bad};
    size_t size = 0;
    EXPECT_EQ(tokenizer.tokenizer.detokenize(ids, 2, nullptr, 0, &size), MOERT_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(size, 1u);
  }
}

/// The small tokenizer with flags set on "<t>" (261).
static OpenedTokenizer openFlagged(const std::string &flags) {
  std::string json = replaced(smallTokenizerJson(), R"("content": "<t>", "special": false, "normalized": false)",
                              R"("content": "<t>", "special": false, )" + flags);
  TokenizerModel model = llvm::cantFail(readTokenizerJson(json, "small", kSmallVocabSize));
  return OpenedTokenizer(llvm::cantFail(writeTokenizerBlob(model)), kSmallVocabSize);
}

TEST(Tokenize, StripsWhiteSpaceAroundAddedTokens) {
  OpenedTokenizer both = openFlagged(R"("lstrip": true, "rstrip": true)");
  EXPECT_EQ(both.tokenize("x \n\u3000<t>\t y"), (std::vector<int32_t>{'x', 261, 'y'}));
  EXPECT_EQ(both.tokenize("  <t> <t>  "), (std::vector<int32_t>{261, 261}));
  OpenedTokenizer left = openFlagged(R"("lstrip": true)");
  EXPECT_EQ(left.tokenize(" <t> "), (std::vector<int32_t>{261, ' '}));
}

TEST(Tokenize, TakesASingleWordOnly) {
  OpenedTokenizer single = openFlagged(R"("single_word": true)");
  EXPECT_EQ(single.tokenize("<t>"), (std::vector<int32_t>{261}));
  EXPECT_EQ(single.tokenize("-<t>!"), (std::vector<int32_t>{'-', 261, '!'}));
  for (const char *text : {"a<t>", "<t>1", "_<t>", "\u00e9<t>", "<t>\u0301"})
    EXPECT_EQ(single.detokenize(single.tokenize(text)), text);
  EXPECT_EQ(single.tokenize("q<t>"), (std::vector<int32_t>{'q', '<', 't', '>'}));
}

TEST(Tokenize, FindsNormalizedTokensInNormalizedText) {
  // The mark composes with the bracket, so there is no "<t>" in the normalized text.
  OpenedTokenizer normalized = openFlagged(R"("normalized": true)");
  EXPECT_EQ(normalized.tokenize("<t>\u0338x").front(), '<');
  EXPECT_EQ(openSmallTokenizer().tokenize("<t>\u0338x").front(), 261);
  EXPECT_EQ(normalized.tokenize("<t>x"), (std::vector<int32_t>{261, 'x'}));
}

TEST(Tokenize, KeepsWhatIsNoUtf8) {
  OpenedTokenizer tokenizer = openSmallTokenizer();
  // A byte that begins nothing, a cut code point, an overlong form, a surrogate, a code point beyond the last.
  for (const std::string &text : {std::string("\xFF"), std::string("a\xE4\xB8"), std::string("\xC0\xAF b"),
                                  std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80 12\xFE\xFF ab")})
    EXPECT_EQ(tokenizer.detokenize(tokenizer.tokenize(text)), text);
}
