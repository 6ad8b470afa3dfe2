// SPDX-License-Identifier: Apache-2.0
/// \file
/// tokenizer.json through the reader, the writer of the tables, and the runtime that uses them.
#include "test/fuzz/Targets.h"

#include "lib/Tokenizer/TokenizerJson.h"
#include "runtime/tokenizer/Chat.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <cstring>

namespace moec::fuzz {

namespace {

constexpr uint32_t kVocabSize = 320;

moert::ScratchAllocator heap() {
  return {nullptr, [](void *, size_t sizeBytes) { return std::malloc(sizeBytes); },
          [](void *, void *block, size_t) { std::free(block); }};
}

/// Tokenizes `text` in both modes, decodes the ids, and compares where the round trip is exact.
void useTokenizer(const moert::Tokenizer &tokenizer, llvm::StringRef text, bool isExact) {
  moert::ScratchAllocator allocator = heap();
  for (uint32_t flags : {0u, uint32_t(MOERT_TOKENIZE_ALLOW_SPECIAL)}) {
    size_t count = 0, written = 0, sizeBytes = 0;
    expect(tokenizer.tokenize(text.data(), text.size(), flags, allocator, nullptr, 0, &count) == MOERT_STATUS_OK,
           "tokenize refuses a text");
    std::vector<int32_t> ids(count);
    tokenizer.tokenize(text.data(), text.size(), flags, allocator, ids.data(), ids.size(), &written);
    expect(written == count, "tokenize counts differently the second time");
    expect(tokenizer.detokenize(ids.data(), ids.size(), nullptr, 0, &sizeBytes) == MOERT_STATUS_OK,
           "detokenize refuses ids that tokenize gave");
    std::string decoded(sizeBytes, '\0');
    tokenizer.detokenize(ids.data(), ids.size(), decoded.data(), decoded.size(), &sizeBytes);
    expect(!isExact || decoded == text, "the ids of a text decode to another text");
  }
  if (tokenizer.chat()) {
    const moert_message messages[] = {{"system", text.data(), text.size()}, {"user", text.data(), text.size()}};
    moert::ChatProblem problem;
    size_t count = 0;
    moert::chatToIds(tokenizer, messages, 2, MOERT_CHAT_GENERATE, allocator, nullptr, 0, &count, problem);
  }
  for (int32_t id : {-1, 0, 255, 256, 319, 320, INT32_MAX, INT32_MIN}) {
    size_t sizeBytes = 0;
    char bytes[8];
    tokenizer.detokenize(&id, 1, bytes, sizeof(bytes), &sizeBytes);
  }
}

/// The tables stand 8-byte aligned in a model, and no byte behind them may be read.
class Tables {
public:
  explicit Tables(Bytes bytes) : size(bytes.size()), data(static_cast<uint8_t *>(std::aligned_alloc(8, round(size)))) {
    // At the end of the block, if the size allows it: then a read beyond them is seen.
    std::memcpy(data, bytes.data(), size);
  }
  ~Tables() { std::free(data); }
  const char *open(moert::Tokenizer &tokenizer) { return tokenizer.open(data, size, kVocabSize); }

private:
  static size_t round(size_t bytes) { return (bytes + 8) / 8 * 8; }
  size_t size;
  uint8_t *data;
};

} // namespace

void fuzzTokenizer(Bytes input) {
  auto [json, text] = splitAtZero(input);
  if (json.starts_with(llvm::StringRef(MOETOK_MAGIC, 8))) {
    Tables tables(input);
    moert::Tokenizer tokenizer;
    if (!tables.open(tokenizer))
      useTokenizer(tokenizer, "ab  a'll\n\xC3\xA9<s>\xFF 12", false);
    return;
  }
  if (json.starts_with("{%") || json.starts_with("{{") || json.starts_with("{#")) {
    ChatTemplate chat = recognizeChatTemplate(json, {"<s>", "<t>"});
    expect(chat.isSupported || !chat.texts[MOERT_CHAT_REASON].empty(), "a template is refused without a reason");
    return;
  }
  llvm::Expected<TokenizerModel> model = readTokenizerJson(json, "tokenizer.json", kVocabSize);
  if (!model)
    return expectMessage(model.takeError());
  llvm::Expected<std::vector<uint8_t>> blob = writeTokenizerBlob(*model);
  if (!blob)
    return expectMessage(blob.takeError());
  Tables tables(*blob);
  moert::Tokenizer tokenizer;
  expect(!tables.open(tokenizer), "the runtime refuses tables that the compiler wrote");
  bool isExact = !model->normalizeNfc && !llvm::is_contained(model->byteIds, MOETOK_NO_TOKEN) &&
                 llvm::none_of(model->added, [](const AddedToken &token) { return token.lstrip || token.rstrip; });
  useTokenizer(tokenizer, text, isExact);
}

} // namespace moec::fuzz
