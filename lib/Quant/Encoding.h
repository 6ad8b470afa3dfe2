// SPDX-License-Identifier: Apache-2.0
/// \file
/// How one value of a weight matrix is stored: as a float, or as an integer code with one f16 scale, and if wanted an
/// f16 minimum, for each row and group of columns. Main source: docs/pack-format.md ("Encodings").
#ifndef LIB_QUANT_ENCODING_H
#define LIB_QUANT_ENCODING_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace moec {

enum class EncodingKind : uint8_t { f32, f16, i8, i6, i4 };

struct Encoding {
  EncodingKind kind = EncodingKind::f32;
  /// Columns that share a scale: 32, 64 or 128; 0 for floats.
  int64_t group = 0;
  /// value = scale * code + minimum instead of scale * code. i8 and i4 only.
  bool minimum = false;

  static constexpr Encoding f32() { return {EncodingKind::f32, 0, false}; }
  static constexpr Encoding f16() { return {EncodingKind::f16, 0, false}; }
  static constexpr Encoding i8(int64_t group) { return {EncodingKind::i8, group, false}; }
  static constexpr Encoding i6(int64_t group) { return {EncodingKind::i6, group, false}; }
  static constexpr Encoding i4(int64_t group) { return {EncodingKind::i4, group, false}; }
  static constexpr Encoding i8m(int64_t group) { return {EncodingKind::i8, group, true}; }
  static constexpr Encoding i4m(int64_t group) { return {EncodingKind::i4, group, true}; }

  bool isInteger() const { return bits() <= 8; }
  /// Bits of one value or code, without scales: 32, 16, 8, 6 or 4.
  int bits() const {
    constexpr int kBits[] = {32, 16, 8, 6, 4};
    return kBits[static_cast<int>(kind)];
  }
  /// Codes are minCode() .. maxCode(): symmetric (-127 .. 127, -31 .. 31, -7 .. 7), with a minimum all of the bits
  /// (-128 .. 127, -8 .. 7).
  int maxCode() const { return (1 << (bits() - 1)) - 1; }
  int minCode() const { return minimum ? -maxCode() - 1 : -maxCode(); }
  /// Groups in a row of `cols` values; 0 for floats.
  int64_t numGroups(int64_t cols) const { return isInteger() ? cols / group : 0; }
  /// f16 numbers of a row beside its codes: the scales of all groups, then their minima if there are any.
  int64_t numScales(int64_t cols) const { return numGroups(cols) * (minimum ? 2 : 1); }

  friend bool operator==(const Encoding &, const Encoding &) = default;
};

/// "f32", "f16", "i8/32", "i6/64", "i4/128", "i8m/32", "i4m/32": kind, `m` for a minimum, and group.
std::string nameOf(const Encoding &encoding);
/// The inverse of `nameOf`. Errors: names the valid forms.
llvm::Expected<Encoding> parseEncoding(llvm::StringRef text);
/// Says whether rows of `cols` values can be stored so. Errors: name `what` (the tensor), the group and the columns.
llvm::Error checkEncoding(const Encoding &encoding, int64_t cols, llvm::StringRef what);

} // namespace moec

#endif
