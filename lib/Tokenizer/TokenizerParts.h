// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tokenizer from the parts that GGUF metadata holds. Part of the import step. Main source: the keys
/// `tokenizer.ggml.*` of the GGUF specification.
#ifndef LIB_TOKENIZER_TOKENIZERPARTS_H
#define LIB_TOKENIZER_TOKENIZERPARTS_H

#include "lib/Tokenizer/TokenizerModel.h"

#include <optional>

namespace moec {

/// Values are those of `tokenizer.ggml.token_type`.
enum class TokenType : int32_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

struct TokenizerParts {
  std::string name;                // of the file, for messages
  uint32_t vocabSize = 0;          // of the model
  std::string model = "gpt2";      // tokenizer.ggml.model
  std::string pre;                 // tokenizer.ggml.pre
  std::vector<std::string> tokens; // by id, as byte-level BPE writes them; added tokens as they are
  std::vector<int32_t> types;      // by id; empty: all are normal
  std::vector<std::string> merges; // "left right", by rank
  std::optional<uint32_t> bosId;
  std::optional<uint32_t> eosId;
  bool addBos = false; // tokenizer.ggml.add_bos_token
  bool addEos = false;
  std::optional<std::string> chatTemplate; // text of tokenizer.chat_template
};

/// Control tokens become special, user-defined ones added tokens; unused ones stand for no text. A byte without a token
/// is left out of text.
///
/// Errors: another model than "gpt2"; a `pre` that is not known, with the list of those that are; types of another
///         number than tokens; a bad merge or token as in tokenizer.json; the message is "<name>: <key>: ...".
llvm::Expected<TokenizerModel> makeTokenizerModel(const TokenizerParts &parts);

} // namespace moec
#endif
