// SPDX-License-Identifier: Apache-2.0
/// \file
/// Linear kernels of every encoding and group equal plain loops, byte for byte, on every instruction level, for every
/// number of tokens, for rows that fill no tile, and over any cut into tiles. Main source: DESIGN §4.1.
#include "test/unit/Kernels/Products.h"

#include <gtest/gtest.h>

using namespace moec;

namespace {

struct Case {
  WeightEncoding encoding;
  int64_t rows, columns, group;
  bool hasResidual;
};

class LinearKernel : public testing::TestWithParam<std::tuple<Isa, Case>> {};

TEST_P(LinearKernel, EqualsPlainLoops) {
  auto [isa, shape] = GetParam();
  constexpr int64_t kTokens = 17;
  LinearSpec spec{{shape.rows, shape.columns, shape.encoding, shape.group, 0}, kTokens, 32, shape.hasResidual};
  ASSERT_FALSE((bool)check(spec, familyOf(isa)));
  CompiledKernel kernel(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildLinear(context, module, "kernel", spec); });
  if (!kernel.unavailable().empty())
    GTEST_SKIP() << kernel.unavailable();
  std::mt19937 random(1);
  Matrix matrix = randomMatrix(spec.matrix, random);
  Activations x = randomActivations(kTokens, spec.matrix, random);
  Buffer weights;
  store(matrix, familyOf(isa), weights);
  std::vector<float> residual;
  for (int64_t i = 0; i < kTokens * shape.rows; ++i)
    residual.push_back((float)(i % 13) - 6.0f);
  for (int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17}) {
    std::vector<float> expected = residual;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < shape.rows; ++r) {
        float sum = product(matrix, x, i, r);
        expected[i * shape.rows + r] = shape.hasResidual ? residual[i * shape.rows + r] + sum : sum;
      }
    std::vector<Buffer> buffers{weights};
    appendRows(buffers, x, spec.matrix);
    if (shape.hasResidual)
      buffers.push_back(bytesOf(residual));
    buffers.push_back(bytesOf(residual));
    // In two cuts, so that a tile range has to be respected.
    int64_t middle = spec.numTiles() / 2;
    ASSERT_EQ(kernel.run(buffers, {n, 0, middle, spec.numTiles()}), "");
    ASSERT_EQ(kernel.run(buffers, {n, 0, 0, middle}), "");
    ASSERT_TRUE(buffers.back() == bytesOf(expected)) << "n = " << n;
  }
}

std::string nameOf(const testing::TestParamInfo<std::tuple<Isa, Case>> &info) {
  auto [isa, shape] = info.param;
  const char *encoding = shape.encoding == WeightEncoding::f32  ? "f32"
                         : shape.encoding == WeightEncoding::i8 ? "i8"
                                                                : "i4";
  return levelName(isa) + "_" + encoding + "_" + std::to_string(shape.rows) + "x" + std::to_string(shape.columns) +
         "_g" + std::to_string(shape.group) + (shape.hasResidual ? "_residual" : "");
}

INSTANTIATE_TEST_SUITE_P(All, LinearKernel,
                         testing::Combine(testing::ValuesIn(allLevels()),
                                          testing::Values(Case{WeightEncoding::f32, 75, 37, 32, true},
                                                          Case{WeightEncoding::f32, 64, 64, 32, false},
                                                          Case{WeightEncoding::i8, 75, 96, 32, true},
                                                          Case{WeightEncoding::i8, 64, 256, 128, false},
                                                          Case{WeightEncoding::i4, 75, 96, 32, false},
                                                          Case{WeightEncoding::i4, 40, 192, 64, true},
                                                          Case{WeightEncoding::i4, 9, 256, 128, false})),
                         nameOf);

TEST(LinearSpec, RefusesShapesWithoutKernel) {
  auto text = [](const LinearSpec &spec) { return llvm::toString(check(spec, LayoutFamily::X86)); };
  EXPECT_EQ(text({{8, 48, WeightEncoding::i8, 32, 0}, 1, 32, false}),
            "linear expects a multiple of the group 32 as columns, but got 48");
  EXPECT_EQ(text({{8, 48, WeightEncoding::i4, 16, 0}, 1, 32, false}),
            "linear expects groups of 32, 64 or 128, but got 16");
  EXPECT_EQ(text({{8, 64, WeightEncoding::i8, 32, 0}, 0, 32, false}), "linear expects at least 1 token, but got 0");
  EXPECT_EQ(text({{8, 64, WeightEncoding::i8, 32, 0}, 1, 24, false}),
            "linear expects a multiple of 16 as rows of a tile, but got 24");
}

} // namespace
