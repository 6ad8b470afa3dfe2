// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the x86 layout by the 256-bit vpdpbusd of AVX-VNNI: each word of 16 rows in halves of 8.
/// Step: lower. Main source: docs/pack-format.md ("Layout families").
#include "passes/lower/kernels/Dot.h"

using namespace mlir;

namespace moec {

/// 32 columns: 8 words. Sums are [token][half].
DotEmitter::Values DotEmitter::sumsAvxVnni(Value block, Value k, Tokens tokens, ValueRange initial) {
  Values sums(initial.begin(), initial.end());
  for (int64_t word = 0; word < 8; ++word) {
    Values x;
    for (Value token : tokens)
      x.push_back(activationWord(token, f.add(k, word * 4), 8));
    for (int64_t half = 0; half < 2; ++half) {
      Value w = x86Weights(block, word, half * 32, 32);
      for (size_t i = 0; i < tokens.size(); ++i) {
        Value &sum = sums[2 * i + half];
        sum = f.intrinsic("llvm.x86.avx512.vpdpbusd.256", f.vectorOf(f.i32(), 8), {sum, w, x[i]});
      }
    }
    if (tokens.size() > 1)
      finishBefore(sums);
  }
  return sums;
}

} // namespace moec
