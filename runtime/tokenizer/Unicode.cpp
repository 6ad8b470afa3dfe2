// SPDX-License-Identifier: Apache-2.0
/// \file
/// Look-ups in the generated Unicode tables; Hangul by arithmetic. Part of the run step. Main source: UAX 15 and the
/// Unicode Standard, chapter 3.12.
#include "runtime/tokenizer/Unicode.h"

#include <stddef.h>

namespace moert {

namespace {

#include "runtime/tokenizer/UnicodeTables.inc"

constexpr uint32_t kClassStartMask = (1u << 21) - 1;
constexpr uint32_t kHangulBase = 0xAC00, kLBase = 0x1100, kVBase = 0x1161, kTBase = 0x11A7;
constexpr uint32_t kLCount = 19, kVCount = 21, kTCount = 28, kSyllables = kLCount * kVCount * kTCount;

template <typename T, size_t N> constexpr size_t countOf(const T (&)[N]) { return N; }

/// Index of the last of `count` ascending starts that is <= `code`; the first start is 0.
size_t lastStart(const uint32_t *starts, size_t count, uint32_t mask, uint32_t code) {
  size_t low = 0, high = count;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if ((starts[middle] & mask) <= code)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// Class, plus 8 for a word character.
uint32_t classEntry(uint32_t code) {
  return kClassRanges[lastStart(kClassRanges, countOf(kClassRanges), kClassStartMask, code)] >> 21;
}

} // namespace

CharacterClass classOf(uint32_t code) {
  if (code < 0x80) {
    if ((code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z'))
      return CharacterClass::Letter;
    if (code >= '0' && code <= '9')
      return CharacterClass::Number;
    return code == ' ' || (code >= '\t' && code <= '\r') ? CharacterClass::Space : CharacterClass::Symbol;
  }
  if (code > 0x10FFFF)
    return CharacterClass::Symbol;
  return static_cast<CharacterClass>(classEntry(code) & 7);
}

bool isWordCharacter(uint32_t code) { return code <= 0x10FFFF && (classEntry(code) & 8) != 0; }

NormalizationProperty normalizationOf(uint32_t code) {
  // Below U+0300 there are neither marks nor code points that NFC changes.
  if (code < 0x300 || code > 0x10FFFF)
    return {0, true};
  uint16_t value = kNormalizationValues[lastStart(kNormalizationStarts, countOf(kNormalizationStarts), ~0u, code)];
  return {static_cast<uint8_t>(value), value < 256};
}

uint32_t decompose(uint32_t code, uint32_t out[4]) {
  uint32_t syllable = code - kHangulBase;
  if (syllable < kSyllables) {
    out[0] = kLBase + syllable / (kVCount * kTCount);
    out[1] = kVBase + syllable / kTCount % kVCount;
    out[2] = kTBase + syllable % kTCount;
    return out[2] == kTBase ? 2 : 3;
  }
  size_t index = lastStart(kDecompositionKeys, countOf(kDecompositionKeys), ~0u, code);
  if (kDecompositionKeys[index] != code) {
    out[0] = code;
    return 1;
  }
  uint32_t slice = kDecompositionSlices[index], length = slice % 8;
  for (uint32_t i = 0; i < length; ++i)
    out[i] = kDecompositionPool[slice / 8 + i];
  return length;
}

uint32_t compose(uint32_t first, uint32_t second) {
  uint32_t lead = first - kLBase, vowel = second - kVBase;
  if (lead < kLCount && vowel < kVCount)
    return kHangulBase + (lead * kVCount + vowel) * kTCount;
  uint32_t syllable = first - kHangulBase, tail = second - kTBase;
  if (syllable < kSyllables && syllable % kTCount == 0 && tail > 0 && tail < kTCount)
    return first + tail;
  size_t low = 0, high = countOf(kCompositionFirst);
  while (low < high) {
    size_t middle = (low + high) / 2;
    bool below =
        kCompositionFirst[middle] != first ? kCompositionFirst[middle] < first : kCompositionSecond[middle] < second;
    if (below)
      low = middle + 1;
    else
      high = middle;
  }
  bool found = low < countOf(kCompositionFirst) && kCompositionFirst[low] == first && kCompositionSecond[low] == second;
  return found ? kCompositionResult[low] : 0;
}

const char *unicodeVersion() { return kUnicodeVersion; }

} // namespace moert
