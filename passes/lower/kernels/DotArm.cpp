// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the arm64 layout: 8-row blocks, 16 bytes = 2 rows x 8 columns. One token takes sdot with
/// the 8 activations in both halves and one pairwise add for 4 rows at the group's end; several take smmla where the
/// target has it (DotSmmla.cpp).
///
/// A byte b = 16 h + l of 4-bit codes holds the code h of one row and the code plus 8, l = 0 .. 15, of another. The
/// sums of b x and l x are formed, from -8 times the sum of x on; the second one is that of the one row, and the
/// difference is 16 times that of the other. 6-bit codes are used as 4 * code. The conversion to f32 divides 16 or 4
/// away exactly. Step: lower. Main source: docs/pack-format.md.
#include "passes/lower/kernels/Dot.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace moec {

static constexpr int64_t kRowPairs = 4, kChunks = 4;

//===-- Weights -------------------------------------------------------------===//

Value DotEmitter::armWeights(Value slice, int64_t chunk, int64_t rowPair, bool isJoined) {
  if (encoding().bits() == 8)
    return loadAt(slice, (chunk * kRowPairs + rowPair) * 16, f.i8(), 16);
  OpBuilder &b = f.getBuilder();
  Location location = slice.getLoc();
  if (isNibbles()) {
    Value both = loadAt(slice, (rowPair % 2 * kChunks + chunk) * 16, f.i8(), 16);
    if (rowPair < 2)
      return arith::AndIOp::create(b, location, both, splatInteger(f.i8(), 16, 15));
    return isJoined ? both : arith::ShRSIOp::create(b, location, both, splatInteger(f.i8(), 16, 4)).getResult();
  }
  auto shifted = [&](Value bytes, int64_t left) -> Value {
    return left == 0 ? bytes : arith::ShLIOp::create(b, location, bytes, splatInteger(f.i8(), 16, left)).getResult();
  };
  // The low 4 bits of the code in the high half of the byte, zeros below them.
  Value packed = loadAt(slice, (chunk / 2 * kRowPairs + rowPair) * 16, f.i8(), 16);
  Value low = chunk % 2 == 0 ? shifted(packed, 4)
                             : arith::AndIOp::create(b, location, packed, splatInteger(f.i8(), 16, -16)).getResult();
  // Behind the low halves: 16 bytes hold the high 2 bits of 4 chunks. They go to the top, the low 4 bits behind them.
  Value high = shifted(loadAt(slice, (2 * kRowPairs + rowPair) * 16, f.i8(), 16), 6 - 2 * chunk);
  return f.intrinsic("llvm.aarch64.neon.vsri.v16i8", f.vectorOf(f.i8(), 16), {high, low, f.integerLike(f.i32(), 2)});
}

/// Exact, because |sums| <= 128 * 127 * 128 < 2^24.
Value DotEmitter::armFloat(Value sums, int64_t shift) {
  if (shift == 0)
    return f.toFloat(sums);
  return f.intrinsic("llvm.aarch64.neon.vcvtfxs2fp.v4f32.v4i32", f.vectorOf(f.f32(), 4),
                     {sums, f.integerLike(f.i32(), shift)});
}

//===-- Memory --------------------------------------------------------------===//

Value DotEmitter::addressOf(Value memref, Value index) {
  OpBuilder &b = f.getBuilder();
  Location location = memref.getLoc();
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, location, memref);
  return arith::IndexCastOp::create(b, location, b.getI64Type(), f.add(start, index));
}

/// Addresses are integers, so that a hidden one stays a pointer that moves, with the displacements of the instructions.
Value DotEmitter::behind(Value address, int64_t bytes) {
  return bytes == 0 ? address : f.add(address, f.integerLike(address.getType(), bytes));
}

Value DotEmitter::pointerTo(Value address) {
  OpBuilder &b = f.getBuilder();
  return LLVM::IntToPtrOp::create(b, address.getLoc(), LLVM::LLVMPointerType::get(b.getContext()), address);
}

Value DotEmitter::loadAt(Value address, int64_t offset, Type element, int64_t width) {
  return LLVM::LoadOp::create(f.getBuilder(), address.getLoc(), f.vectorOf(element, width),
                              pointerTo(behind(address, offset)), /*alignment=*/1);
}

Value DotEmitter::scalesAt(Value block, int64_t first, int64_t width) {
  return f.fromHalf(loadAt(block, codeBytes() + first * 2, f.getBuilder().getF16Type(), width));
}

Value DotEmitter::minimaAt(Value block, int64_t first, int64_t width) {
  return scalesAt(block, first + rowBlock(), width);
}

DotEmitter::Values DotEmitter::loadMany(StringRef name, Type element, int64_t width, int64_t count, Value address) {
  OpBuilder &b = f.getBuilder();
  Location location = address.getLoc();
  Type vector = f.vectorOf(element, width);
  auto structure = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, vector));
  Value loaded = f.intrinsic(name, structure, pointerTo(address));
  Values result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(LLVM::ExtractValueOp::create(b, location, loaded, i));
  return result;
}

/// The next 8 * count activations of a row.
DotEmitter::Values DotEmitter::splatColumns(Value &stream, int64_t count) {
  OpBuilder &b = f.getBuilder();
  Values result;
  std::string name = "llvm.aarch64.neon.ld" + std::to_string(count) + "r.v2i64.p0";
  for (Value eight : loadMany(name, b.getI64Type(), 2, count, stream))
    result.push_back(f.bitcast(eight, f.i8()));
  moveOn(stream, 8 * count);
  return result;
}

void DotEmitter::moveOn(Value &stream, int64_t bytes) { stream = hiddenInteger(behind(stream, bytes)); }

/// Asks for each line of some blocks once, some blocks ahead. Behind the matrix the instruction does nothing.
void DotEmitter::prefetchAhead(Value block, int64_t bytes) {
  // Far enough for DRAM latency at one core's bandwidth (100 ns * 20 GB/s), near enough to stay in the first-level
  // cache.
  constexpr int64_t kAheadBytes = 2048, kLineBytes = 64;
  for (int64_t line = 0; line < bytes; line += kLineBytes)
    LLVM::Prefetch::create(f.getBuilder(), block.getLoc(), pointerTo(behind(block, kAheadBytes + line)), /*rw=*/0,
                           /*hint=*/3, /*cache=*/1);
}

/// The same vector, which the optimizer cannot see through. Costs no instruction.
Value DotEmitter::opaque(Value vector) {
  auto copy = LLVM::InlineAsmOp::create(f.getBuilder(), vector.getLoc(), TypeRange{vector.getType()},
                                        ValueRange{vector}, "", "=w,0", /*has_side_effects=*/false,
                                        /*is_align_stack=*/false, LLVM::TailCallKind::None, /*asm_dialect=*/{},
                                        /*operand_attrs=*/{});
  return copy.getResult(0);
}

//===-- sdot ----------------------------------------------------------------===//

DotEmitter::Values DotEmitter::overArmSlices(Value block, ValueRange sums, Streams streams, SliceBody body) {
  const int64_t sliceBytes = codeBytes() * 32 / group();
  Values carried(sums.begin(), sums.end());
  carried.append(streams.begin(), streams.end());
  auto step = [&](Value slice, ValueRange values) {
    Values next(values.take_front(sums.size())), x(values.drop_front(sums.size()));
    body(slice, x, next);
    next.append(x);
    return next;
  };
  if (encoding().bits() == 6) {
    // Unpacking takes many instructions.
    carried.push_back(block);
    carried = overSlices(carried, [&](Value, ValueRange values) {
      Values next = step(values.back(), values.drop_back());
      next.push_back(behind(values.back(), sliceBytes));
      return next;
    });
    carried.pop_back();
  } else {
    for (int64_t slice = 0; slice < group() / 32; ++slice) {
      if (slice > 0)
        finishBefore(ArrayRef(carried).take_front(sums.size()));
      carried = step(behind(block, slice * sliceBytes), carried);
    }
  }
  llvm::copy(ArrayRef(carried).drop_front(sums.size()), streams.begin());
  carried.truncate(sums.size());
  return carried;
}

/// Sums of rows [4 * half, +2 * numPairs) of a group, [token][row pair], with or without the codes of bytes joined.
DotEmitter::Values DotEmitter::sdotSums(Value block, Streams streams, int64_t half, int64_t numPairs, bool isJoined) {
  VectorType sumType = f.vectorOf(f.i32(), 4);
  Values sums(streams.size() * numPairs, splatInteger(f.i32(), 4, 0));
  return overArmSlices(block, sums, streams, [&](Value slice, Streams x32, Values &next) {
    // Few weights live at once where they are used for several tokens, or take registers to unpack.
    const int64_t chunksAtOnce = x32.size() > 1 || encoding().bits() == 6 ? 2 : kChunks;
    for (int64_t first = 0; first < kChunks; first += chunksAtOnce) {
      if (first > 0)
        finishBefore(next);
      SmallVector<Values, 4> w(numPairs); // in the order of their addresses, so that two are one load
      for (int64_t pair = 0; pair < numPairs; ++pair)
        for (int64_t chunk = 0; chunk < chunksAtOnce; ++chunk)
          w[pair].push_back(armWeights(slice, first + chunk, 2 * half + pair, isJoined));
      for (size_t i = 0; i < x32.size(); ++i) {
        Values x = splatColumns(x32[i], chunksAtOnce);
        for (int64_t chunk = 0; chunk < chunksAtOnce; ++chunk)
          for (int64_t pair = 0; pair < numPairs; ++pair) {
            Value &sum = next[i * numPairs + pair];
            sum = f.intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", sumType, {sum, w[pair][chunk], x[chunk]});
          }
      }
    }
  });
}

/// Adds the products of `count` groups to rows [4 * half, +4 * numHalves). Accumulators are [token][half].
DotEmitter::Values DotEmitter::emitSdotGroups(Value block, Value group, int64_t count, Tokens tokens, Streams streams,
                                              int64_t half, ValueRange acc) {
  const int64_t numHalves = acc.size() / tokens.size(), numPairs = 2 * numHalves;
  const bool isJoined = numHalves == 2 && isa != Isa::Neon;
  const bool hasSums = encoding().minimum || (isNibbles() && half == 0);
  Values next(acc.begin(), acc.end());
  // One load for the scales, or sums, of all groups of one token; those of several tokens would take registers.
  Value allScales, allSums;
  if (tokens.size() == 1) {
    allScales = f.loadVector(rows.scales, {tokens[0], group}, count);
    allSums = hasSums ? f.loadVector(rows.sums, {tokens[0], group}, count) : Value();
  }
  for (int64_t number = 0; number < count; ++number) {
    Value at = behind(block, number * groupBytes());
    Values sums =
        isa == Isa::Neon ? neonSums(at, streams, half, numPairs) : sdotSums(at, streams, half, numPairs, isJoined);
    if (tokens.size() > 1)
      finishBefore(sums);
    Values scales, minima;
    for (int64_t i = 0; i < numHalves; ++i) {
      scales.push_back(scalesAt(at, 4 * (half + i), 4));
      if (encoding().minimum)
        minima.push_back(minimaAt(at, 4 * (half + i), 4));
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      auto ofGroup = [&](Value all, Value memref) {
        return all ? f.extract(all, number) : f.load(memref, {tokens[i], f.add(group, number)});
      };
      Value scale = ofGroup(allScales, rows.scales), sum = hasSums ? ofGroup(allSums, rows.sums) : Value();
      Values joined = joinedSums(ArrayRef(sums).slice(i * numPairs, numPairs), half, isJoined, sum);
      for (int64_t part = 0; part < numHalves; ++part) {
        const int64_t shift = encoding().bits() == 6 ? 2 : isNibbles() && isJoined && part == 1 ? 4 : 0;
        Value &total = next[numHalves * i + part];
        total = f.fma(armFloat(joined[part], shift), f.mulf(scales[part], f.splat(scale, 4)), total);
        if (encoding().minimum)
          total = f.fma(minima[part], f.splat(f.mulf(f.toFloat(sum), scale), 4), total);
      }
    }
    // One group after the other, as long as registers are few.
    if (number + 1 < count)
      finishBefore(next);
  }
  return next;
}

/// The sums of 4 rows each from those of row pairs, in which two lanes make a row.
DotEmitter::Values DotEmitter::joinedSums(ValueRange pairs, int64_t half, bool isJoined, Value sumOfGroup) {
  VectorType sumType = f.vectorOf(f.i32(), 4);
  Values joined;
  for (size_t i = 0; i < pairs.size(); i += 2)
    joined.push_back(f.intrinsic("llvm.aarch64.neon.addp.v4i32", sumType, {pairs[i], pairs[i + 1]}));
  if (!isNibbles())
    return joined;
  if (isJoined)
    joined[1] = f.subtract(joined[1], joined[0]);
  if (half == 0)
    joined[0] = f.subtract(
        joined[0], arith::MulIOp::create(f.getBuilder(), sumOfGroup.getLoc(), f.splat(sumOfGroup, 4), nibbleBias));
  return joined;
}

DotEmitter::Values DotEmitter::overGroups(Value base, ValueRange initial, int64_t groupsAtOnce, GroupsBody body) {
  const int64_t numGroups = matrix.columns / group(), step = std::min(groupsAtOnce, numGroups);
  const int64_t whole = numGroups / step * step;
  auto several = [&](Value number, int64_t count, ValueRange carried) {
    Value block = carried.back();
    Values next = body(block, number, count, carried.drop_back());
    moveOn(block, count * groupBytes());
    next.push_back(block);
    return next;
  };
  Values result(initial.begin(), initial.end());
  result.push_back(addressOf(weights, base));
  result = f.loop(f.index(0), f.index(whole), step, result,
                  [&](Value first, ValueRange carried) { return several(first, step, carried); });
  if (whole < numGroups)
    result = several(f.index(whole), numGroups - whole, result);
  result.pop_back();
  return result;
}

DotEmitter::Values DotEmitter::emitArm(Value row, Tokens tokens) {
  if (copiesRows() && tokens.size() > 1)
    return emitSmmla(row, tokens);
  Value base = rowBase(row);
  auto join = [&](Value low, Value high) {
    return vector::ShuffleOp::create(f.getBuilder(), low.getLoc(), low, high, ArrayRef<int64_t>{0, 1, 2, 3, 4, 5, 6, 7})
        .getResult();
  };
  // Hidden, so that product and difference are one instruction; out of the loops, so that it stays in a register.
  nibbleBias = isNibbles() ? opaque(splatInteger(f.i32(), 4, 8)) : Value();
  // The sums of 8 rows x 4 tokens do not fit in registers besides the accumulators: 4 rows after the other 4.
  const int64_t halvesAtOnce = tokens.size() > 1 ? 1 : 2, numSums = halvesAtOnce * tokens.size();
  SmallVector<Values, 2> passes;
  for (int64_t half = 0; half < 2; half += halvesAtOnce) {
    Values initial(numSums, f.zeroVector(4));
    for (Value token : tokens)
      initial.push_back(addressOf(rows.codes, f.multiply(token, matrix.columns)));
    passes.push_back(overGroups(
        base, initial, group() == 32 ? 2 : 1, [&](Value block, Value group, int64_t count, ValueRange carried) {
          if (tokens.size() == 1)
            prefetchAhead(block, count * groupBytes());
          Values streams(carried.drop_front(numSums));
          Values next = emitSdotGroups(block, group, count, tokens, streams, half, carried.take_front(numSums));
          next.append(streams);
          return next;
        }));
  }
  Values result;
  for (size_t i = 0; i < tokens.size(); ++i)
    result.push_back(halvesAtOnce == 1 ? join(passes[0][i], passes[1][i])
                                       : join(passes[0][2 * i], passes[0][2 * i + 1]));
  return result;
}

} // namespace moec
