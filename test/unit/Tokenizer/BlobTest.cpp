// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves that broken tokenizer tables are refused, or at least never read outside of themselves (run it under ASan).
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "gtest/gtest.h"

#include <memory>

using namespace moec;

static std::vector<uint8_t> smallBlob() {
  TokenizerModel model = llvm::cantFail(readTokenizerJson(smallTokenizerJson(), "small", kSmallVocabSize));
  return llvm::cantFail(writeTokenizerBlob(model));
}

/// Opens an exact copy on the heap and, if that is allowed, uses it.
static bool opensAndRuns(const std::vector<uint8_t> &blob, size_t size) {
  std::unique_ptr<uint64_t[]> copy(new uint64_t[(size + 7) / 8 + (size == 0)]);
  std::memcpy(copy.get(), blob.data(), size);
  moert::Tokenizer tokenizer;
  if (tokenizer.open(reinterpret_cast<uint8_t *>(copy.get()), size, kSmallVocabSize))
    return false;
  TestScratch scratch;
  moert::ScratchAllocator allocator = scratch.allocator();
  int32_t ids[64];
  size_t count = 0;
  const char text[] = "abc <s><t><tt> e\xCC\x81 abab\xFF";
  tokenizer.tokenize(text, sizeof(text) - 1, MOERT_TOKENIZE_ALLOW_SPECIAL, allocator, ids, 64, &count);
  for (int32_t id = -1; id <= static_cast<int32_t>(kSmallVocabSize); ++id) {
    char bytes[64];
    size_t written = 0;
    tokenizer.detokenize(&id, 1, bytes, sizeof(bytes), &written);
  }
  return true;
}

TEST(TokenizerBlob, OpensAsWritten) {
  std::vector<uint8_t> blob = smallBlob();
  EXPECT_TRUE(opensAndRuns(blob, blob.size()));
  EXPECT_EQ(blob.size() % 8, 0u);
}

TEST(TokenizerBlob, IsTheSameEveryTime) { EXPECT_EQ(smallBlob(), smallBlob()); }

TEST(TokenizerBlob, RefusesEveryTruncation) {
  std::vector<uint8_t> blob = smallBlob();
  for (size_t size = 0; size < blob.size(); size += size < 128 ? 1 : 13)
    EXPECT_FALSE(opensAndRuns(blob, size)) << size;
}

TEST(TokenizerBlob, RefusesWrongHeaders) {
  moert::Tokenizer tokenizer;
  EXPECT_STREQ(tokenizer.open(nullptr, 100, 1), "are missing or not aligned");
  std::vector<uint8_t> blob = smallBlob();
  EXPECT_STREQ(tokenizer.open(blob.data(), blob.size(), 17), "are for another vocabulary size than the model");
  blob[0] ^= 1;
  EXPECT_STREQ(tokenizer.open(blob.data(), blob.size(), kSmallVocabSize), "do not begin with MOETOKN1");
  blob[0] ^= 1;
  blob[8] ^= 2;
  EXPECT_STREQ(tokenizer.open(blob.data(), blob.size(), kSmallVocabSize),
               "have another format version than this runtime");
}

TEST(TokenizerBlob, SurvivesEveryByteChanged) {
  std::vector<uint8_t> blob = smallBlob();
  for (size_t i = 0; i < blob.size(); ++i)
    for (uint8_t flip : {0x01, 0x80, 0xFF}) {
      blob[i] ^= flip;
      opensAndRuns(blob, blob.size());
      blob[i] ^= flip;
    }
}

TEST(TokenizerBlob, WriterRefusesInconsistentModels) {
  TokenizerModel model = llvm::cantFail(readTokenizerJson(smallTokenizerJson(), "small", kSmallVocabSize));
  TokenizerModel changed = model;
  changed.merges[0].result = 257;
  EXPECT_EQ(llvm::toString(writeTokenizerBlob(changed).takeError()),
            "model.merges[0]: the text of token 257 is not the texts of tokens 97 and 98 in one");
  changed = model;
  changed.merges[0].left = 1000;
  EXPECT_EQ(llvm::toString(writeTokenizerBlob(changed).takeError()),
            "model.merges[0]: token id 1000 is outside the 263 tokens");
  changed = model;
  changed.tokens[256].assign(5000, 'a');
  EXPECT_EQ(llvm::toString(writeTokenizerBlob(changed).takeError()),
            "the token with id 256 has 5000 bytes, at most 4096 are supported");
  changed = model;
  changed.vocabSize = 10;
  EXPECT_EQ(llvm::toString(writeTokenizerBlob(changed).takeError()),
            "the tokenizer has 263 tokens, but the model's vocab_size is 10");
}
