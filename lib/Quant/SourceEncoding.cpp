// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of element types.
#include "lib/Quant/SourceEncoding.h"

namespace moec {

namespace {
struct Row {
  llvm::StringLiteral dtype;
  SourceEncoding source;
};
} // namespace

// bf16 has the range of f32. q6_k has scales for 16 values, which no encoding has: the nearest that loses little.
static constexpr Row kRows[] = {{"f32", {Encoding::f32(), false}},  {"bf16", {Encoding::f32(), false}},
                                {"f16", {Encoding::f16(), false}},  {"q8_0", {Encoding::i8(32), true}},
                                {"q4_0", {Encoding::i4(32), true}}, {"q4_1", {Encoding::i4m(32), true}},
                                {"q6_k", {Encoding::i8(32), false}}};

SourceEncoding sourceEncodingOf(llvm::StringRef dtype) {
  for (const Row &row : kRows)
    if (row.dtype == dtype)
      return row.source;
  return {Encoding::f32(), false};
}

bool isVerbatim(llvm::StringRef dtype, const Encoding &encoding) {
  SourceEncoding source = sourceEncodingOf(dtype);
  return source.isVerbatim && source.encoding == encoding;
}

} // namespace moec
