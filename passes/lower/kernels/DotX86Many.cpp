// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the x86 layout with many tokens: two row blocks at once, so that an activation word is
/// loaded once for 32 rows. Step: lower. Main source: docs/pack-format.md ("Layout families").
#include "passes/lower/kernels/Dot.h"

using namespace mlir;

namespace moec {

void DotEmitter::prefetchBlocks(Value base, int64_t numBlocks) {
  // The same group of the row blocks that come next: as far ahead as this product lasts.
  constexpr int64_t kLineBytes = 64;
  int64_t size = cast<MemRefType>(weights.getType()).getDimSize(0);
  OpBuilder &builder = f.getBuilder();
  Value limit = f.index(size - groupBytes());
  for (int64_t i = 0; i < numBlocks; ++i) {
    Value first = f.minimum(f.add(base, (numBlocks + i) * layout.tileBytes()), limit);
    for (int64_t line = 0; line < groupBytes(); line += kLineBytes)
      memref::PrefetchOp::create(builder, weights.getLoc(), weights, ValueRange{f.add(first, line)}, /*isWrite=*/false,
                                 /*localityHint=*/2, /*isDataCache=*/true);
  }
}

DotEmitter::Values DotEmitter::emitX86Many(Value row, int64_t numBlocks, Tokens tokenNumbers) {
  const int64_t numSums = numBlocks * (int64_t)tokenNumbers.size();
  // Of tokens that follow each other, the optimizer derives one address from the other, and keeps them in vectors.
  Values tokens;
  for (Value token : tokenNumbers)
    tokens.push_back(hidden(token));
  const VectorType sumType = f.vectorOf(f.i32());
  Value base = rowBase(row);
  auto blockOf = [&](Value first, int64_t i) { return f.add(first, i * layout.tileBytes()); };
  Values zeros(numSums, f.zeroVector());
  return f.loop(f.index(0), f.index(matrix.columns / group()), 1, zeros, [&](Value number, ValueRange acc) {
    Value first = f.add(base, f.multiply(number, groupBytes()));
    prefetchBlocks(first, numBlocks);
    // [block][token]. The codes' offset is taken out through the first value.
    Values sums;
    for (int64_t i = 0; i < numBlocks; ++i)
      for (Value token : tokens) {
        Value sum = f.load(rows.sums, {token, number});
        sums.push_back(f.splat(
            arith::MulIOp::create(f.getBuilder(), first.getLoc(), sum, f.integerLike(f.i32(), -layout.codeBias()))));
      }
    sums = overSlices(sums, [&](Value slice, ValueRange carried) {
      Value at = f.add(first, f.multiply(slice, codeBytes() * 32 / group()));
      Value k = f.add(f.multiply(number, group()), f.multiply(slice, 32));
      Values next(carried.begin(), carried.end());
      for (int64_t word = 0; word < 8; ++word) {
        Values w;
        for (int64_t i = 0; i < numBlocks; ++i)
          w.push_back(x86Weights(blockOf(at, i), word, 0, 64));
        for (auto [t, token] : llvm::enumerate(tokens)) {
          Value x = activationWord(token, f.add(k, word * 4), kFloatLanes);
          for (int64_t i = 0; i < numBlocks; ++i) {
            Value &sum = next[i * tokens.size() + t];
            sum = f.intrinsic("llvm.x86.avx512.vpdpbusd.512", sumType, {sum, w[i], x});
          }
        }
      }
      return next;
    });
    Values next;
    for (int64_t i = 0; i < numBlocks; ++i) {
      Value block = blockOf(first, i), scale = weightScales(block, 0, kFloatLanes), minimum;
      if (encoding().minimum)
        minimum = weightMinima(block, 0, kFloatLanes);
      for (auto [t, token] : llvm::enumerate(tokens)) {
        size_t place = i * tokens.size() + t;
        Value s = f.mulf(scale, f.splat(f.load(rows.scales, {token, number})));
        next.push_back(f.fma(f.toFloat(sums[place]), s, acc[place]));
        if (minimum)
          next.back() = f.fma(minimum, f.splat(activationSum(token, number)), next.back());
      }
    }
    return next;
  });
}

} // namespace moec
