// SPDX-License-Identifier: Apache-2.0
/// \file
/// Unicode properties that the tokenizer needs: character classes of the word patterns, and what NFC needs. Tables are
/// generated at build time by tools/dev/make-unicode-tables.py. Part of the run step. Main source: UAX 15, UAX 44.
#ifndef RUNTIME_TOKENIZER_UNICODE_H
#define RUNTIME_TOKENIZER_UNICODE_H

#include <stdint.h>

namespace moert {

/// Values are those of the generated table. Everything else, ill-formed bytes too, is a symbol.
enum class CharacterClass : uint8_t { Symbol = 0, Letter = 1, Mark = 2, Number = 3, Space = 4 };

CharacterClass classOf(uint32_t code);

/// \w: letters, marks, decimal and letter numbers, connectors, joiners. Main source: UTS 18, annex C.
bool isWordCharacter(uint32_t code);

/// `combiningClass` orders marks; `stable` is false where the NFC quick check says No or Maybe.
struct NormalizationProperty {
  uint8_t combiningClass;
  bool stable;
};

NormalizationProperty normalizationOf(uint32_t code);

/// Writes the full canonical decomposition (up to four code points, in canonical order) and returns its length; a code
/// point without one gives itself.
uint32_t decompose(uint32_t code, uint32_t out[4]);

/// The primary composite of a pair, or 0.
uint32_t compose(uint32_t first, uint32_t second);

/// The Unicode version of the tables, such as "14.0.0".
const char *unicodeVersion();

} // namespace moert
#endif
