// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tokenizer for models that have none: token i is byte i. Main source: docs/synthetic-models.md.
#ifndef LIB_SYNTH_BYTETOKENIZER_H
#define LIB_SYNTH_BYTETOKENIZER_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace moec {

/// What the IR calls this tokenizer where no file holds it.
inline constexpr char kByteTokenizerKind[] = "bytes";

/// tokenizer.json of byte-level BPE with the 256 bytes as tokens 0 to 255 and no merges; the ids from 256 on are
/// padding. Errors: a vocabulary below 256.
llvm::Expected<std::string> byteTokenizerJson(uint64_t vocabSize);

} // namespace moec

#endif
