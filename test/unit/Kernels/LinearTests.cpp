// SPDX-License-Identifier: Apache-2.0
/// \file
/// Linear kernels of every encoding and group equal plain loops, byte for byte, on every instruction level, for every
/// number of tokens, for rows that fill no tile, and over any cut into tiles. Main source: docs/architecture.md.
#include "test/unit/Kernels/Products.h"

#include <gtest/gtest.h>

using namespace moec;

namespace {

struct Case {
  Encoding encoding;
  int64_t rows, columns;
  bool hasResidual;
  bool hasBias = false;
};

class LinearKernel : public testing::TestWithParam<std::tuple<Isa, Case>> {};

TEST_P(LinearKernel, EqualsPlainLoops) {
  auto [isa, shape] = GetParam();
  constexpr int64_t kTokens = 17;
  LinearSpec spec{{shape.rows, shape.columns, shape.encoding, 0}, kTokens, 32, shape.hasResidual, shape.hasBias};
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
  std::vector<float> residual, bias;
  for (int64_t r = 0; r < shape.rows; ++r)
    bias.push_back((float)(r % 7) / 3.0f - 1.0f);
  for (int64_t i = 0; i < kTokens * shape.rows; ++i)
    residual.push_back((float)(i % 13) - 6.0f);
  // ARM runs under emulation: a few numbers of tokens.
  std::vector<int64_t> counts{1, 2, 3, 7, 8, 17};
  if (familyOf(isa) == LayoutFamily::X86)
    counts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  for (int64_t n : counts) {
    std::vector<float> expected = residual;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < shape.rows; ++r) {
        float sum = product(matrix, x, i, r);
        if (shape.hasBias)
          sum = sum + bias[r];
        expected[i * shape.rows + r] = shape.hasResidual ? residual[i * shape.rows + r] + sum : sum;
      }
    std::vector<Buffer> buffers{weights};
    appendRows(buffers, x, spec.matrix);
    if (shape.hasBias)
      buffers.push_back(bytesOf(bias));
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
  return levelName(isa) + "_" + identifierOf(shape.encoding) + "_" + std::to_string(shape.rows) + "x" +
         std::to_string(shape.columns) + (shape.hasBias ? "_bias" : "") + (shape.hasResidual ? "_residual" : "");
}

/// Every kind of codes in every group; rows that fill no tile in each kind.
std::vector<Case> allCases() {
  std::vector<Case> cases{{Encoding::f32(), 75, 37, true},       {Encoding::f32(), 64, 64, false},
                          {Encoding::f16(), 75, 37, true},       {Encoding::f16(), 64, 64, false},
                          {Encoding::f32(), 75, 37, true, true}, {Encoding::f16(), 64, 64, false, true},
                          {Encoding::f32(), 1, 96, false, true}};
  for (auto make : {Encoding::i8, Encoding::i6, Encoding::i4, Encoding::i8m, Encoding::i4m}) {
    cases.push_back({make(32), 75, 96, true});
    cases.push_back({make(64), 40, 192, false, true});
    cases.push_back({make(128), 9, 256, false});
    cases.push_back({make(32), 48, 32, false}); // one group, and one row block without a second
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, LinearKernel,
                         testing::Combine(testing::ValuesIn(allLevels()), testing::ValuesIn(allCases())), nameOf);

class AdversarialLinear : public testing::TestWithParam<std::tuple<Isa, Encoding, int64_t>> {};

/// Codes at their ends, scales from zero and the smallest subnormal to the largest half, activations of one outlier, of
/// zeros, and so small that products with scales are subnormal; any count of groups behind the unrolled ones.
TEST_P(AdversarialLinear, EqualsPlainLoops) {
  auto [isa, encoding, numGroups] = GetParam();
  constexpr int64_t kRows = 21, kTokens = 15;
  LinearSpec spec{{kRows, encoding.group * numGroups, encoding, 0}, kTokens, 32, false, false};
  CompiledKernel kernel(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildLinear(context, module, "kernel", spec); });
  if (!kernel.unavailable().empty())
    GTEST_SKIP() << kernel.unavailable();
  std::mt19937 random(3);
  Matrix matrix = randomMatrix(spec.matrix, random);
  const uint16_t scales[] = {0x0001, 0x7bff, 0x0000, 0x03ff, 0x0400, 0x3c00, 0xfbff, 0x8001};
  for (size_t i = 0; i < matrix.scales.size(); ++i)
    matrix.scales[i] = scales[random() % 8];
  for (size_t i = 2 * spec.matrix.columns; i < matrix.codes.size(); ++i)
    matrix.codes[i] = (int8_t)(random() % 2 ? encoding.maxCode() : encoding.minCode());
  Activations x{kTokens, spec.matrix.columns, encoding.group, {}, {}, {}, {}};
  for (int64_t i = 0; i < kTokens; ++i)
    for (int64_t k = 0; k < x.columns; ++k) {
      const int64_t kind = (i + k / encoding.group) % 5;
      const float sign = random() % 2 ? 1.0f : -1.0f;
      x.floats.push_back(kind == 0 ? sign : kind == 1 ? 0.0f : kind == 2 ? sign * 1.5e-30f : kind == 3 ? 1e28f : sign);
      if (kind == 4 && k % encoding.group == 5)
        x.floats.back() = -1e20f;
    }
  quantize(x);
  Buffer weights;
  store(matrix, familyOf(isa), weights);
  for (int64_t n : {1, 15}) {
    std::vector<float> expected(kTokens * kRows, 0.0f);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t r = 0; r < kRows; ++r)
        expected[i * kRows + r] = product(matrix, x, i, r);
    std::vector<Buffer> buffers{weights};
    appendRows(buffers, x, spec.matrix);
    buffers.push_back(bytesOf(std::vector<float>(kTokens * kRows, 0.0f)));
    ASSERT_EQ(kernel.run(buffers, {n, 0, 0, spec.numTiles()}), "");
    ASSERT_TRUE(buffers.back() == bytesOf(expected)) << "n = " << n;
  }
}

std::string adversarialName(const testing::TestParamInfo<std::tuple<Isa, Encoding, int64_t>> &info) {
  auto [isa, encoding, numGroups] = info.param;
  return levelName(isa) + "_" + identifierOf(encoding) + "_" + std::to_string(numGroups);
}

INSTANTIATE_TEST_SUITE_P(All, AdversarialLinear,
                         testing::Combine(testing::ValuesIn(allLevels()),
                                          testing::Values(Encoding::i4(32), Encoding::i4m(32), Encoding::i4(128),
                                                          Encoding::i6(32), Encoding::i8(64)),
                                          testing::Values<int64_t>(1, 7)),
                         adversarialName);

TEST(LinearSpec, RefusesShapesWithoutKernel) {
  auto text = [](const LinearSpec &spec) { return llvm::toString(check(spec, LayoutFamily::X86)); };
  EXPECT_EQ(text({{8, 48, Encoding::i8(32), 0}, 1, 32, false}),
            "'linear' has 48 columns, which group 32 does not divide; choose a group that does, or f16");
  EXPECT_EQ(text({{8, 48, Encoding::i4(16), 0}, 1, 32, false}), "'linear' has group 16, expected 32, 64 or 128");
  EXPECT_EQ(text({{8, 64, Encoding::i8(32), 0}, 0, 32, false}), "linear expects at least 1 token, but got 0");
  EXPECT_EQ(text({{8, 64, Encoding::i8(32), 0}, 1, 24, false}),
            "linear expects a multiple of 16 as rows of a tile, but got 24");
}

} // namespace
