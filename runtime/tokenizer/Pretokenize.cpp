// SPDX-License-Identifier: Apache-2.0
/// \file
/// The split regex by hand. Part of the run step. For Qwen2 (Qwen3.5 has [\p{L}\p{M}] for \p{L}+ and adds \p{M} to the
/// set that a symbol run excludes) the alternatives, in order, are:
///   A (?i:'s|'t|'re|'ve|'m|'ll|'d)    B [^\r\n\p{L}\p{N}]?\p{L}+    C \p{N}
///   D  ?[^\s\p{L}\p{N}]+[\r\n]*       E \s*[\r\n]+                  F \s+(?!\S)    G \s+
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
      : marksAreLetters(pattern == MOETOK_PATTERN_QWEN35), text(text), size(size) {}

  size_t match() const {
    Character first = at(0);
    if (size_t length = contraction(first))
      return length;
    if (size_t length = word(first))
      return length;
    if (first.kind == CharacterClass::Number)
      return first.length;
    if (size_t length = symbols(first))
      return length;
    return spaces();
  }

private:
  Character at(size_t position) const {
    if (position >= size)
      return {0, 0, CharacterClass::Space};
    CodePoint point = decodeCodePoint(text + position, size - position);
    return {point.code, point.length, classOf(point.code)};
  }

  bool isWord(const Character &c) const {
    return c.length != 0 && (c.kind == CharacterClass::Letter || (marksAreLetters && c.kind == CharacterClass::Mark));
  }

  /// [^\s\p{L}\p{N}]: marks are symbols where they are not letters.
  bool isSymbol(const Character &c) const {
    return c.length != 0 && (c.kind == CharacterClass::Symbol || (c.kind == CharacterClass::Mark && !marksAreLetters));
  }

  static bool isLineEnd(const Character &c) { return c.length != 0 && (c.code == '\r' || c.code == '\n'); }

  uint32_t lowerAscii(size_t position) const {
    Character c = at(position);
    return c.length == 1 && c.code >= 'A' && c.code <= 'Z' ? c.code + 32 : c.length ? c.code : 0;
  }

  /// A. U+017F is the only other code point whose case folding is one of these letters.
  size_t contraction(const Character &first) const {
    if (first.code != '\'' || first.length != 1)
      return 0;
    uint32_t one = lowerAscii(1);
    if (one == 0x17F)
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
    bool optional = !isLineEnd(first) && first.kind != CharacterClass::Letter && first.kind != CharacterClass::Number;
    if (optional && isWord(at(first.length)))
      return wordRun(first.length);
    return isWord(first) ? wordRun(0) : 0;
  }

  /// D.
  size_t symbols(const Character &first) const {
    size_t position = first.code == ' ' ? first.length : 0;
    if (!isSymbol(at(position)))
      return 0;
    for (Character c = at(position); isSymbol(c); c = at(position))
      position += c.length;
    while (isLineEnd(at(position)))
      ++position;
    return position;
  }

  /// E, F and G share one run of white space: up to its last line end; else all but its last code point if text
  /// follows and something remains; else all of it.
  size_t spaces() const {
    size_t position = 0, behindLineEnd = 0, lastStart = 0;
    for (Character c = at(0); c.length != 0 && c.kind == CharacterClass::Space; c = at(position)) {
      lastStart = position;
      position += c.length;
      if (isLineEnd(c))
        behindLineEnd = position;
    }
    if (behindLineEnd != 0)
      return behindLineEnd;
    return position < size && lastStart != 0 ? lastStart : position;
  }

  bool marksAreLetters;
  const uint8_t *text;
  size_t size;
};

} // namespace

size_t nextWord(moetok_pattern pattern, const uint8_t *text, size_t size) {
  return Matcher(pattern, text, size).match();
}

} // namespace moert
