// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of the arm64 layout for ARMv8.0-A, which has no dot product: products of 8 bits are summed in
/// 16 bits, as many as fit, and then added pairwise to sums of 32 bits. The sums are exact like those of sdot. Step:
/// lower. Main source: docs/pack-format.md ("Layout families").
#include "passes/lower/kernels/Dot.h"

using namespace mlir;

namespace moec {

/// Rows [4 * half, +2 * numPairs) over a group, [token][row pair]: the first two lanes add up to the first row, the
/// others to the second.
DotEmitter::Values DotEmitter::neonSums(Value block, Streams streams, int64_t half, int64_t numPairs) {
  OpBuilder &b = f.getBuilder();
  Location location = block.getLoc();
  const int64_t numRows = 2 * numPairs;
  VectorType sumType = f.vectorOf(f.i32(), 4), productType = f.vectorOf(b.getIntegerType(16), 8);
  // A lane takes a product for each 8 columns. 15 * 127 * 16 fits in 16 bits, and so does 128 * 127 * 2.
  const bool isWhole = isNibbles();
  auto product = [&](Value w, Value x, int64_t first) {
    auto eight = [&](Value vector) {
      return vector::ExtractStridedSliceOp::create(b, location, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{8},
                                                   ArrayRef<int64_t>{1});
    };
    return f.intrinsic("llvm.aarch64.neon.smull.v8i16", productType, {eight(w), eight(x)});
  };
  auto widened = [&](Value products) {
    return f.intrinsic("llvm.aarch64.neon.saddlp.v4i32.v8i16", sumType, {products});
  };
  Values sums(streams.size() * numRows, isWhole ? Value(f.integerLike(productType, 0)) : splatInteger(f.i32(), 4, 0));
  sums = overArmSlices(block, sums, streams, [&](Value slice, Streams x32, Values &next) {
    // Few weights live at once: of several tokens those of 2 chunks, of one those of 2 row pairs. Of 4-bit codes two
    // row pairs share bytes.
    const int64_t chunksAtOnce = x32.size() > 1 ? 2 : 4, pairsAtOnce = isNibbles() ? numPairs : 2;
    for (int64_t first = 0; first < 4; first += chunksAtOnce) {
      Values x;
      for (int64_t firstPair = 0; firstPair < numPairs; firstPair += pairsAtOnce) {
        SmallVector<Values, 4> w(pairsAtOnce);
        for (int64_t pair = 0; pair < pairsAtOnce; ++pair)
          for (int64_t chunk = 0; chunk < chunksAtOnce; ++chunk)
            w[pair].push_back(armWeights(slice, first + chunk, 2 * half + firstPair + pair, /*isJoined=*/false));
        for (size_t i = 0; i < x32.size(); ++i) {
          // More than 2 row pairs has only one token.
          if (firstPair == 0)
            x = splatColumns(x32[i], chunksAtOnce);
          MutableArrayRef<Value> ofToken(next.begin() + i * numRows + 2 * firstPair, 2 * pairsAtOnce);
          for (auto [row, sum] : llvm::enumerate(ofToken))
            for (int64_t chunk = 0; chunk < chunksAtOnce; chunk += 2) {
              auto productOf = [&](int64_t c) { return product(w[row / 2][c], x[c], 8 * (row % 2)); };
              Value both = f.add(productOf(chunk), productOf(chunk + 1));
              sum = f.add(sum, isWhole ? both : widened(both));
            }
          // Token after token, so that the products and activations of few of them live at once.
          finishBefore(ofToken);
        }
      }
    }
  });
  if (isWhole)
    for (Value &sum : sums)
      sum = widened(sum);
  Values joined;
  for (size_t i = 0; i < sums.size(); i += 2)
    joined.push_back(f.intrinsic("llvm.aarch64.neon.addp.v4i32", sumType, {sums[i], sums[i + 1]}));
  return joined;
}

} // namespace moec
