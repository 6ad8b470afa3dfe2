// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cuts text into words as the split regex of the checkpoint does. Part of the run step. Main source: the
/// pre_tokenizer in tokenizer.json of Qwen2, Qwen3.5, Llama 3, GPT-2 and SmolLM2, with leftmost-first alternation.
#ifndef RUNTIME_TOKENIZER_PRETOKENIZE_H
#define RUNTIME_TOKENIZER_PRETOKENIZE_H

#include "moert/TokenizerBlob.h"

#include <stddef.h>
#include <stdint.h>

namespace moert {

/// Length in bytes, at least 1, of the word at the start of `text`, which holds `size` > 0 bytes up to the end of the
/// text. Ill-formed bytes are symbols. Cost: linear in the length of the word.
size_t nextWord(moetok_pattern pattern, const uint8_t *text, size_t size);

} // namespace moert
#endif
