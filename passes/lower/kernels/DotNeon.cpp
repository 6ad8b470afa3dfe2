// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the arm64 layout for ARMv8.0-A, which has no dot product: products of 8 bits are formed in
/// 16 bits, two for each lane (2 * 128 * 127 = 32512 fits), and then added pairwise to sums of 32 bits. The sums are
/// exact like those of sdot. Step: lower. Main source: docs/pack-format.md ("Layout families").
#include "passes/lower/kernels/Dot.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace moec {

static constexpr int64_t kHalvesSwapped[] = {8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7};

/// The same vector, which the optimizer cannot see through. Costs no instruction.
static Value opaque(FloatBuilder &f, Value vector) {
  auto copy = LLVM::InlineAsmOp::create(f.getBuilder(), vector.getLoc(), TypeRange{vector.getType()},
                                        ValueRange{vector}, "", "=w,0", /*has_side_effects=*/false,
                                        /*is_align_stack=*/false, LLVM::TailCallKind::None, /*asm_dialect=*/{},
                                        /*operand_attrs=*/{});
  return copy.getResult(0);
}

/// Sums of rows [4 * half, +2 * numPairs) over a group, [token][row pair], in the form of sdot: the first two lanes add
/// up to the first row, the others to the second.
DotEmitter::Values DotEmitter::neonSums(Value block, Value group, Tokens tokens, int64_t half, int64_t numPairs) {
  OpBuilder &b = f.getBuilder();
  Location location = block.getLoc();
  const int64_t numRows = 2 * numPairs;
  const bool isOneSlice = encoding().group == 32;
  VectorType sumType = f.vectorOf(f.i32(), 4), productType = f.vectorOf(b.getIntegerType(16), 8);
  auto eight = [&](Value vector, int64_t first) {
    return vector::ExtractStridedSliceOp::create(b, location, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{8},
                                                 ArrayRef<int64_t>{1});
  };
  auto product = [&](Value w, Value x, int64_t first) {
    return intrinsic("llvm.aarch64.neon.smull.v8i16", productType, {eight(w, first), eight(x, first)});
  };
  Values sums(tokens.size() * numRows, splatInteger(f.i32(), 4, 0));
  sums = overSlices(sums, [&](Value slice, ValueRange carried) {
    Value at = f.add(block, f.multiply(slice, codeBytes() * 32 / encoding().group));
    Value k = f.add(f.multiply(group, encoding().group), f.multiply(slice, 32));
    Values next(carried.begin(), carried.end());
    for (int64_t chunkPair = 0; chunkPair < 2; ++chunkPair) {
      SmallVector<Values, 4> w;
      for (int64_t pair = 2 * half; pair < 2 * half + numPairs; ++pair)
        w.push_back({armWeights(at, 2 * chunkPair, pair), armWeights(at, 2 * chunkPair + 1, pair)});
      for (auto [i, token] : llvm::enumerate(tokens)) {
        // A product takes the same half of both vectors, and a row lies in one half of its chunks: the activations are
        // needed in both orders.
        Value x = f.loadVector(rows.codes, {token, f.add(k, chunkPair * 16)}, 16);
        Value swapped = opaque(f, vector::ShuffleOp::create(b, location, x, x, kHalvesSwapped));
        for (int64_t row = 0; row < numRows; ++row) {
          const int64_t odd = row % 2;
          Value both = f.add(product(w[row / 2][0], odd ? swapped : x, 8 * odd),
                             product(w[row / 2][1], odd ? x : swapped, 8 * odd));
          Value four = intrinsic("llvm.aarch64.neon.saddlp.v4i32.v8i16", sumType, {both});
          Value &sum = next[i * numRows + row];
          // A first sum that could be seen through would be formed twice: here, and with the second one.
          sum = isOneSlice && chunkPair == 0 ? opaque(f, four) : f.add(sum, four);
        }
        // Token after token, so that the products and activations of few of them live at once.
        finishBefore(ArrayRef(next).slice(i * numRows, numRows));
      }
    }
    return next;
  });
  Values joined;
  for (size_t i = 0; i < sums.size(); i += 2)
    joined.push_back(intrinsic("llvm.aarch64.neon.addp.v4i32", sumType, {sums[i], sums[i + 1]}));
  return joined;
}

} // namespace moec
