// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the x86 layout: 16 rows x 4 columns in 64 bytes, codes stored with an offset, so that
/// unsigned x signed dot products apply; offset * Σx is subtracted through the initial sum. Step: lower.
/// Main source: docs/formats.md.
#include "passes/lower/kernels/Dot.h"

using namespace mlir;

namespace moec {

Value DotEmitter::activationWord(Value token, Value k, int64_t lanes) {
  Value word = f.extract(bitcast(f.loadVector(rows.codes, {token, k}, 4), f.i32()), 0);
  return bitcast(f.splat(word, lanes), f.i8());
}

/// 32 columns: 8 words by vpdpbusd. One accumulator for each token is enough when there are many; few tokens get more,
/// because the instruction takes 5 cycles.
DotEmitter::Values DotEmitter::sumsVnni(Value block, Value k, Tokens tokens, ValueRange initial) {
  const int64_t numWords = 8, numChains = tokens.size() == 1 ? 4 : tokens.size() == 2 ? 2 : 1;
  VectorType sumType = f.vectorOf(f.i32());
  SmallVector<Values, 4> chains(numChains, Values(tokens.size(), splatInteger(f.i32(), kFloatLanes, 0)));
  chains[0].assign(initial.begin(), initial.end());
  Value packed;
  for (int64_t word = 0; word < numWords; ++word) {
    Value w;
    if (matrix.encoding == WeightEncoding::i8) {
      w = weightBytes(block, word * 64, 64);
    } else {
      Value mask = splatInteger(f.i8(), 64, 0x0f), four = splatInteger(f.i8(), 64, 4);
      if (word % 2 == 0)
        packed = weightBytes(block, word / 2 * 64, 64);
      w = word % 2 == 0 ? arith::AndIOp::create(f.getBuilder(), block.getLoc(), packed, mask).getResult()
                        : arith::ShRUIOp::create(f.getBuilder(), block.getLoc(), packed, four).getResult();
    }
    for (auto [i, token] : llvm::enumerate(tokens)) {
      Value &sum = chains[word % numChains][i];
      Value x = activationWord(token, f.add(k, word * 4), kFloatLanes);
      sum = intrinsic("llvm.x86.avx512.vpdpbusd.512", sumType, {sum, w, x});
    }
  }
  for (int64_t stride = numChains / 2; stride >= 1; stride /= 2)
    for (int64_t chain = 0; chain < stride; ++chain)
      for (size_t i = 0; i < tokens.size(); ++i)
        chains[chain][i] = f.add(chains[chain][i], chains[chain + stride][i]);
  return chains[0];
}

/// 32 columns in halves of 8 rows. 4-bit codes: pmaddubsw, 8 words of at most 2 * 15 * 127 fit into 16 bits. 8-bit
/// codes would saturate there: even and odd columns are widened to 16 bits and go through pmaddwd.
DotEmitter::Values DotEmitter::sumsAvx2(Value block, Value k, Tokens tokens, ValueRange initial) {
  OpBuilder &b = f.getBuilder();
  Location location = block.getLoc();
  Type i16 = b.getIntegerType(16);
  VectorType sumType = f.vectorOf(f.i32(), 8), pairType = f.vectorOf(i16);
  auto madd = [&](Value x, Value y) { return intrinsic("llvm.x86.avx2.pmadd.wd", sumType, {x, y}); };
  Value eight = splatInteger(i16, 16, 8);
  Values sums(initial.begin(), initial.end());
  Values pairs(sums.size(), splatInteger(i16, 16, 0));
  Value packed[2];
  for (int64_t word = 0; word < 8; ++word) {
    Values x;
    for (Value token : tokens)
      x.push_back(activationWord(token, f.add(k, word * 4), 8));
    for (int64_t half = 0; half < 2; ++half) {
      if (matrix.encoding == WeightEncoding::i4) {
        Value mask = splatInteger(f.i8(), 32, 0x0f), four = splatInteger(f.i8(), 32, 4);
        if (word % 2 == 0)
          packed[half] = weightBytes(block, word / 2 * 64 + half * 32, 32);
        Value w = word % 2 == 0 ? arith::AndIOp::create(b, location, packed[half], mask).getResult()
                                : arith::ShRUIOp::create(b, location, packed[half], four).getResult();
        for (size_t i = 0; i < tokens.size(); ++i) {
          Value product = intrinsic("llvm.x86.avx2.pmadd.ub.sw", pairType, {w, x[i]});
          pairs[2 * i + half] = f.add(pairs[2 * i + half], product);
        }
        continue;
      }
      Value w = bitcast(weightBytes(block, word * 64 + half * 32, 32), i16);
      Value even = arith::AndIOp::create(b, location, w, splatInteger(i16, 16, 0xff));
      Value odd = arith::ShRUIOp::create(b, location, w, eight);
      for (size_t i = 0; i < tokens.size(); ++i) {
        Value both = bitcast(x[i], i16);
        Value xEven = arith::ShRSIOp::create(b, location, arith::ShLIOp::create(b, location, both, eight), eight);
        Value xOdd = arith::ShRSIOp::create(b, location, both, eight);
        Value &sum = sums[2 * i + half];
        sum = f.add(sum, f.add(madd(even, xEven), madd(odd, xOdd)));
      }
    }
  }
  if (matrix.encoding == WeightEncoding::i4)
    for (auto [sum, pair] : llvm::zip_equal(sums, pairs))
      sum = f.add(sum, madd(pair, splatInteger(i16, 16, 1)));
  return sums;
}

DotEmitter::Values DotEmitter::emitX86(Value row, Tokens tokens) {
  const bool isVnni = isa == Isa::Avx512Vnni;
  const int64_t offset = matrix.encoding == WeightEncoding::i8 ? 128 : 8;
  Value base = rowBase(row);
  Values accumulators(tokens.size(), f.zeroVector());
  return f.loop(f.index(0), f.index(matrix.columns / matrix.group), 1, accumulators, [&](Value group, ValueRange acc) {
    Value block = f.add(base, f.multiply(group, groupBytes()));
    if (tokens.size() == 1)
      prefetch(block, groupBytes());
    Values sums;
    for (Value token : tokens) {
      Value sum = f.load(rows.sums, {token, group});
      Value start = arith::MulIOp::create(f.getBuilder(), block.getLoc(), sum, f.integerLike(f.i32(), -offset));
      sums.append(isVnni ? 1 : 2, f.splat(start, isVnni ? 16 : 8));
    }
    sums = overSlices(sums, [&](Value slice, ValueRange carried) {
      Value at = f.add(block, f.multiply(slice, codeBytes() * 32 / matrix.group));
      Value k = f.add(f.multiply(group, matrix.group), f.multiply(slice, 32));
      return isVnni ? sumsVnni(at, k, tokens, carried) : sumsAvx2(at, k, tokens, carried);
    });
    Value scale = weightScales(block, 0, kFloatLanes);
    Values next;
    for (auto [i, token] : llvm::enumerate(tokens)) {
      Value sum = isVnni ? sums[i] : Value();
      if (!isVnni) {
        SmallVector<int64_t, 16> both;
        for (int64_t lane = 0; lane < kFloatLanes; ++lane)
          both.push_back(lane);
        sum = vector::ShuffleOp::create(f.getBuilder(), block.getLoc(), sums[2 * i], sums[2 * i + 1], both);
      }
      Value s = f.mulf(scale, f.splat(f.load(rows.scales, {token, group})));
      next.push_back(f.fma(f.toFloat(sum), s, acc[i]));
    }
    return next;
  });
}

} // namespace moec
