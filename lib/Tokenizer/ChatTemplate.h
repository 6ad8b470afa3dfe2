// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recognizes the chat template of a checkpoint: renders conversations with it and looks for the format that gives the
/// same texts. Part of the import step. Main source: include/moert/ChatFormat.h.
#ifndef LIB_TOKENIZER_CHATTEMPLATE_H
#define LIB_TOKENIZER_CHATTEMPLATE_H

#include "moert/ChatFormat.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <array>
#include <string>

namespace moec {

/// A format with its texts, or the reason why there is none.
struct ChatTemplate {
  bool isSupported = false;
  bool isMissing = false; // the checkpoint has none
  uint32_t flags = 0;
  uint32_t history = MOERT_CHAT_HISTORY_KEPT;
  std::array<std::string, MOERT_CHAT_NUM_TEXTS> texts = {};

  /// A view; valid as long as this object.
  moert_chat_format format() const;
};

/// One without a format. `reason` continues "the model has no chat format: ".
ChatTemplate noChatTemplate(const llvm::Twine &reason, bool isMissing = false);

/// Values of the template's variables bos_token and eos_token.
struct ChatTokens {
  std::string bos;
  std::string eos;
};

/// Never fails: a template that no format equals, or that uses something unknown, gives the reason.
///
/// The answer is proven on some twenty conversations, with and without an opened answer, thinking not said, on and off.
/// Tools are never given. Cost: some milliseconds.
ChatTemplate recognizeChatTemplate(llvm::StringRef text, const ChatTokens &tokens);

} // namespace moec
#endif
