// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tokenizer of a few tokens for tests, as tokenizer.json and opened, and scratch memory that can fail.
#ifndef TEST_UNIT_TOKENIZER_SMALLTOKENIZER_H
#define TEST_UNIT_TOKENIZER_SMALLTOKENIZER_H

#include "lib/Tokenizer/TokenizerJson.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <string>
#include <vector>

namespace moec {

/// The 256 bytes (ids 0 to 255), then "ab" 256, "abc" 257, "bc" 258, " a" 259; added: "<s>" 260 special, "<t>" 261,
/// "<tt>" 262. Merges: a+b, b+c, ab+c, space+a, in this order. `vocabSize` 264 has padding. NFC.
std::string smallTokenizerJson();
constexpr uint32_t kSmallVocabSize = 264;

/// The text with the first `from` replaced.
std::string replaced(std::string text, const std::string &from, const std::string &to);

/// Counts blocks; the one with number `failAt` (from 1) and all later ones are refused; 0 refuses none.
class TestScratch {
public:
  moert::ScratchAllocator allocator();
  size_t failAt = 0;
  size_t numBlocks = 0;
  size_t liveBytes = 0;
  size_t peakBytes = 0;
};

/// A blob with its tokenizer.
class OpenedTokenizer {
public:
  explicit OpenedTokenizer(std::vector<uint8_t> blob, uint32_t vocabSize);
  std::vector<int32_t> tokenize(llvm::StringRef text, uint32_t flags = 0);
  std::string detokenize(const std::vector<int32_t> &ids);

  TestScratch scratch;
  moert::Tokenizer tokenizer;

private:
  std::vector<uint64_t> storage; // 8-byte aligned
};

OpenedTokenizer openSmallTokenizer();

} // namespace moec
#endif
