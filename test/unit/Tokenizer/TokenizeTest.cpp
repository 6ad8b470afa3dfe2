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
