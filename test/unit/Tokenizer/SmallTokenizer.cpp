// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tokenizer of the tests.
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "lib/Support/Json.h"
#include "runtime/text/Utf8.h"

#include "gtest/gtest.h"

#include <cstdlib>

namespace moec {

/// The code point that stands for a byte, as GPT-2 has it.
static std::string byteLevel(unsigned byte) {
  auto printable = [](unsigned b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; };
  unsigned code = byte;
  if (!printable(byte)) {
    code = 0x100;
    for (unsigned b = 0; b < byte; ++b)
      code += !printable(b);
  }
  uint8_t bytes[4];
  uint32_t size = moert::encodeCodePoint(code, bytes);
  return std::string(reinterpret_cast<char *>(bytes), size);
}

std::string smallTokenizerJson() {
  JsonObject vocab;
  for (unsigned byte = 0; byte < 256; ++byte)
    vocab.set(byteLevel(byte), byte);
  vocab.set("ab", 256).set("abc", 257).set("bc", 258).set(byteLevel(' ') + "a", 259);
  std::string json = R"({"added_tokens": [{"id": 260, "content": "<s>", "special": true, "normalized": false},
      {"id": 261, "content": "<t>", "special": false, "normalized": false},
      {"id": 262, "content": "<tt>", "special": false, "normalized": false}],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|)"
                     R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
    "decoder": {"type": "ByteLevel"}, "post_processor": null,
    "model": {"type": "BPE", "dropout": null, "ignore_merges": false, "byte_fallback": false,
      "merges": ["a b", ["b", "c"], "ab c", "SPACE a"], "vocab": )";
  return replaced(json, "SPACE", byteLevel(' ')) + writeJson(vocab, 0) + "}}";
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

moert::ScratchAllocator TestScratch::allocator() {
  auto allocate = [](void *user, size_t sizeBytes) -> void * {
    auto &self = *static_cast<TestScratch *>(user);
    if (++self.numBlocks >= self.failAt && self.failAt != 0)
      return nullptr;
    self.liveBytes += sizeBytes;
    self.peakBytes = std::max(self.peakBytes, self.liveBytes);
    return std::malloc(sizeBytes);
  };
  auto release = [](void *user, void *block, size_t sizeBytes) {
    static_cast<TestScratch *>(user)->liveBytes -= sizeBytes;
    std::free(block);
  };
  return {this, allocate, release};
}

OpenedTokenizer::OpenedTokenizer(std::vector<uint8_t> blob, uint32_t vocabSize) : storage((blob.size() + 7) / 8) {
  std::memcpy(storage.data(), blob.data(), blob.size());
  const char *problem = tokenizer.open(reinterpret_cast<uint8_t *>(storage.data()), blob.size(), vocabSize);
  EXPECT_EQ(problem, nullptr) << problem;
}

std::vector<int32_t> OpenedTokenizer::tokenize(llvm::StringRef text, uint32_t flags) {
  size_t count = 0;
  moert::ScratchAllocator allocator = scratch.allocator();
  EXPECT_EQ(tokenizer.tokenize(text.data(), text.size(), flags, allocator, nullptr, 0, &count), MOERT_STATUS_OK);
  std::vector<int32_t> ids(count);
  EXPECT_EQ(tokenizer.tokenize(text.data(), text.size(), flags, allocator, ids.data(), count, &count), MOERT_STATUS_OK);
  EXPECT_EQ(count, ids.size());
  EXPECT_EQ(scratch.liveBytes, 0u);
  return ids;
}

std::string OpenedTokenizer::detokenize(const std::vector<int32_t> &ids) {
  size_t size = 0;
  EXPECT_EQ(tokenizer.detokenize(ids.data(), ids.size(), nullptr, 0, &size), MOERT_STATUS_OK);
  std::string text(size, '\0');
  EXPECT_EQ(tokenizer.detokenize(ids.data(), ids.size(), text.data(), size, &size), MOERT_STATUS_OK);
  return text;
}

OpenedTokenizer openSmallTokenizer() {
  llvm::Expected<TokenizerModel> model = readTokenizerJson(smallTokenizerJson(), "small", kSmallVocabSize);
  if (!model)
    ADD_FAILURE() << llvm::toString(model.takeError());
  return OpenedTokenizer(llvm::cantFail(writeTokenizerBlob(*model)), kSmallVocabSize);
}

} // namespace moec
