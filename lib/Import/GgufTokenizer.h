// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tokenizer of a gguf file. Part of the import step. Main source: ggml's `docs/gguf.md`, keys `tokenizer.ggml.*`.
#ifndef LIB_IMPORT_GGUFTOKENIZER_H
#define LIB_IMPORT_GGUFTOKENIZER_H

#include "lib/Import/Gguf.h"
#include "lib/Tokenizer/TokenizerParts.h"

namespace moec {

/// What the metadata say; `vocabSize` is that of the model. Errors: a key that is missing or of another kind.
llvm::Expected<TokenizerParts> ggufTokenizerParts(const GgufFile &file, llvm::StringRef name, uint32_t vocabSize);

/// The tables for the runtime. Errors: those of GgufFile::open, ggufTokenizerParts and makeTokenizerModel.
llvm::Expected<std::vector<uint8_t>> buildGgufTokenizer(llvm::StringRef path, uint32_t vocabSize);

} // namespace moec
#endif
