// SPDX-License-Identifier: Apache-2.0
/// \file
/// Dot products of the KV cache on each ISA. Products are exact: codes are -127..127 (keys, values) and at most 127
/// (rows), so two products fit in 16 bits. Step: lower. Main source: docs/architecture.md ("KV cache").
#include "passes/lower/kernels/KvDots.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace moec {

namespace {
constexpr int64_t kWordCodes = 4, kVectorBytes = kFloatLanes * kWordCodes;
} // namespace

int64_t KvDots::nativeLanes() const { return isa == Isa::Avx512Vnni ? 16 : isArm() ? 4 : 8; }

int64_t KvDots::vectorsAtOnce(int64_t numRows, bool isKey) const {
  int64_t vectors = isa == Isa::Avx512Vnni ? (numRows > 4 ? 2 : 4) : numRows > 2 ? 1 : 2;
  return isPacked && !isKey ? std::max<int64_t>(vectors / 2, 1) : vectors;
}

int64_t KvDots::keyBias() const {
  if (isArm())
    return 0;
  // AVX2 multiplies |key| by the row's code with the key's sign where the key has all bits.
  return isPacked ? 8 : isa == Isa::Avx2 ? 0 : 128;
}

Value KvDots::shuffle(Value a, Value b, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(f.getBuilder(), a.getLoc(), a, b, lanes);
}

Value KvDots::piece(Value vector, int64_t number) {
  int64_t width = nativeLanes() * kWordCodes;
  if (piecesEach() == 1)
    return vector;
  return vector::ExtractStridedSliceOp::create(f.getBuilder(), vector.getLoc(), vector,
                                               ArrayRef<int64_t>{number * width}, ArrayRef<int64_t>{width},
                                               ArrayRef<int64_t>{1});
}

Value KvDots::nibbles(Value bytes, bool isHigh, bool isKey) {
  OpBuilder &b = f.getBuilder();
  Location location = bytes.getLoc();
  auto like = [&](int64_t value) { return f.integerLike(bytes.getType(), value); };
  if (isArm()) {
    Value top = isHigh ? bytes : arith::ShLIOp::create(b, location, bytes, like(4)).getResult();
    return arith::ShRSIOp::create(b, location, top, like(4));
  }
  // Shifts of 16 bits and a mask of bytes: x86 shifts no bytes. Then code + 8 is the nibble with its sign turned over.
  if (isHigh) {
    Value pairs = f.bitcast(bytes, b.getIntegerType(16));
    bytes = f.bitcast(arith::ShRUIOp::create(b, location, pairs, f.integerLike(pairs.getType(), 4)), f.i8());
  }
  Value low = arith::AndIOp::create(b, location, bytes, like(15));
  Value raised = arith::XOrIOp::create(b, location, low, like(8));
  return isKey ? raised : f.subtract(raised, like(8));
}

Value KvDots::decoded(Value bytes, bool isHigh, bool isKey) {
  if (isPacked)
    return nibbles(bytes, isHigh, isKey);
  if (!isKey || keyBias() == 0)
    return bytes;
  return arith::XOrIOp::create(f.getBuilder(), bytes.getLoc(), bytes, f.integerLike(bytes.getType(), -128));
}

/// Without dot products: products of 16 bits for two positions each, added pairwise twice.
Value KvDots::dotNeon(Value sum, Value cache, Value word) {
  OpBuilder &b = f.getBuilder();
  VectorType sumType = f.vectorOf(f.i32(), 4), productType = f.vectorOf(b.getIntegerType(16), 8);
  Values halves;
  for (int64_t first : {0, 8}) {
    auto eight = [&](Value vector) {
      return vector::ExtractStridedSliceOp::create(b, cache.getLoc(), vector, ArrayRef<int64_t>{first},
                                                   ArrayRef<int64_t>{8}, ArrayRef<int64_t>{1});
    };
    Value product = f.intrinsic("llvm.aarch64.neon.smull.v8i16", productType, {eight(cache), eight(word)});
    halves.push_back(f.intrinsic("llvm.aarch64.neon.saddlp.v4i32.v8i16", sumType, {product}));
  }
  return f.add(sum, f.intrinsic("llvm.aarch64.neon.addp.v4i32", sumType, halves));
}

Value KvDots::dot(Value sum, Value cache, Value word, bool isKey) {
  Type type = sum.getType();
  switch (isa) {
  case Isa::Avx512Vnni:
  case Isa::AvxVnni: {
    StringRef name = isa == Isa::AvxVnni ? "llvm.x86.avx512.vpdpbusd.256" : "llvm.x86.avx512.vpdpbusd.512";
    return isKey ? f.intrinsic(name, type, {sum, cache, word}) : f.intrinsic(name, type, {sum, word, cache});
  }
  case Isa::Avx2: {
    VectorType pairs = f.vectorOf(f.getBuilder().getIntegerType(16));
    Value positive = isKey ? cache : word, other = isKey ? word : cache;
    if (isKey && !isPacked) {
      positive = math::AbsIOp::create(f.getBuilder(), cache.getLoc(), cache);
      other = f.intrinsic("llvm.x86.avx2.psign.b", cache.getType(), {word, cache});
    }
    Value products = f.intrinsic("llvm.x86.avx2.pmadd.ub.sw", pairs, {positive, other});
    return f.add(sum, f.intrinsic("llvm.x86.avx2.pmadd.wd", type, {products, f.integerLike(pairs, 1)}));
  }
  case Isa::Neon:
    return dotNeon(sum, cache, word);
  case Isa::Dotprod:
  case Isa::I8mm:
    return f.intrinsic("llvm.aarch64.neon.sdot.v4i32.v16i8", type, {sum, cache, word});
  }
  return {};
}

KvDots::Values KvDots::addWords(const Operands &operands, bool isKey, Value step, int64_t numSteps,
                                ValueRange carried) {
  const int64_t numHalves = isPacked ? 2 : 1, wordsEach = isKey ? numHalves : 1, numWords = numSteps * wordsEach;
  const int64_t vectorsEach = isKey ? 1 : numHalves, numPieces = piecesEach();
  const int64_t sumsOfRow = operands.numVectors * vectorsEach * numPieces;
  SmallVector<Values, 8> words; // [row][word]
  for (int64_t row = 0; row < operands.numRows; ++row) {
    Value first = f.add(f.add(operands.firstCode, f.multiply(step, kWordCodes * wordsEach)), row * operands.rowCodes);
    Value all;
    if (isArm())
      all = f.bitcast(f.loadVector(operands.codes, {first}, numWords * kWordCodes), f.i32());
    words.emplace_back();
    for (int64_t word = 0; word < numWords; ++word) {
      // A lane of a register is an operand on ARM, one in memory on x86.
      Value splat;
      if (isArm()) {
        splat = shuffle(all, all, SmallVector<int64_t, 4>(4, word));
      } else {
        Value one = f.bitcast(f.loadVector(operands.codes, {f.add(first, word * kWordCodes)}, kWordCodes), f.i32());
        splat = f.splat(f.extract(one, 0), nativeLanes());
      }
      words.back().push_back(f.bitcast(splat, f.i8()));
    }
  }
  Values next(carried.begin(), carried.end());
  Value base = f.multiply(step, operands.stepBytes), ahead;
  // In ascending order, though the cache is read in strips: that is what hardware prefetchers go on with.
  if (operands.ahead)
    ahead = f.add(operands.ahead, f.multiply(step, operands.numVectors * kVectorBytes));
  for (int64_t i = 0; i < numSteps; ++i)
    for (int64_t vector = 0; vector < operands.numVectors; ++vector) {
      Value at = f.add(base, i * operands.stepBytes + vector * kVectorBytes);
      if (ahead)
        f.prefetch(region, f.add(ahead, (i * operands.numVectors + vector) * kVectorBytes));
      Value bytes = f.loadVector(region, {f.add(operands.cache, at)}, kVectorBytes);
      for (int64_t half = 0; half < numHalves; ++half)
        for (int64_t number = 0; number < numPieces; ++number) {
          Value codes = decoded(piece(bytes, number), half == 1, isKey);
          int64_t firstSum = (vector * vectorsEach + (isKey ? 0 : half)) * numPieces + number;
          for (int64_t row = 0; row < operands.numRows; ++row) {
            Value &sum = next[row * sumsOfRow + firstSum];
            sum = dot(sum, codes, words[row][i * wordsEach + (isKey ? half : 0)], isKey);
          }
        }
    }
  return next;
}

KvDots::Values KvDots::sums(const Operands &operands, bool isKey, ValueRange starts) {
  const int64_t vectorsEach = isKey || !isPacked ? 1 : 2, numPieces = piecesEach();
  const int64_t sumsOfRow = operands.numVectors * vectorsEach * numPieces;
  VectorType type = f.vectorOf(f.i32(), nativeLanes());
  Values carried;
  for (int64_t row = 0; row < operands.numRows; ++row)
    carried.append(sumsOfRow, starts.empty() ? f.integerLike(type, 0) : f.splat(starts[row], nativeLanes()));
  // Four words of a row are one register on ARM; on x86 two hide the loop.
  int64_t wordsEach = isKey && isPacked ? 2 : 1, together = (isArm() ? 4 : 2) / wordsEach;
  while (operands.numSteps % together != 0)
    together /= 2;
  carried = f.loop(f.index(0), f.index(operands.numSteps), together, carried,
                   [&](Value step, ValueRange before) { return addWords(operands, isKey, step, together, before); });
  auto joined = [&](ArrayRef<Value> parts) {
    Values level(parts.begin(), parts.end());
    while (level.size() > 1) {
      Values next;
      for (size_t i = 0; i < level.size(); i += 2) {
        int64_t width = cast<VectorType>(level[i].getType()).getNumElements();
        next.push_back(shuffle(level[i], level[i + 1], llvm::to_vector(llvm::seq<int64_t>(0, 2 * width))));
      }
      level = std::move(next);
    }
    return level[0];
  };
  Values result;
  for (size_t i = 0; i < carried.size(); i += numPieces)
    result.push_back(joined(ArrayRef<Value>(carried).slice(i, numPieces)));
  return result;
}

} // namespace moec
