// SPDX-License-Identifier: Apache-2.0
/// \file
/// Maxima of tiles of logits are those of plain loops, for tiles that are not full and for values that are no numbers.
/// Main source: include/moert/Generated.h.
#include "include/moert/Generated.h"
#include "passes/lower/kernels/FloatKernels.h"
#include "test/unit/Kernels/Products.h"

#include <gtest/gtest.h>

#include <limits>

using namespace moec;

namespace {

class TileMaxKernel : public testing::TestWithParam<std::tuple<Isa, int64_t>> {};

TEST_P(TileMaxKernel, EqualsPlainLoops) {
  auto [isa, columns] = GetParam();
  constexpr int64_t kTokens = 3;
  const float infinity = std::numeric_limits<float>::infinity();
  TileMaxSpec spec{kTokens, columns};
  ASSERT_FALSE((bool)check(spec));
  CompiledKernel kernel(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildTileMax(context, module, "kernel", spec); });
  if (!kernel.unavailable().empty())
    GTEST_SKIP() << kernel.unavailable();
  std::mt19937 random(5);
  int64_t numTiles = (columns + MOERT_LOGIT_TILE - 1) / MOERT_LOGIT_TILE;
  std::vector<float> x(kTokens * columns), expected(kTokens * numTiles, -infinity);
  for (int64_t i = 0; i < kTokens * columns; ++i) {
    float value = (float)(random() % 4000) / 16.0f - 200.0f;
    // The second token has holes everywhere, the third nothing but holes in its first tile.
    bool isHole = i / columns == 1 ? random() % 2 : i / columns == 2 && i % columns < (int64_t)MOERT_LOGIT_TILE;
    x[i] = isHole ? std::numeric_limits<float>::quiet_NaN() : i / columns == 1 && random() % 9 == 0 ? -infinity : value;
    float &largest = expected[i / columns * numTiles + i % columns / MOERT_LOGIT_TILE];
    largest = x[i] > largest ? x[i] : largest;
  }
  std::vector<Buffer> buffers{bytesOf(x), bytesOf(std::vector<float>(expected.size(), 7.0f))};
  ASSERT_EQ(kernel.run(buffers, {kTokens, 0, 1, kTokens}), "");
  ASSERT_EQ(kernel.run(buffers, {kTokens, 0, 0, 1}), "");
  EXPECT_TRUE(buffers[1] == bytesOf(expected));
}

INSTANTIATE_TEST_SUITE_P(All, TileMaxKernel,
                         testing::Combine(testing::Values(Isa::Avx512Vnni, Isa::Avx2, Isa::Dotprod),
                                          testing::Values(1, 100, 1024, 2055)),
                         [](const testing::TestParamInfo<std::tuple<Isa, int64_t>> &info) {
                           return levelName(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
                         });

TEST(TileMaxSpec, RefusesWhatHasNoColumns) {
  EXPECT_EQ(llvm::toString(check(TileMaxSpec{1, 0})),
            "tile_max expects at least 1 token and 1 column, but got 1 and 0");
}

} // namespace
