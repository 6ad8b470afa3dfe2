// SPDX-License-Identifier: Apache-2.0
/// \file
/// How one value of a weight matrix is stored: `f32`, or symmetric integer codes with one f16 scale for each row and
/// group of columns. Main source: docs/pack-format.md ("Encodings").
#ifndef LIB_QUANT_ENCODING_H
#define LIB_QUANT_ENCODING_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace moec {

enum class EncodingKind : uint8_t { f32, i8, i4 };

struct Encoding {
  EncodingKind kind = EncodingKind::f32;
  /// Columns that share a scale: 32, 64 or 128; 0 for f32.
  int64_t group = 0;

  static constexpr Encoding f32() { return {EncodingKind::f32, 0}; }
  static constexpr Encoding i8(int64_t group) { return {EncodingKind::i8, group}; }
  static constexpr Encoding i4(int64_t group) { return {EncodingKind::i4, group}; }

  bool isInteger() const { return kind != EncodingKind::f32; }
  /// Largest code: 127 or 7. Codes are symmetric: -maxCode() .. maxCode().
  int maxCode() const { return kind == EncodingKind::i8 ? 127 : 7; }
  /// Bits of one code, without scales: 32, 8 or 4.
  int bits() const { return kind == EncodingKind::f32 ? 32 : kind == EncodingKind::i8 ? 8 : 4; }
  /// Groups in a row of `cols` values; 0 for f32.
  int64_t numGroups(int64_t cols) const { return isInteger() ? cols / group : 0; }

  friend bool operator==(const Encoding &, const Encoding &) = default;
};

/// "f32", "i8/32", "i4/128": kind and group.
std::string nameOf(const Encoding &encoding);
/// The inverse of `nameOf`. Errors: names the valid forms.
llvm::Expected<Encoding> parseEncoding(llvm::StringRef text);
/// Says whether rows of `cols` values can be stored so. Errors: name `what` (the tensor), the group and the columns.
llvm::Error checkEncoding(const Encoding &encoding, int64_t cols, llvm::StringRef what);

} // namespace moec

#endif
