// SPDX-License-Identifier: Apache-2.0
/// \file
/// UTF-8 decoding and encoding of single code points, and the assembler that turns token bytes into text of whole code
/// points. Part of the run step. Main source: the Unicode Standard, chapter 3.9, table 3-7.
#ifndef RUNTIME_TEXT_UTF8_H
#define RUNTIME_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

namespace moert {

/// What stands at a position of a byte string. `code` of an ill-formed byte b is kInvalidByte + b and length is 1.
struct CodePoint {
  uint32_t code;
  uint32_t length;
};

/// Above every code point, so that ill-formed bytes fall in no character class.
inline constexpr uint32_t kInvalidByte = 0x110000;

/// Decodes at `text`, which holds `size` > 0 bytes. Surrogates and overlong forms are ill-formed.
CodePoint decodeCodePoint(const uint8_t *text, size_t size);

/// Writes 1 to 4 bytes and returns their number.
uint32_t encodeCodePoint(uint32_t code, uint8_t *out);

/// Releases text in whole code points.
///
/// Bytes that cannot belong to a code point become U+FFFD, one for every longest prefix of a code point (the practice
/// of the Unicode Standard, chapter 3.9), as soon as the next byte proves it. Holds at most three bytes.
class Utf8Assembler {
public:
  /// Bytes that `push` may write for `sizeBytes` of input: each byte can become U+FFFD, and three may be pending.
  static constexpr size_t capacityFor(size_t sizeBytes) { return 3 * (sizeBytes + 3); }

  /// Appends bytes; writes what is complete to `out` (capacityFor(sizeBytes) bytes) and returns the number written.
  size_t push(const void *bytes, size_t sizeBytes, char *out);

  /// Ends the text: a pending prefix becomes one U+FFFD. `out` holds at least three bytes.
  size_t finish(char *out);

  bool hasPending() const { return numPending != 0; }
  void reset() { numPending = 0; }

private:
  size_t step(uint8_t byte, char *out);

  uint8_t pending[4] = {};
  uint32_t numPending = 0;
};

} // namespace moert
#endif
