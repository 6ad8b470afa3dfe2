// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program of the tests: texts as lines of JSON from stdin, their token ids as lines of JSON to stdout, in the way of
/// the compiler (tokenizer.json to tables) and the runtime (tables to ids). Fails where the ids of a text decode to one
/// with another Normalization Form C (--lossy: does not look).
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "lib/Support/Json.h"
#include "runtime/tokenizer/Normalize.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>

using namespace moec;

namespace {

[[noreturn]] void stop(const std::string &text) {
  std::fprintf(stderr, "tokenize-texts: %s\n", text.c_str());
  std::exit(1);
}

std::string normalized(const std::string &text, const moert::ScratchAllocator &allocator) {
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(text.data());
  size_t size = 0;
  moert::normalizeNfc(bytes, text.size(), allocator, nullptr, &size);
  std::string out(size, '\0');
  moert::normalizeNfc(bytes, text.size(), allocator, reinterpret_cast<uint8_t *>(out.data()), &size);
  return out;
}

void tokenizeLine(OpenedTokenizer &tokenizer, const std::string &line, uint32_t flags, bool isLossy) {
  Json value = llvm::cantFail(parseJson(line, "stdin"));
  const std::string *text = value.asString();
  if (!text)
    stop("expected a JSON string in each line");
  std::vector<int32_t> ids = tokenizer.tokenize(*text, flags);
  moert::ScratchAllocator allocator = tokenizer.scratch.allocator();
  std::string decoded = tokenizer.detokenize(ids);
  if (!isLossy && decoded != *text && normalized(decoded, allocator) != normalized(*text, allocator))
    stop("the ids of " + line + " decode to another text");
  std::string out = "[";
  for (int32_t id : ids)
    out += (out.size() == 1 ? "" : ",") + std::to_string(id);
  std::puts((out + "]").c_str());
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    stop("usage: tokenize-texts TOKENIZER.json VOCAB_SIZE [--special] [--add] [--lossy] < TEXTS");
  uint32_t vocabSize = static_cast<uint32_t>(std::atoi(argv[2])), flags = 0;
  bool isLossy = false;
  for (int i = 3; i < argc; ++i) {
    llvm::StringRef flag = argv[i];
    flags |= flag == "--special" ? MOERT_TOKENIZE_ALLOW_SPECIAL : flag == "--add" ? MOERT_TOKENIZE_ADD_SPECIAL : 0;
    isLossy = isLossy || flag == "--lossy";
  }
  llvm::Expected<std::vector<uint8_t>> blob = buildTokenizerBlob(argv[1], vocabSize);
  if (!blob)
    stop(llvm::toString(blob.takeError()));
  OpenedTokenizer tokenizer(*blob, vocabSize);
  for (std::string line; std::getline(std::cin, line);)
    tokenizeLine(tokenizer, line, flags, isLossy);
  return 0;
}
