// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the arm64 layout by smmla: 2 rows x 8 columns times 2 tokens x 8 columns. Activations are
/// read from a copy in the order of the instructions, made once for each call and block of tokens, so that one pointer
/// runs through it and 64 bytes are one load. Step: lower. Main source: docs/pack-format.md.
///
/// The copy holds for each group, with P token pairs: of 4-bit codes P vectors of kShiftBits - 8 * sum of the codes,
/// i32 {token 0, token 1, token 0, token 1}; for each 8 columns P vectors {token 0, token 1} x 8 codes; P vectors of
/// scales in the order of the sums; where there are minima, P vectors of scale * sum.
#include "passes/lower/kernels/Dot.h"

using namespace mlir;

namespace moec {

/// Of the 128 KiB of a thread's stack (runtime/plan/Plan.h). An expert's gate and up may have a copy each.
static constexpr int64_t kMaxCopyBytes = 48 * 1024;
static constexpr int64_t kVectorBytes = 16, kLoadBytes = 64;
/// The bits of kShift. Added to an integer below 2^22 they are those of the f32 that is kShift plus the integer: a
/// subtraction converts, which is one half of what scvtf takes on the large cores.
static constexpr int64_t kShiftBits = 0x4b400000;
static constexpr float kShift = 12582912.0f; // 1.5 * 2^23

//===-- The copy ------------------------------------------------------------===//

int64_t DotEmitter::copyBytesOfGroup(int64_t numTokens) const {
  const int64_t extra = 1 + (encoding().bits() == 4) + encoding().minimum;
  // Whole loads of 64 bytes.
  const int64_t each = std::max(numTokens / 2 * kVectorBytes, kLoadBytes);
  return numTokens * encoding().group + extra * each;
}

int64_t DotEmitter::widestCopy() const {
  if (isa != Isa::I8mm || !encoding().isInteger())
    return 0;
  for (int64_t width : {8, 4, 2})
    if (copyBytesOfGroup(width) * (matrix.columns / encoding().group) <= kMaxCopyBytes)
      return width;
  return 0;
}

bool DotEmitter::copiesRows() const { return widestCopy() > 0; }

void DotEmitter::reserveCopy() {
  copy = f.scratch(copyBytesOfGroup(widestCopy()) * (matrix.columns / encoding().group), f.i8());
}

void DotEmitter::copyRows(Tokens tokens) {
  OpBuilder &b = f.getBuilder();
  Location location = copy.getLoc();
  const int64_t numPairs = tokens.size() / 2, extraBytes = std::max(numPairs * kVectorBytes, kLoadBytes);
  const bool hasBias = encoding().bits() == 4;
  auto twice = [&](Value first, Value second, Type type) -> Value {
    return vector::FromElementsOp::create(b, location, f.vectorOf(type, 4), ValueRange{first, second, first, second});
  };
  f.loop(f.index(0), f.index(matrix.columns / group()), 1, [&](Value number) {
    Value out = f.multiply(number, copyBytesOfGroup(tokens.size()));
    Value scalesAt = f.add(out, (hasBias ? extraBytes : 0) + (int64_t)tokens.size() * group());
    for (int64_t pair = 0; pair < numPairs; ++pair) {
      Value first = tokens[2 * pair], second = tokens[2 * pair + 1];
      auto both = [&](Value memref, Type type) {
        return twice(f.load(memref, {first, number}), f.load(memref, {second, number}), type);
      };
      Value sums = both(rows.sums, f.i32()), scales = both(rows.scales, f.f32());
      if (hasBias) {
        Value bias = arith::MulIOp::create(b, location, sums, splatInteger(f.i32(), 4, -8));
        bias = f.add(bias, splatInteger(f.i32(), 4, kShiftBits));
        f.storeBytes(bias, copy, f.add(out, pair * kVectorBytes));
      }
      f.storeBytes(scales, copy, f.add(scalesAt, pair * kVectorBytes));
      if (encoding().minimum)
        f.storeBytes(f.mulf(f.toFloat(sums), scales), copy, f.add(scalesAt, extraBytes + pair * kVectorBytes));
    }
    Value k = f.multiply(number, group()), codesAt = f.add(out, hasBias ? extraBytes : 0);
    f.loop(f.index(0), f.index(group() / 16), 1, [&](Value sixteen) {
      Value column = f.add(k, f.multiply(sixteen, 16));
      Value to = f.add(codesAt, f.multiply(sixteen, 16 * (int64_t)tokens.size()));
      for (int64_t pair = 0; pair < numPairs; ++pair) {
        Values x;
        for (Value token : {tokens[2 * pair], tokens[2 * pair + 1]})
          x.push_back(f.bitcast(f.loadVector(rows.codes, {token, column}, 16), b.getI64Type()));
        for (int64_t chunk = 0; chunk < 2; ++chunk) {
          Value both = vector::ShuffleOp::create(b, location, x[0], x[1], ArrayRef<int64_t>{chunk, 2 + chunk});
          f.storeBytes(f.bitcast(both, f.i8()), copy, f.add(to, (chunk * numPairs + pair) * kVectorBytes));
        }
      }
    });
  });
}

//===-- Products ------------------------------------------------------------===//

/// `count` vectors of the copy; the stream moves behind them, but at least by 64 bytes.
DotEmitter::Values DotEmitter::nextVectors(Value &stream, Type element, int64_t count) {
  const int64_t width = 128 / element.getIntOrFloatBitWidth();
  std::string name = "llvm.aarch64.neon.ld1x4.v" + std::to_string(width) + (element.isF32() ? "f" : "i") +
                     std::to_string(element.getIntOrFloatBitWidth()) + ".p0";
  Values result;
  for (int64_t done = 0; done < count; done += 4) {
    result.append(loadMany(name, element, width, 4, stream));
    moveOn(stream, kLoadBytes);
  }
  result.resize(count);
  return result;
}

/// Products of `rowPairs` of a block. Accumulators are [row pair][token pair], each {row 0 token 0, row 0 token 1, row
/// 1 token 0, row 1 token 1}. Streams are the group's copy and, of 4-bit codes, the codes of the pass.
DotEmitter::Values DotEmitter::emitSmmlaGroup(Value block, Streams streams, int64_t numPairs,
                                              ArrayRef<int64_t> rowPairs, ValueRange acc) {
  OpBuilder &b = f.getBuilder();
  Location location = block.getLoc();
  const bool isSix = encoding().bits() == 6;
  Value &stream = streams.front();
  Values sums;
  if (isNibbles() && numPairs == 4) {
    // Loaded for each row pair: a load of 4 vectors costs less than 4 copies.
    for (size_t i = 0; i < rowPairs.size(); ++i) {
      Value again = stream;
      sums.append(nextVectors(again, f.i32(), numPairs));
      stream = i + 1 < rowPairs.size() ? hiddenInteger(stream) : again;
    }
  } else if (isNibbles()) {
    Values first = nextVectors(stream, f.i32(), numPairs);
    for (size_t i = 0; i < rowPairs.size(); ++i)
      sums.append(first);
  } else {
    sums.append(rowPairs.size() * numPairs, splatInteger(f.i32(), 4, 0));
  }
  // The codes of a pass of 4-bit codes are 64 bytes in a slice.
  const bool isCodeStream = isNibbles() && rowPairs.size() == 2;
  int64_t numSlices = 0;
  sums = overArmSlices(block, sums, streams, [&](Value slice, Streams streams, Values &next) {
    Values codes;
    if (isCodeStream) {
      codes = loadMany("llvm.aarch64.neon.ld1x4.v16i8.p0", f.i8(), 16, 4, streams[1]);
      const bool isLast = ++numSlices == group() / 32;
      streams[1] = hiddenInteger(f.add(streams[1], isLast ? stepToGroup : stepToSlice));
    }
    const int64_t chunksAtOnce = 4 / numPairs;
    for (int64_t chunk = 0; chunk < 4; chunk += chunksAtOnce) {
      // Unpacking takes registers, and so do the loads of later slices.
      if (chunk > 0 && (isSix || (chunk == 2 && group() > 32)))
        finishBefore(next);
      Values x = nextVectors(streams.front(), f.i8(), 4);
      for (int64_t c = 0; c < chunksAtOnce; ++c) {
        // The loop over slices of shorter groups is unrolled.
        if (isSix && c == 2 && group() < 128)
          finishBefore(next);
        for (auto [i, rowPair] : llvm::enumerate(rowPairs)) {
          Value w = isCodeStream ? codes[chunk + c] : armWeights(slice, chunk + c, rowPair, /*isJoined=*/true);
          if (isCodeStream && rowPair < 2)
            w = arith::AndIOp::create(b, location, w, splatInteger(f.i8(), 16, 15));
          for (int64_t t = 0; t < numPairs; ++t) {
            Value &sum = next[i * numPairs + t];
            sum = f.intrinsic("llvm.aarch64.neon.smmla.v4i32.v16i8", f.vectorOf(f.i32(), 4),
                              {sum, w, x[c * numPairs + t]});
          }
        }
      }
    }
    finishBefore(next);
  });
  auto rowsOfPair = [&](Value eight, int64_t pair) -> Value {
    int64_t row = 2 * pair;
    return vector::ShuffleOp::create(b, location, eight, eight, ArrayRef<int64_t>{row, row, row + 1, row + 1});
  };
  auto floatOf = [&](size_t i, int64_t t) -> Value {
    Value sum = sums[i * numPairs + t];
    if (!isNibbles())
      return armFloat(sum, isSix ? 2 : 0);
    Value shifted = f.bitcast(sum, f.f32());
    if (rowPairs[i] < 2)
      return f.subf(shifted, f.constantLike(shifted, kShift));
    // Of two row pairs that share bytes the second one's sums hold the first one's.
    Value joined = f.subf(shifted, f.bitcast(sums[(i - rowPairs.size() / 2) * numPairs + t], f.f32()));
    return f.mulf(joined, f.constantLike(joined, 1.0f / 16.0f));
  };
  Values sa = nextVectors(stream, f.f32(), numPairs);
  // Behind the codes, whose stream has moved on.
  Value scaleBlock = isCodeStream ? behind(streams[1], -(groupBytes() + rowPairs.front() * 64)) : block;
  Value scales = scalesAt(scaleBlock, 0, 8);
  Values next(acc.size());
  for (auto [i, rowPair] : llvm::enumerate(rowPairs)) {
    Value sw = rowsOfPair(scales, rowPair);
    for (int64_t t = 0; t < numPairs; ++t) {
      Value value = floatOf(i, t);
      next[i * numPairs + t] = f.fma(value, f.mulf(sw, sa[t]), acc[i * numPairs + t]);
    }
  }
  if (!encoding().minimum)
    return next;
  finishBefore(next);
  Values activations = nextVectors(stream, f.f32(), numPairs);
  Value minima = minimaAt(scaleBlock, 0, 8);
  for (auto [i, rowPair] : llvm::enumerate(rowPairs))
    for (int64_t t = 0; t < numPairs; ++t)
      next[i * numPairs + t] = f.fma(rowsOfPair(minima, rowPair), activations[t], next[i * numPairs + t]);
  return next;
}

DotEmitter::Values DotEmitter::emitSmmla(Value row, Tokens tokens) {
  OpBuilder &b = f.getBuilder();
  Value base = rowBase(row);
  const int64_t numPairs = tokens.size() / 2;
  // 8 rows x 4 tokens do not fit in registers: 4 rows after the other 4, the two pairs that share bytes at once.
  SmallVector<SmallVector<int64_t, 4>, 2> passes{{0, 1, 2, 3}};
  if (numPairs > 1)
    passes = isNibbles() ? SmallVector<SmallVector<int64_t, 4>, 2>{{0, 2}, {1, 3}}
                         : SmallVector<SmallVector<int64_t, 4>, 2>{{0, 1}, {2, 3}};
  // Hidden: an increment that is known would not be part of a load.
  auto step = [&](int64_t bytes) { return hiddenInteger(f.integerLike(b.getI64Type(), bytes)); };
  stepToSlice = step(128);
  stepToGroup = step(128 + groupBytes() - codeBytes());
  const int64_t groupsAtOnce = group() > 32 || encoding().bits() == 6 ? 1 : encoding().minimum ? 2 : 4;
  Values acc(4 * numPairs);
  for (ArrayRef<int64_t> rowPairs : passes) {
    const int64_t numSums = rowPairs.size() * numPairs;
    Values carried(numSums, f.zeroVector(4));
    carried.push_back(addressOf(copy, f.index(0)));
    if (isNibbles() && rowPairs.size() == 2)
      carried.push_back(addressOf(weights, f.add(base, rowPairs.front() * 64)));
    Values finished =
        overGroups(base, carried, groupsAtOnce, [&](Value block, Value, int64_t count, ValueRange values) {
          Values next(values.take_front(numSums)), streams(values.drop_front(numSums));
          for (int64_t number = 0; number < count; ++number) {
            next = emitSmmlaGroup(behind(block, number * groupBytes()), streams, numPairs, rowPairs, next);
            if (number + 1 < count)
              finishBefore(next);
          }
          next.append(streams);
          return next;
        });
    for (auto [i, rowPair] : llvm::enumerate(rowPairs))
      for (int64_t t = 0; t < numPairs; ++t)
        acc[rowPair * numPairs + t] = finished[i * numPairs + t];
  }
  auto shuffle = [&](Value x, Value y, ArrayRef<int64_t> lanes) {
    return vector::ShuffleOp::create(b, x.getLoc(), x, y, lanes).getResult();
  };
  Values result;
  for (int64_t i = 0; i < (int64_t)tokens.size(); ++i) {
    const int64_t odd = i % 2, t = i / 2;
    auto four = [&](int64_t pair) {
      return shuffle(acc[pair * numPairs + t], acc[(pair + 1) * numPairs + t], {odd, 2 + odd, 4 + odd, 6 + odd});
    };
    result.push_back(shuffle(four(0), four(2), {0, 1, 2, 3, 4, 5, 6, 7}));
  }
  return result;
}

} // namespace moec
