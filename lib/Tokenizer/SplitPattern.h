// SPDX-License-Identifier: Apache-2.0
/// \file
/// The ways to cut text into words that runtime/tokenizer has by hand, and their recognition in tokenizer.json and by
/// the names of GGUF. Part of the import step. Main source: the pre_tokenizer of the public checkpoints.
#ifndef LIB_TOKENIZER_SPLITPATTERN_H
#define LIB_TOKENIZER_SPLITPATTERN_H

#include "lib/Support/Json.h"
#include "moert/TokenizerBlob.h"

namespace moec {

/// Recognizes the member `pre_tokenizer` of a tokenizer.json; `value` is null where it is missing.
///
/// Errors: everything that is not exactly one of the patterns; the message begins with the JSON path, and a regex is
///         named with its text.
llvm::Expected<moetok_pattern> readPreTokenizer(const Json *value);

/// How a name of `tokenizer.ggml.pre` cuts text, and what comes with it.
struct NamedPreTokenizer {
  llvm::StringRef name;
  moetok_pattern pattern;
  bool normalizeNfc; // GGUF does not record it; it is that of the family's tokenizer.json
  bool ignoreMerges;
};

/// Null for a name that is not known.
const NamedPreTokenizer *findPreTokenizer(llvm::StringRef name);
/// All known names, for messages.
std::string namesOfPreTokenizers();

/// The regex of a pattern that tokenizer.json has as a Split; empty for the others.
llvm::StringRef patternText(moetok_pattern pattern);

} // namespace moec
#endif
