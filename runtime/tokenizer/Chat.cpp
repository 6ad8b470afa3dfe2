// SPDX-License-Identifier: Apache-2.0
/// \file
/// The text of a chat, with the ranges that a user wrote, and its tokens. Part of the run step.
#include "runtime/tokenizer/Chat.h"

namespace moert {

namespace {

/// Counts, and where there is room writes, the text and the ranges that are not trusted.
struct ChatText {
  char *text = nullptr;
  TextRange *ranges = nullptr;
  size_t size = 0, numRanges = 0;

  static void write(void *user, moert_chat_span piece, int isTrusted) {
    ChatText &self = *static_cast<ChatText *>(user);
    if (piece.size == 0)
      return;
    if (self.text)
      memcpy(self.text + self.size, piece.data, piece.size);
    if (!isTrusted) {
      if (self.ranges)
        self.ranges[self.numRanges] = {self.size, self.size + piece.size};
      ++self.numRanges;
    }
    self.size += piece.size;
  }
};

/// Whether the texts together are short enough for a call of `tokenize`.
bool isShort(const moert_message *messages, size_t numMessages) {
  size_t room = INT32_MAX / 2;
  for (size_t i = 0; i < numMessages; ++i) {
    // A template adds less than this to a message.
    constexpr size_t kOverhead = 4096;
    if (messages[i].content_bytes > room || room - messages[i].content_bytes < kOverhead)
      return false;
    room -= messages[i].content_bytes + kOverhead;
  }
  return true;
}

moert_chat_format formatOf(const Tokenizer &tokenizer) {
  moert_chat_format format = {tokenizer.chat()->flags, tokenizer.chat()->history, {}};
  for (uint32_t i = 0; i < MOERT_CHAT_NUM_TEXTS; ++i)
    format.texts[i] = tokenizer.chatText(i);
  return format;
}

} // namespace

moert_status chatToIds(const Tokenizer &tokenizer, const moert_message *messages, size_t numMessages, uint32_t generate,
                       const ScratchAllocator &allocator, int32_t *ids, size_t capacity, size_t *count,
                       ChatProblem &problem) {
  *count = 0;
  if (!isShort(messages, numMessages)) {
    problem = {"and those before it are too long together: expected less than 1 GiB", numMessages - 1};
    return MOERT_STATUS_INVALID_ARGUMENT;
  }
  ScratchArray<moert_chat_turn, 8> turns(allocator);
  if (!turns.reserve(numMessages, 0))
    return MOERT_STATUS_NO_MEMORY;
  for (size_t i = 0; i < numMessages; ++i)
    turns[i] = {{messages[i].role, strlen(messages[i].role)}, {messages[i].content, messages[i].content_bytes}};
  moert_chat_format format = formatOf(tokenizer);
  ChatText counted;
  moert_chat_sink sink = {&counted, ChatText::write};
  if (const char *text = moert_chat_render(&format, turns.data(), numMessages, generate, &sink, &problem.index)) {
    problem.text = text;
    return MOERT_STATUS_INVALID_ARGUMENT;
  }
  ScratchArray<char, 256> text(allocator);
  ScratchArray<TextRange, 8> ranges(allocator);
  if (!text.reserve(counted.size, 0) || !ranges.reserve(counted.numRanges, 0))
    return MOERT_STATUS_NO_MEMORY;
  ChatText written;
  written.text = text.data();
  written.ranges = ranges.data();
  sink.user = &written;
  moert_chat_render(&format, turns.data(), numMessages, generate, &sink, &problem.index);
  return tokenizer.tokenize(text.data(), written.size, MOERT_TOKENIZE_ALLOW_SPECIAL, allocator, ids, capacity, count,
                            {ranges.data(), written.numRanges});
}

} // namespace moert
