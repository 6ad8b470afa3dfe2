// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the x86 layout: 16 rows x 4 columns in 64 bytes, codes stored with an offset, so that
/// unsigned x signed dot products apply; offset * Σx is subtracted through the initial sum. Step: lower.
/// Main source: docs/pack-format.md.
#include "passes/lower/kernels/Dot.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace moec {

Value DotEmitter::activationWord(Value token, Value k, int64_t lanes) {
  Value word = f.extract(f.bitcast(f.loadVector(rows.codes, {token, k}, 4), f.i32()), 0);
  return f.bitcast(f.splat(word, lanes), f.i8());
}

Value DotEmitter::x86Weights(Value slice, int64_t word, int64_t first, int64_t width) {
  if (encoding().bits() == 8)
    return weightBytes(slice, word * 64 + first, width);
  OpBuilder &b = f.getBuilder();
  Location location = slice.getLoc();
  // Shifts of 16 bits and a mask of bytes: x86 shifts no bytes.
  auto shifted = [&](Value bytes, int64_t left) -> Value {
    if (left == 0)
      return bytes;
    Value pairs = f.bitcast(bytes, b.getIntegerType(16)), count = f.integerLike(pairs.getType(), std::abs(left));
    Value result = left > 0 ? arith::ShLIOp::create(b, location, pairs, count).getResult()
                            : arith::ShRUIOp::create(b, location, pairs, count).getResult();
    return f.bitcast(result, f.i8());
  };
  auto masked = [&](Value bytes, int64_t mask) -> Value {
    return arith::AndIOp::create(b, location, bytes, splatInteger(f.i8(), width, mask));
  };
  Value low = masked(shifted(weightBytes(slice, word / 2 * 64 + first, width), word % 2 ? -4 : 0), 0x0f);
  if (encoding().bits() == 4)
    return low;
  // Behind the low halves: 64 bytes hold the high 2 bits of 4 words.
  Value high = weightBytes(slice, 4 * 64 + word / 4 * 64 + first, width);
  return arith::OrIOp::create(b, location, low, masked(shifted(high, 4 - 2 * (word % 4)), 0x30));
}

/// 32 columns: 8 words by vpdpbusd. One accumulator for each token is enough when there are many; few tokens get more,
/// because the instruction takes 5 cycles.
DotEmitter::Values DotEmitter::sumsVnni(Value block, Value k, Tokens tokens, ValueRange initial) {
  const int64_t numWords = 8, numChains = tokens.size() == 1 ? 4 : tokens.size() == 2 ? 2 : 1;
  VectorType sumType = f.vectorOf(f.i32());
  SmallVector<Values, 4> chains(numChains, Values(tokens.size(), splatInteger(f.i32(), kFloatLanes, 0)));
  chains[0].assign(initial.begin(), initial.end());
  for (int64_t word = 0; word < numWords; ++word) {
    Value w = x86Weights(block, word, 0, 64);
    for (auto [i, token] : llvm::enumerate(tokens)) {
      Value &sum = chains[word % numChains][i];
      Value x = activationWord(token, f.add(k, word * 4), kFloatLanes);
      sum = f.intrinsic("llvm.x86.avx512.vpdpbusd.512", sumType, {sum, w, x});
    }
  }
  for (int64_t stride = numChains / 2; stride >= 1; stride /= 2)
    for (int64_t chain = 0; chain < stride; ++chain)
      for (size_t i = 0; i < tokens.size(); ++i)
        chains[chain][i] = f.add(chains[chain][i], chains[chain + stride][i]);
  return chains[0];
}

Value DotEmitter::maddPairs(Value x, Value y) {
  return f.intrinsic("llvm.x86.avx2.pmadd.wd", f.vectorOf(f.i32(), 8), {x, y});
}

/// 32 columns in halves of 8 rows; sums are [token][half].
DotEmitter::Values DotEmitter::sumsAvx2(Value block, Value k, Tokens tokens, ValueRange initial) {
  return encoding().bits() == 8 ? bytesAvx2(block, k, tokens, initial) : nibblesAvx2(block, k, tokens, initial);
}

/// 4- and 6-bit codes: pmaddubsw, whose sums stay in 16 bits over 8 words of at most 2 * 15 * 127, or 2 words of at
/// most 2 * 63 * 127. One half after the other.
DotEmitter::Values DotEmitter::nibblesAvx2(Value block, Value k, Tokens tokens, ValueRange initial) {
  Type i16 = f.getBuilder().getIntegerType(16);
  const int64_t wordsAtOnce = encoding().bits() == 4 ? 8 : 2;
  Values sums(initial.begin(), initial.end());
  for (int64_t half = 0; half < 2; ++half) {
    Values pairs(tokens.size());
    for (int64_t word = 0; word < 8; ++word) {
      Value bytes = x86Weights(block, word, half * 32, 32);
      for (auto [i, token] : llvm::enumerate(tokens)) {
        Value x = activationWord(token, f.add(k, word * 4), 8);
        Value product = f.intrinsic("llvm.x86.avx2.pmadd.ub.sw", f.vectorOf(i16), {bytes, x});
        pairs[i] = pairs[i] ? f.add(pairs[i], product) : product;
        if (word % wordsAtOnce != wordsAtOnce - 1)
          continue;
        Value &sum = sums[2 * i + half];
        sum = f.add(sum, maddPairs(pairs[i], splatInteger(i16, 16, 1)));
        pairs[i] = Value();
      }
      // Two words share the loaded bytes, those of 6 bits take more registers than one reload costs.
      if (word % 2 == 1 || encoding().bits() == 6)
        finishBefore(pairs.front() ? pairs : sums);
    }
  }
  return sums;
}

/// 8-bit codes would saturate in pmaddubsw: even and odd columns are widened to 16 bits and go through pmaddwd, one
/// word after the other.
DotEmitter::Values DotEmitter::bytesAvx2(Value block, Value k, Tokens tokens, ValueRange initial) {
  OpBuilder &b = f.getBuilder();
  Location location = block.getLoc();
  Type i16 = b.getIntegerType(16);
  Value eight = splatInteger(i16, 16, 8);
  Values sums(initial.begin(), initial.end());
  for (int64_t word = 0; word < 8; ++word) {
    Values even, odd;
    for (int64_t half = 0; half < 2; ++half) {
      Value w = f.bitcast(x86Weights(block, word, half * 32, 32), i16);
      even.push_back(arith::AndIOp::create(b, location, w, splatInteger(i16, 16, 0xff)));
      odd.push_back(arith::ShRUIOp::create(b, location, w, eight));
    }
    for (auto [i, token] : llvm::enumerate(tokens)) {
      Value x = f.bitcast(activationWord(token, f.add(k, word * 4), 8), i16);
      Value xEven = arith::ShRSIOp::create(b, location, arith::ShLIOp::create(b, location, x, eight), eight);
      Value xOdd = arith::ShRSIOp::create(b, location, x, eight);
      for (int64_t half = 0; half < 2; ++half) {
        Value &sum = sums[2 * i + half];
        sum = f.add(sum, f.add(maddPairs(even[half], xEven), maddPairs(odd[half], xOdd)));
      }
    }
    finishBefore(sums);
  }
  return sums;
}

/// Asks for the bytes that stand one core's DRAM latency times bandwidth (100 ns * 40 GB/s) behind [at, at + bytes),
/// where the last-level cache and the first one still hold them when they are needed. Beyond the end of a matrix that
/// is the next one, or a guard page, for which the instruction does nothing.
void DotEmitter::prefetchX86(Value at, int64_t bytes) {
  constexpr int64_t kAheadBytes = 4608, kLineBytes = 64;
  OpBuilder &b = f.getBuilder();
  Location location = weights.getLoc();
  Value base = f.add(memref::ExtractAlignedPointerAsIndexOp::create(b, location, weights), at);
  for (int64_t line = 0; line < bytes; line += kLineBytes) {
    Value address = arith::IndexCastOp::create(b, location, b.getI64Type(), f.add(base, kAheadBytes + line));
    Value pointer = LLVM::IntToPtrOp::create(b, location, LLVM::LLVMPointerType::get(b.getContext()), address);
    LLVM::Prefetch::create(b, location, pointer, /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }
}

DotEmitter::Values DotEmitter::emitX86(Value row, Tokens tokens) {
  const bool isVnni = isa == Isa::Avx512Vnni;
  const int64_t offset = layout.codeBias();
  Value base = rowBase(row);
  Values accumulators(tokens.size(), f.zeroVector());
  return f.loop(
      f.index(0), f.index(matrix.columns / encoding().group), 1, accumulators, [&](Value group, ValueRange acc) {
        Value block = f.add(base, f.multiply(group, groupBytes()));
        Values sums;
        for (Value token : tokens) {
          Value sum = f.load(rows.sums, {token, group});
          Value start = arith::MulIOp::create(f.getBuilder(), block.getLoc(), sum, f.integerLike(f.i32(), -offset));
          sums.append(isVnni ? 1 : 2, f.splat(start, isVnni ? 16 : 8));
        }
        sums = overSlices(sums, [&](Value slice, ValueRange carried) {
          const int64_t sliceBytes = codeBytes() * 32 / encoding().group;
          Value at = f.add(block, f.multiply(slice, sliceBytes));
          // Slice by slice, in ascending order: a group at once would fill the queue of misses.
          if (tokens.size() == 1)
            prefetchX86(at, encoding().group == 32 ? groupBytes() : sliceBytes);
          Value k = f.add(f.multiply(group, encoding().group), f.multiply(slice, 32));
          if (isa == Isa::AvxVnni)
            return sumsAvxVnni(at, k, tokens, carried);
          return isVnni ? sumsVnni(at, k, tokens, carried) : sumsAvx2(at, k, tokens, carried);
        });
        if (tokens.size() == 1 && encoding().group > 32)
          prefetchX86(f.add(block, codeBytes()), groupBytes() - codeBytes());
        Value scale = weightScales(block, 0, kFloatLanes), minimum;
        if (encoding().minimum)
          minimum = weightMinima(block, 0, kFloatLanes);
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
          if (minimum)
            next.back() = f.fma(minimum, f.splat(activationSum(token, group)), next.back());
        }
        return next;
      });
}

} // namespace moec
