// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program of the tests: what the compiler makes of a chat template. Arguments: the template's file, bos_token and
/// eos_token. Stdin: conversations as lines of JSON, {"messages": [{"role", "content"}, ...], "opening": "none",
/// "default", "on" or "off"}. Stdout: their texts as lines of JSON, null where a conversation is refused. Exit code 3
/// and the reason on stderr where the template is not supported.
#include "lib/Support/Json.h"
#include "lib/Tokenizer/ChatTemplate.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cstdio>
#include <iostream>

using namespace moec;

namespace {

moert_chat_span spanOf(const Json *value) {
  const std::string *text = value ? value->asString() : nullptr;
  return text ? moert_chat_span{text->data(), text->size()} : moert_chat_span{"", 0};
}

void renderLine(const moert_chat_format &format, const std::string &line) {
  Json value = llvm::cantFail(parseJson(line, "stdin"));
  std::vector<moert_chat_turn> turns;
  for (const Json &message : *value.asObject()->find("messages")->asArray())
    turns.push_back({spanOf(message.asObject()->find("role")), spanOf(message.asObject()->find("content"))});
  const std::string &opening = *value.asObject()->find("opening")->asString();
  uint32_t generate = opening == "none"      ? MOERT_CHAT_NUM_TEXTS
                      : opening == "default" ? MOERT_CHAT_GENERATE
                      : opening == "on"      ? MOERT_CHAT_GENERATE_ON
                                             : MOERT_CHAT_GENERATE_OFF;
  std::string text;
  moert_chat_sink sink = {&text, [](void *user, moert_chat_span piece, int) {
                            static_cast<std::string *>(user)->append(piece.data, piece.size);
                          }};
  size_t index = 0;
  bool isRefused = moert_chat_render(&format, turns.data(), turns.size(), generate, &sink, &index);
  std::puts(isRefused ? "null" : writeJson(Json(text), 0).c_str());
}

} // namespace

int main(int argc, char **argv) {
  auto file = argc == 4 ? llvm::MemoryBuffer::getFile(argv[1]) : std::make_error_code(std::errc::invalid_argument);
  if (!file) {
    std::fprintf(stderr, "usage: chat-texts TEMPLATE BOS EOS < CONVERSATIONS\n");
    return 1;
  }
  ChatTemplate recognized = recognizeChatTemplate((*file)->getBuffer(), {argv[2], argv[3]});
  if (!recognized.isSupported) {
    std::fprintf(stderr, "%s\n", recognized.texts[MOERT_CHAT_REASON].c_str());
    return 3;
  }
  moert_chat_format format = recognized.format();
  for (std::string line; std::getline(std::cin, line);)
    renderLine(format, line);
  return 0;
}
