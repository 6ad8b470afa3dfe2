// SPDX-License-Identifier: Apache-2.0
/// \file
/// The split regexes by hand. Part of the run step. For Qwen2 the alternatives, in order, are:
///   A (?i:'s|'t|'re|'ve|'m|'ll|'d)    B [^\r\n\p{L}\p{N}]?\p{L}+    C \p{N}
///   D  ?[^\s\p{L}\p{N}]+[\r\n]*       E \s*[\r\n]+                  F \s+(?!\S)    G \s+
/// Qwen3.5 has [\p{L}\p{M}]+ in B and adds \p{M} to the set that D excludes. Llama 3 has \p{N}{1,3} in C. GPT-2 has A
/// without (?i), B  ?\p{L}+, C  ?\p{N}+, D without [\r\n]*, and no E. SmolLM cuts out each \p{N} first, and GPT-2's
/// regex sees what is between two of them as a text of its own.
#include "runtime/tokenizer/Pretokenize.h"

#include "runtime/text/Utf8.h"
#include "runtime/tokenizer/Unicode.h"

namespace moert {

namespace {

/// A code point with its class, or length 0 at the end of the text.
struct Character {
  uint32_t code;
  uint32_t length;
  CharacterClass kind;
};

class Matcher {
public:
  Matcher(moetok_pattern pattern, const uint8_t *text, size_t size)
      : marksAreLetters(pattern == MOETOK_PATTERN_QWEN35),
        isGpt2(pattern == MOETOK_PATTERN_GPT2 || pattern == MOETOK_PATTERN_SMOLLM),
        endsAtNumbers(pattern == MOETOK_PATTERN_SMOLLM), mostDigits(pattern == MOETOK_PATTERN_LLAMA3 ? 3 : 1),
        text(text), size(size) {}

  size_t match() const {
    Character first = decode(0);
    if (endsAtNumbers && first.kind == CharacterClass::Number)
      return first.length;
    if (size_t length = contraction(first))
      return length;
    if (size_t length = word(first))
      return length;
    if (size_t length = number(first))
      return length;
    if (size_t length = symbols(first))
      return length;
    return spaces();
  }

private:
  Character decode(size_t position) const {
    CodePoint point = decodeCodePoint(text + position, size - position);
    return {point.code, point.length, classOf(point.code)};
  }

  Character at(size_t position) const {
    Character end = {0, 0, CharacterClass::Space};
    if (position >= size)
      return end;
    Character c = decode(position);
    return endsAtNumbers && c.kind == CharacterClass::Number ? end : c;
  }

  bool isWord(const Character &c) const {
    return c.length != 0 && (c.kind == CharacterClass::Letter || (marksAreLetters && c.kind == CharacterClass::Mark));
  }

  /// [^\s\p{L}\p{N}]: marks are symbols where they are not letters.
  bool isSymbol(const Character &c) const {
    return c.length != 0 && (c.kind == CharacterClass::Symbol || (c.kind == CharacterClass::Mark && !marksAreLetters));
  }

  static bool isNumber(const Character &c) { return c.length != 0 && c.kind == CharacterClass::Number; }
  static bool isLineEnd(const Character &c) { return c.length != 0 && (c.code == '\r' || c.code == '\n'); }

  uint32_t lowerAscii(size_t position) const {
    Character c = at(position);
    if (c.length == 0)
      return 0;
    return !isGpt2 && c.code >= 'A' && c.code <= 'Z' ? c.code + 32 : c.code;
  }

  /// A. U+017F is the only other code point whose case folding is one of these letters.
  size_t contraction(const Character &first) const {
    if (first.code != '\'' || first.length != 1)
      return 0;
    uint32_t one = lowerAscii(1);
    if (one == 0x17F && !isGpt2)
      return 3;
    if (one == 's' || one == 't' || one == 'm' || one == 'd')
      return 2;
    uint32_t two = one < 0x80 && one != 0 ? lowerAscii(2) : 0;
    bool pair = ((one == 'r' || one == 'v') && two == 'e') || (one == 'l' && two == 'l');
    return pair ? 3 : 0;
  }

  size_t wordRun(size_t position) const {
    for (Character c = at(position); isWord(c); c = at(position))
      position += c.length;
    return position;
  }

  /// B. The optional code point is taken when a word code point follows; otherwise the run may begin with it.
  size_t word(const Character &first) const {
    bool optional =
        isGpt2 ? first.code == ' '
               : !isLineEnd(first) && first.kind != CharacterClass::Letter && first.kind != CharacterClass::Number;
    if (optional && isWord(at(first.length)))
      return wordRun(first.length);
    return isWord(first) ? wordRun(0) : 0;
  }

  /// C.
  size_t number(const Character &first) const {
    size_t position = isGpt2 && first.code == ' ' ? first.length : 0;
    if (!isNumber(at(position)))
      return 0;
    uint32_t numDigits = 0;
    for (Character c = at(position); isNumber(c) && (isGpt2 || numDigits < mostDigits); c = at(position)) {
      position += c.length;
      ++numDigits;
    }
    return position;
  }

  /// D.
  size_t symbols(const Character &first) const {
    size_t position = first.code == ' ' ? first.length : 0;
    if (!isSymbol(at(position)))
      return 0;
    for (Character c = at(position); isSymbol(c); c = at(position))
      position += c.length;
    while (!isGpt2 && isLineEnd(at(position)))
      ++position;
    return position;
  }

  /// E, F and G share one run of white space: up to its last line end (not in GPT-2's); else all but its last code
  /// point if text follows and something remains; else all of it.
  size_t spaces() const {
    size_t position = 0, behindLineEnd = 0, lastStart = 0;
    Character c = at(0);
    for (; c.length != 0 && c.kind == CharacterClass::Space; c = at(position)) {
      lastStart = position;
      position += c.length;
      if (isLineEnd(c))
        behindLineEnd = position;
    }
    if (behindLineEnd != 0 && !isGpt2)
      return behindLineEnd;
    return c.length != 0 && lastStart != 0 ? lastStart : position;
  }

  bool marksAreLetters;
  bool isGpt2;
  bool endsAtNumbers; // a number is the end of the text
  uint32_t mostDigits;
  const uint8_t *text;
  size_t size;
};

} // namespace

size_t nextWord(moetok_pattern pattern, const uint8_t *text, size_t size) {
  return Matcher(pattern, text, size).match();
}

} // namespace moert
