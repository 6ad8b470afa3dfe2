// SPDX-License-Identifier: Apache-2.0
/// \file
/// A byte-level BPE tokenizer as values, and the writer of the tables that the runtime reads. Part of the link step.
/// Main source: include/moert/TokenizerBlob.h.
#ifndef LIB_TOKENIZER_TOKENIZERMODEL_H
#define LIB_TOKENIZER_TOKENIZERMODEL_H

#include "lib/Tokenizer/ChatTemplate.h"
#include "moert/TokenizerBlob.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moec {

/// Two neighbouring tokens that become one. The index of a merge is its rank.
struct TokenMerge {
  uint32_t left;
  uint32_t right;
  uint32_t result;
};

/// A token that is recognized in the text before it is cut into words. The flags are those of tokenizer.json.
struct AddedToken {
  uint32_t id = 0;
  bool special = false;
  bool normalized = false;
  bool singleWord = false;
  bool lstrip = false;
  bool rstrip = false;
};

struct TokenizerModel {
  uint32_t vocabSize = 0; // of the model; ids from tokens.size() on are padding
  bool normalizeNfc = false;
  bool ignoreMerges = false; // a word that is a token as it stands is that token
  moetok_pattern pattern = MOETOK_PATTERN_QWEN2;
  std::vector<std::string> tokens; // bytes by id
  std::vector<TokenMerge> merges;
  std::vector<AddedToken> added;
  std::array<uint32_t, 256> byteIds = {}; // MOETOK_NO_TOKEN: none
  bool dropsUnknownBytes = false;         // else a byte without a token is an error
  std::vector<uint32_t> wholeWords;       // with ignoreMerges: ids of the vocabulary's words, ascending
  std::vector<uint32_t> prefix;           // ids before a text, where the caller asks for them
  std::vector<uint32_t> suffix;           // ids behind it
  ChatTemplate chat = noChatTemplate("the checkpoint has no chat template", true);
};

/// Checks a model and writes its tables.
///
/// Errors: ids outside the tokens, a merge given twice or whose result is not the two texts in one, a byte whose token
///         is another text, an empty or repeated added token, a token longer than MOETOK_MAX_TOKEN_BYTES, more than
///         4 GiB. Each message continues "<file>: ".
llvm::Expected<std::vector<uint8_t>> writeTokenizerBlob(const TokenizerModel &model);

/// The special token that ends a message of the chat format in tables that writeTokenizerBlob wrote, if there is one.
std::optional<uint32_t> chatStopId(llvm::ArrayRef<uint8_t> blob);
/// Why the checkpoint's chat template was refused, from such tables; empty where it was not or where there is none.
std::string chatRefusal(llvm::ArrayRef<uint8_t> blob);

} // namespace moec
#endif
