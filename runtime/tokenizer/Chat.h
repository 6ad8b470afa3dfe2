// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages to token ids, in the chat format that the compiler found. Part of the run step. Main source:
/// include/moert/ChatFormat.h.
#ifndef RUNTIME_TOKENIZER_CHAT_H
#define RUNTIME_TOKENIZER_CHAT_H

#include "runtime/tokenizer/Tokenizer.h"

namespace moert {

/// What is wrong with a conversation: a constant text that continues "message `index` ...".
struct ChatProblem {
  const char *text = nullptr;
  size_t index = 0;
};

/// Writes up to `capacity` ids; `*count` is the number needed, also when it is larger. The tokenizer has a chat format.
/// What stands in messages never becomes a special token.
///
/// `generate` is as for moert_chat_render. No pointer in `messages` is null, but for contents of size 0.
/// Memory: scratch for the text of the chat, 64 bytes for each message, and what `tokenize` takes.
/// Errors: MOERT_STATUS_INVALID_ARGUMENT with `problem`; MOERT_STATUS_NO_MEMORY.
moert_status chatToIds(const Tokenizer &tokenizer, const moert_message *messages, size_t numMessages, uint32_t generate,
                       const ScratchAllocator &allocator, int32_t *ids, size_t capacity, size_t *count,
                       ChatProblem &problem);

} // namespace moert
#endif
