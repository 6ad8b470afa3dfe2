// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads tokenizer.json of a checkpoint. Part of the import step. Main source: the file format of the `tokenizers`
/// package, version 1.0.
#ifndef LIB_TOKENIZER_TOKENIZERJSON_H
#define LIB_TOKENIZER_TOKENIZERJSON_H

#include "lib/Tokenizer/TokenizerModel.h"

#include "llvm/ADT/StringRef.h"

namespace moec {

/// Reads the text of a tokenizer.json.
///
/// `name` is the file name for messages; `vocabSize` is that of the model's config; the tokenizer may use less.
/// Errors: everything that the runtime could not reproduce exactly (another model, normalizer, split pattern, ...) and
///         every inconsistency; the message is "<name>: <JSON path>: what was expected and what was found".
llvm::Expected<TokenizerModel> readTokenizerJson(llvm::StringRef text, llvm::StringRef name, uint32_t vocabSize);

/// Reads the file, and the chat template beside it, and gives the tables for the runtime.
llvm::Expected<std::vector<uint8_t>> buildTokenizerBlob(llvm::StringRef path, uint32_t vocabSize);
/// The same from the text of a file; `name` stands in messages.
llvm::Expected<std::vector<uint8_t>> buildTokenizerBlob(llvm::StringRef text, llvm::StringRef name, uint32_t vocabSize);

/// The bytes that a token of a byte-level vocabulary stands for: each code point is one byte. False if a code point is
/// none of the 256.
bool decodeByteLevel(llvm::StringRef token, std::string &bytes);
/// The code point, in UTF-8, that stands for `byte`.
std::string encodeByteLevel(uint8_t byte);

} // namespace moec
#endif
