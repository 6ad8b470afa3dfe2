// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads the chat template of a Hugging Face folder. Part of the import step.
#ifndef LIB_TOKENIZER_CHATFILES_H
#define LIB_TOKENIZER_CHATFILES_H

#include "lib/Tokenizer/ChatTemplate.h"

#include "llvm/Support/Error.h"

namespace moec {

/// The template of chat_template.jinja, or else of tokenizer_config.json, recognized.
///
/// Errors: a file that is there cannot be read; tokenizer_config.json is no JSON or has members of other kinds. A
///         folder without a template is none: the answer has the reason.
llvm::Expected<ChatTemplate> readChatTemplate(llvm::StringRef folder);

} // namespace moec
#endif
