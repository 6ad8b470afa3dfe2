// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the arm64 layout: 8-row blocks, 16 bytes = 2 rows x 8 columns. One token takes sdot with
/// the 8 activations in both halves and one pairwise add for 4 rows at the group's end; two and more take smmla where
/// the target has it. 4-bit codes are used as 16 * code, which the conversion to f32 divides away exactly. Step: lower.
/// Main source: docs/formats.md.
#include "passes/lower/kernels/Dot.h"

using namespace mlir;

namespace moec {

static constexpr int64_t kRowPairs = 4;

/// The codes of columns [16 * chunkPair, +16) of a slice: [chunk][row pair], each vector<16xi8>.
DotEmitter::Values DotEmitter::armWeights(Value slice, int64_t chunkPair) {
  Values result;
  if (matrix.encoding == WeightEncoding::i8) {
    for (int64_t i = 0; i < 2 * kRowPairs; ++i)
      result.push_back(weightBytes(slice, (chunkPair * 2 * kRowPairs + i) * 16, 16));
    return result;
  }
  OpBuilder &b = f.getBuilder();
  Values packed;
  for (int64_t pair = 0; pair < kRowPairs; ++pair)
    packed.push_back(weightBytes(slice, (chunkPair * kRowPairs + pair) * 16, 16));
  for (Value bytes : packed)
    result.push_back(arith::ShLIOp::create(b, slice.getLoc(), bytes, splatInteger(f.i8(), 16, 4)));
  for (Value bytes : packed)
    result.push_back(arith::AndIOp::create(b, slice.getLoc(), bytes, splatInteger(f.i8(), 16, -16)));
  return result;
}

/// f32 of integer sums; exact, because |16 * sum| <= 16 * 7 * 127 * 128 < 2^24.
Value DotEmitter::armFloat(Value sums) {
  if (matrix.encoding == WeightEncoding::i8)
    return f.toFloat(sums);
  return intrinsic("llvm.aarch64.neon.vcvtfxs2fp.v4f32.v4i32", f.vectorOf(f.f32(), 4),
                   {sums, f.integerLike(f.i32(), 4)});
}

DotEmitter::Values DotEmitter::emitSdotGroup(Value block, Value group, Tokens tokens, ValueRange acc) {
  VectorType sumType = f.vectorOf(f.i32(), 4);
  Values sums(tokens.size() * kRowPairs, splatInteger(f.i32(), 4, 0));
  sums = overSlices(sums, [&](Value slice, ValueRange carried) {
    Value at = f.add(block, f.multiply(slice, codeBytes() * 32 / matrix.group));
    Value k = f.add(f.multiply(group, matrix.group), f.multiply(slice, 32));
    Values next(carried.begin(), carried.end());
    for (int64_t chunk = 0; chunk < 4; ++chunk) {
      Values weightsOfChunk = armWeights(at, chunk / 2);
      for (auto [i, token] : llvm::enumerate(tokens)) {
        Value codes = f.loadVector(rows.codes, {token, f.add(k, chunk * 8)}, 8);
        Value x = bitcast(f.splat(f.extract(bitcast(codes, f.getBuilder().getI64Type()), 0), 2), f.i8());
        for (int64_t pair = 0; pair < kRowPairs; ++pair) {
          Value &sum = next[i * kRowPairs + pair];
          sum = intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", sumType,
                          {sum, weightsOfChunk[chunk % 2 * kRowPairs + pair], x});
        }
      }
    }
    return next;
  });
  Value scales[2] = {weightScales(block, 0, 4), weightScales(block, 4, 4)};
  Values next;
  for (auto [i, token] : llvm::enumerate(tokens)) {
    Value sa = f.splat(f.load(rows.scales, {token, group}), 4);
    for (int64_t half = 0; half < 2; ++half) {
      Value *sum = &sums[i * kRowPairs + half * 2];
      Value joined = intrinsic("llvm.aarch64.neon.addp.v4i32", sumType, {sum[0], sum[1]});
      next.push_back(f.fma(armFloat(joined), f.mulf(scales[half], sa), acc[2 * i + half]));
    }
  }
  return next;
}

/// Sums and accumulators are [token pair][row pair], each {row 0 token 0, row 0 token 1, row 1 token 0, row 1 token 1}.
DotEmitter::Values DotEmitter::emitSmmlaGroup(Value block, Value group, Tokens tokens, ValueRange acc) {
  OpBuilder &b = f.getBuilder();
  Location location = block.getLoc();
  VectorType sumType = f.vectorOf(f.i32(), 4);
  const int64_t tokenPairs = tokens.size() / 2;
  Values sums(tokenPairs * kRowPairs, splatInteger(f.i32(), 4, 0));
  sums = overSlices(sums, [&](Value slice, ValueRange carried) {
    Value at = f.add(block, f.multiply(slice, codeBytes() * 32 / matrix.group));
    Value k = f.add(f.multiply(group, matrix.group), f.multiply(slice, 32));
    Values next(carried.begin(), carried.end());
    for (int64_t chunkPair = 0; chunkPair < 2; ++chunkPair) {
      Values w = armWeights(at, chunkPair), x;
      for (Value token : tokens)
        x.push_back(bitcast(f.loadVector(rows.codes, {token, f.add(k, chunkPair * 16)}, 16), b.getI64Type()));
      for (int64_t chunk = 0; chunk < 2; ++chunk) {
        Values columns;
        for (int64_t t = 0; t < tokenPairs; ++t) {
          Value both =
              vector::ShuffleOp::create(b, location, x[2 * t], x[2 * t + 1], ArrayRef<int64_t>{chunk, 2 + chunk});
          columns.push_back(bitcast(both, f.i8()));
        }
        // Row pairs outside, so that an unpacked weight is used up before the next one is needed.
        for (int64_t pair = 0; pair < kRowPairs; ++pair)
          for (int64_t t = 0; t < tokenPairs; ++t) {
            Value &sum = next[t * kRowPairs + pair];
            sum = intrinsic("llvm.aarch64.neon.smmla.v4i32.v16i8", sumType,
                            {sum, w[chunk * kRowPairs + pair], columns[t]});
          }
      }
    }
    return next;
  });
  Value scales = weightScales(block, 0, 8);
  Values next;
  for (int64_t t = 0; t < tokenPairs; ++t) {
    Value first = f.load(rows.scales, {tokens[2 * t], group}), second = f.load(rows.scales, {tokens[2 * t + 1], group});
    Value sa =
        vector::FromElementsOp::create(b, location, f.vectorOf(f.f32(), 4), ValueRange{first, second, first, second});
    for (int64_t pair = 0; pair < kRowPairs; ++pair) {
      int64_t row = 2 * pair;
      Value sw = vector::ShuffleOp::create(b, location, scales, scales, ArrayRef<int64_t>{row, row, row + 1, row + 1});
      int64_t at = t * kRowPairs + pair;
      next.push_back(f.fma(armFloat(sums[at]), f.mulf(sw, sa), acc[at]));
    }
  }
  return next;
}

DotEmitter::Values DotEmitter::emitArm(Value row, Tokens tokens) {
  const bool isMatrix = isa == Isa::I8mm && tokens.size() > 1;
  Value base = rowBase(row);
  Values acc(2 * tokens.size(), f.zeroVector(4));
  acc = f.loop(f.index(0), f.index(matrix.columns / matrix.group), 1, acc, [&](Value group, ValueRange carried) {
    Value block = f.add(base, f.multiply(group, groupBytes()));
    if (tokens.size() == 1)
      prefetch(block, groupBytes());
    return isMatrix ? emitSmmlaGroup(block, group, tokens, carried) : emitSdotGroup(block, group, tokens, carried);
  });
  auto shuffle = [&](Value a, Value b, ArrayRef<int64_t> lanes) {
    return vector::ShuffleOp::create(f.getBuilder(), a.getLoc(), a, b, lanes).getResult();
  };
  Values result;
  for (size_t i = 0; i < tokens.size(); ++i) {
    Value low = acc[2 * i], high = acc[2 * i + 1];
    if (isMatrix) {
      Value *pairs = &acc[i / 2 * kRowPairs];
      int64_t odd = i % 2;
      low = shuffle(pairs[0], pairs[1], {odd, 2 + odd, 4 + odd, 6 + odd});
      high = shuffle(pairs[2], pairs[3], {odd, 2 + odd, 4 + odd, 6 + odd});
    }
    result.push_back(shuffle(low, high, {0, 1, 2, 3, 4, 5, 6, 7}));
  }
  return result;
}

} // namespace moec
