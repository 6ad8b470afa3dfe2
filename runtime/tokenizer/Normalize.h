// SPDX-License-Identifier: Apache-2.0
/// \file
/// Normalization Form C of UTF-8 text. Part of the run step. Main source: UAX 15.
#ifndef RUNTIME_TOKENIZER_NORMALIZE_H
#define RUNTIME_TOKENIZER_NORMALIZE_H

#include "runtime/tokenizer/Scratch.h"

namespace moert {

/// Whether the quick check proves that the text is in NFC. A false answer proves nothing.
bool isSurelyNfc(const uint8_t *text, size_t size);

/// Normalizes `text`. Ill-formed bytes are kept and nothing combines across them.
///
/// Memory: at most 8 bytes of scratch per code point of the longest run that cannot be cut; `out` receives the text if
///         not null and `*outSize` its size, so a first call with null counts.
/// Errors: false when memory is refused.
/// Cost: linear; long runs of marks are ordered by counting.
bool normalizeNfc(const uint8_t *text, size_t size, const ScratchAllocator &allocator, uint8_t *out, size_t *outSize);

} // namespace moert
#endif
