// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the arm64 layout: 8-row blocks, 16 bytes = 2 rows x 8 columns. One token takes sdot with
/// the 8 activations in both halves and one pairwise add for 4 rows at the group's end; two and more take smmla where
/// the target has it. 4-bit codes are used as 16 * code, 6-bit codes as 4 * code, which the
/// conversion to f32 divides away exactly. Step: lower.
/// Main source: docs/pack-format.md.
#include "passes/lower/kernels/Dot.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace moec {

static constexpr int64_t kRowPairs = 4;

Value DotEmitter::armWeights(Value slice, int64_t chunk, int64_t rowPair) {
  if (encoding().bits() == 8)
    return weightBytes(slice, (chunk * kRowPairs + rowPair) * 16, 16);
  OpBuilder &b = f.getBuilder();
  Location location = slice.getLoc();
  auto shifted = [&](Value bytes, int64_t left) -> Value {
    return left == 0 ? bytes : arith::ShLIOp::create(b, location, bytes, splatInteger(f.i8(), 16, left)).getResult();
  };
  // The low 4 bits of the code in the high half of the byte, zeros below them.
  Value packed = weightBytes(slice, (chunk / 2 * kRowPairs + rowPair) * 16, 16);
  Value low = chunk % 2 == 0 ? shifted(packed, 4)
                             : arith::AndIOp::create(b, location, packed, splatInteger(f.i8(), 16, -16)).getResult();
  if (encoding().bits() == 4)
    return low;
  // Behind the low halves: 16 bytes hold the high 2 bits of 4 chunks. They go to the top, the low 4 bits behind them.
  Value high = shifted(weightBytes(slice, (2 * kRowPairs + rowPair) * 16, 16), 6 - 2 * chunk);
  return intrinsic("llvm.aarch64.neon.vsri.v16i8", f.vectorOf(f.i8(), 16), {high, low, f.integerLike(f.i32(), 2)});
}

/// f32 of integer sums; exact, because |2^armShift() * sum| <= 128 * 127 * 128 < 2^24.
Value DotEmitter::armFloat(Value sums) {
  if (armShift() == 0)
    return f.toFloat(sums);
  return intrinsic("llvm.aarch64.neon.vcvtfxs2fp.v4f32.v4i32", f.vectorOf(f.f32(), 4),
                   {sums, f.integerLike(f.i32(), armShift())});
}

/// Rows [4 * half, +4 * numHalves). Sums are [token][row pair], accumulators [token][half].
DotEmitter::Values DotEmitter::emitSdotGroup(Value block, Value group, Tokens tokens, int64_t half, ValueRange acc) {
  const int64_t numHalves = acc.size() / tokens.size(), numPairs = 2 * numHalves;
  VectorType sumType = f.vectorOf(f.i32(), 4);
  Values sums(tokens.size() * numPairs, splatInteger(f.i32(), 4, 0));
  auto sdot = [&](Value slice, ValueRange carried) {
    Value at = f.add(block, f.multiply(slice, codeBytes() * 32 / encoding().group));
    Value k = f.add(f.multiply(group, encoding().group), f.multiply(slice, 32));
    Values next(carried.begin(), carried.end());
    for (int64_t chunkPair = 0; chunkPair < 2; ++chunkPair) {
      SmallVector<Values, 4> w(numPairs);
      for (int64_t pair = 0; pair < numPairs; ++pair)
        for (int64_t chunk = 0; chunk < 2; ++chunk)
          w[pair].push_back(armWeights(at, 2 * chunkPair + chunk, 2 * half + pair));
      for (int64_t chunk = 0; chunk < 2; ++chunk)
        for (auto [i, token] : llvm::enumerate(tokens)) {
          Value codes = f.loadVector(rows.codes, {token, f.add(k, (2 * chunkPair + chunk) * 8)}, 8);
          Value x = bitcast(f.splat(f.extract(bitcast(codes, f.getBuilder().getI64Type()), 0), 2), f.i8());
          for (int64_t pair = 0; pair < numPairs; ++pair) {
            Value &sum = next[i * numPairs + pair];
            sum = intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", sumType, {sum, w[pair][chunk], x});
          }
        }
    }
    return next;
  };
  sums = isa == Isa::Neon ? neonSums(block, group, tokens, half, numPairs) : overSlices(sums, sdot);
  Values scales, minima, next;
  for (int64_t i = 0; i < numHalves; ++i) {
    scales.push_back(weightScales(block, 4 * (half + i), 4));
    if (encoding().minimum)
      minima.push_back(weightMinima(block, 4 * (half + i), 4));
  }
  for (auto [i, token] : llvm::enumerate(tokens)) {
    Value sa = f.splat(f.load(rows.scales, {token, group}), 4);
    for (int64_t part = 0; part < numHalves; ++part) {
      Value *sum = &sums[i * numPairs + part * 2];
      Value joined = intrinsic("llvm.aarch64.neon.addp.v4i32", sumType, {sum[0], sum[1]});
      next.push_back(f.fma(armFloat(joined), f.mulf(scales[part], sa), acc[numHalves * i + part]));
      if (encoding().minimum)
        next.back() = f.fma(minima[part], f.splat(activationSum(token, group), 4), next.back());
    }
  }
  return next;
}

/// The activations of 32 columns as smmla wants them: [chunk][token pair], each {token 0, token 1} x 8 columns.
DotEmitter::Values DotEmitter::smmlaColumns(Value k, Tokens tokens) {
  OpBuilder &b = f.getBuilder();
  Values result;
  for (int64_t chunkPair = 0; chunkPair < 2; ++chunkPair) {
    Values x;
    for (Value token : tokens)
      x.push_back(bitcast(f.loadVector(rows.codes, {token, f.add(k, chunkPair * 16)}, 16), b.getI64Type()));
    for (int64_t chunk = 0; chunk < 2; ++chunk)
      for (size_t i = 0; i < tokens.size(); i += 2) {
        Value both = vector::ShuffleOp::create(b, k.getLoc(), x[i], x[i + 1], ArrayRef<int64_t>{chunk, 2 + chunk});
        result.push_back(bitcast(both, f.i8()));
      }
  }
  return result;
}

/// Adds the products of one row pair and 32 columns to its sums, [token pair].
DotEmitter::Values DotEmitter::smmlaRowPair(Value slice, int64_t pair, ValueRange columns, ValueRange sums) {
  Values next(sums.begin(), sums.end());
  for (int64_t chunkPair = 0; chunkPair < 2; ++chunkPair) {
    Values w{armWeights(slice, 2 * chunkPair, pair), armWeights(slice, 2 * chunkPair + 1, pair)};
    for (size_t chunk = 0; chunk < 2; ++chunk)
      for (auto [t, sum] : llvm::enumerate(next))
        sum = intrinsic("llvm.aarch64.neon.smmla.v4i32.v16i8", f.vectorOf(f.i32(), 4),
                        {sum, w[chunk], columns[(2 * chunkPair + chunk) * next.size() + t]});
  }
  return next;
}

/// Loads behind this place are not moved before `values` are known. The scheduler knows no other limit to what it keeps
/// in registers. Costs no instruction.
void DotEmitter::finishBefore(ValueRange values) {
  std::string constraints = llvm::join(SmallVector<StringRef>(values.size(), "w"), ",");
  LLVM::InlineAsmOp::create(f.getBuilder(), weights.getLoc(), TypeRange{}, values, "", constraints,
                            /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            /*asm_dialect=*/{}, /*operand_attrs=*/{});
}

/// Sums and accumulators are [row pair][token pair], each {row 0 token 0, row 0 token 1, row 1 token 0, row 1 token 1}.
/// A row pair is finished before the next one, so that few weights and sums live at once.
DotEmitter::Values DotEmitter::emitSmmlaGroup(Value block, Value group, Tokens tokens, ValueRange acc) {
  OpBuilder &b = f.getBuilder();
  Location location = block.getLoc();
  const size_t tokenPairs = tokens.size() / 2;
  Value zero = splatInteger(f.i32(), 4, 0);
  Values sa;
  auto twice = [&](Value first, Value second) -> Value {
    return vector::FromElementsOp::create(b, location, f.vectorOf(f.f32(), 4),
                                          ValueRange{first, second, first, second});
  };
  auto rowsOfPair = [&](Value eight, int64_t pair) -> Value {
    int64_t row = 2 * pair;
    return vector::ShuffleOp::create(b, location, eight, eight, ArrayRef<int64_t>{row, row, row + 1, row + 1});
  };
  auto loadScales = [&] {
    for (size_t i = 0; i < tokens.size(); i += 2)
      sa.push_back(twice(f.load(rows.scales, {tokens[i], group}), f.load(rows.scales, {tokens[i + 1], group})));
    return weightScales(block, 0, 8);
  };
  auto scaled = [&](Value scales, int64_t pair, ValueRange sums) {
    Value sw = rowsOfPair(scales, pair);
    Values next;
    for (size_t t = 0; t < tokenPairs; ++t)
      next.push_back(f.fma(armFloat(sums[t]), f.mulf(sw, sa[t]), acc[pair * tokenPairs + t]));
    return next;
  };
  // Minima come last, when activations and scales are no longer in registers.
  auto addMinima = [&](Values &next) {
    if (!encoding().minimum)
      return;
    Value minima = weightMinima(block, 0, 8);
    for (size_t t = 0; t < tokenPairs; ++t) {
      Value sums = twice(activationSum(tokens[2 * t], group), activationSum(tokens[2 * t + 1], group));
      for (int64_t pair = 0; pair < kRowPairs; ++pair) {
        Value &sum = next[pair * tokenPairs + t];
        sum = f.fma(rowsOfPair(minima, pair), sums, sum);
      }
    }
  };
  // 8-bit codes need no registers to unpack; two row pairs share their loads. But the two slices of a group of 64 are
  // unrolled, and with 4 tokens leave no room for that.
  const bool isTight = encoding().bits() < 8 || (encoding().group == 64 && tokenPairs > 1);
  auto isFence = [&](int64_t pair) { return isTight || pair % 2 == 1; };
  Value k = f.multiply(group, encoding().group);
  Values next;
  if (encoding().group == 32) {
    Values columns = smmlaColumns(k, tokens);
    Value scales = loadScales();
    if (encoding().bits() == 6)
      finishBefore(columns);
    for (int64_t pair = 0; pair < kRowPairs; ++pair) {
      next.append(scaled(scales, pair, smmlaRowPair(block, pair, columns, Values(tokenPairs, zero))));
      if (isFence(pair))
        finishBefore(ValueRange(next).take_back(tokenPairs));
    }
    addMinima(next);
    return next;
  }
  Values sums = overSlices(Values(tokenPairs * kRowPairs, zero), [&](Value slice, ValueRange carried) {
    Value at = f.add(block, f.multiply(slice, codeBytes() * 32 / encoding().group));
    Values columns = smmlaColumns(f.add(k, f.multiply(slice, 32)), tokens), result;
    for (int64_t pair = 0; pair < kRowPairs; ++pair) {
      result.append(smmlaRowPair(at, pair, columns, carried.slice(pair * tokenPairs, tokenPairs)));
      if (isFence(pair))
        finishBefore(ValueRange(result).take_back(tokenPairs));
    }
    return result;
  });
  Value scales = loadScales();
  for (int64_t pair = 0; pair < kRowPairs; ++pair)
    next.append(scaled(scales, pair, ValueRange(sums).slice(pair * tokenPairs, tokenPairs)));
  addMinima(next);
  return next;
}

DotEmitter::Values DotEmitter::overGroups(Value base, ValueRange acc,
                                          function_ref<Values(Value, Value, ValueRange)> body) {
  return f.loop(f.index(0), f.index(matrix.columns / encoding().group), 1, acc, [&](Value group, ValueRange carried) {
    return body(f.add(base, f.multiply(group, groupBytes())), group, carried);
  });
}

DotEmitter::Values DotEmitter::emitArm(Value row, Tokens tokens) {
  Value base = rowBase(row);
  auto shuffle = [&](Value a, Value b, ArrayRef<int64_t> lanes) {
    return vector::ShuffleOp::create(f.getBuilder(), a.getLoc(), a, b, lanes).getResult();
  };
  auto join = [&](Value low, Value high) { return shuffle(low, high, {0, 1, 2, 3, 4, 5, 6, 7}); };
  Values result;
  if (isa == Isa::I8mm && tokens.size() > 1) {
    const size_t tokenPairs = tokens.size() / 2;
    Values acc =
        overGroups(base, Values(2 * tokens.size(), f.zeroVector(4)), [&](Value block, Value group, ValueRange carried) {
          return emitSmmlaGroup(block, group, tokens, carried);
        });
    for (size_t i = 0; i < tokens.size(); ++i) {
      int64_t odd = i % 2;
      auto four = [&](size_t pair) {
        return shuffle(acc[pair * tokenPairs + i / 2], acc[(pair + 1) * tokenPairs + i / 2],
                       {odd, 2 + odd, 4 + odd, 6 + odd});
      };
      result.push_back(join(four(0), four(2)));
    }
    return result;
  }
  // The sums of 8 rows x 4 tokens do not fit in registers besides the accumulators: 4 rows after the other 4.
  // Without sdot there are twice as many sums.
  const size_t mostWhole = isa == Isa::Neon ? 1 : 2;
  const int64_t halvesAtOnce = tokens.size() > mostWhole ? 1 : 2;
  SmallVector<Values, 2> passes;
  for (int64_t half = 0; half < 2; half += halvesAtOnce)
    passes.push_back(overGroups(base, Values(halvesAtOnce * tokens.size(), f.zeroVector(4)),
                                [&](Value block, Value group, ValueRange carried) {
                                  if (tokens.size() == 1)
                                    prefetch(block, groupBytes());
                                  return emitSdotGroup(block, group, tokens, half, carried);
                                }));
  for (size_t i = 0; i < tokens.size(); ++i)
    result.push_back(halvesAtOnce == 1 ? join(passes[0][i], passes[1][i])
                                       : join(passes[0][2 * i], passes[0][2 * i + 1]));
  return result;
}

} // namespace moec
