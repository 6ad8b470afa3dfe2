// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which encoding keeps the values of a checkpoint's element type as they are. Main source: docs/precision.md ("The
/// file's own quantization").
#ifndef LIB_QUANT_SOURCEENCODING_H
#define LIB_QUANT_SOURCEENCODING_H

#include "lib/Quant/Encoding.h"

namespace moec {

struct SourceEncoding {
  Encoding encoding;
  /// Codes and scales are those of the file, without rounding a second time. Otherwise values are encoded.
  bool isVerbatim;
};

/// For f32, f16, bf16, q8_0, q4_0, q4_1 and q6_k, as `#moe.source` spells them; f32 for anything else.
SourceEncoding sourceEncodingOf(llvm::StringRef dtype);

/// Whether a weight of this type in this encoding takes the codes of the file.
bool isVerbatim(llvm::StringRef dtype, const Encoding &encoding);

} // namespace moec

#endif
