// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows gathered from a resident matrix equal what quantization says of them, byte for byte, in every encoding and
/// layout family (the code depends on no other property of a level), also the last rows of a tile that is not full.
/// Main source: lib/Quant/Quantize.h.
#include "lib/Quant/Quantize.h"
#include "passes/lower/kernels/FloatKernels.h"
#include "test/unit/Kernels/Products.h"

#include <gtest/gtest.h>

using namespace moec;

namespace {

struct Shape {
  Encoding encoding;
  int64_t rows, columns;
};

class GatherKernel : public testing::TestWithParam<std::tuple<Isa, Shape>> {};

TEST_P(GatherKernel, EqualsStoredRows) {
  auto [isa, shape] = GetParam();
  constexpr int64_t kTokens = 21;
  GatherSpec spec{kTokens, shape.rows, shape.columns, shape.encoding};
  ASSERT_FALSE((bool)check(spec));
  CompiledKernel kernel(
      isa, [&](KernelContext &context, mlir::ModuleOp module) { buildGather(context, module, "kernel", spec); });
  if (!kernel.unavailable().empty())
    GTEST_SKIP() << kernel.unavailable();
  std::mt19937 random(3);
  Matrix matrix = randomMatrix({shape.rows, shape.columns, shape.encoding, 0}, random);
  Buffer weights;
  store(matrix, familyOf(isa), weights);
  // All rows of the first tile, the last row, one row twice; the last token is left out.
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < kTokens; ++i)
    tokens.push_back((int32_t)(i < 17 ? i % shape.rows : i < 19 ? shape.rows - 1 : random() % shape.rows));
  std::vector<float> expected(kTokens * shape.columns, -3.0f);
  for (int64_t i = 0; i + 1 < kTokens; ++i) {
    llvm::MutableArrayRef<float> out = llvm::MutableArrayRef(expected).slice(i * shape.columns, shape.columns);
    int64_t row = tokens[i], numScales = shape.encoding.numScales(shape.columns);
    if (shape.encoding.isInteger())
      dequantizeRow(llvm::ArrayRef(matrix.codes).slice(row * shape.columns, shape.columns),
                    llvm::ArrayRef(matrix.scales).slice(row * numScales, numScales), shape.encoding, out);
    else
      std::copy_n(matrix.values.begin() + row * shape.columns, shape.columns, out.begin());
  }
  std::vector<float> out(expected.size(), -3.0f);
  std::vector<Buffer> buffers{weights, bytesOf(tokens), bytesOf(out)};
  ASSERT_EQ(kernel.run(buffers, {kTokens, 0, 7, kTokens - 1}), "");
  ASSERT_EQ(kernel.run(buffers, {kTokens, 0, 0, 7}), "");
  EXPECT_TRUE(buffers[2] == bytesOf(expected));
}

std::string nameOf(const testing::TestParamInfo<std::tuple<Isa, Shape>> &info) {
  auto [isa, shape] = info.param;
  return levelName(isa) + "_" + identifierOf(shape.encoding) + "_" + std::to_string(shape.rows) + "x" +
         std::to_string(shape.columns);
}

std::vector<Shape> allShapes() {
  std::vector<Shape> shapes{{Encoding::f32(), 37, 21}, {Encoding::f16(), 37, 21}};
  for (auto make : {Encoding::i8, Encoding::i6, Encoding::i4, Encoding::i8m, Encoding::i4m}) {
    shapes.push_back({make(32), 37, 96});
    shapes.push_back({make(128), 9, 256});
  }
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(All, GatherKernel,
                         testing::Combine(testing::Values(Isa::Avx512Vnni, Isa::Avx2, Isa::Dotprod),
                                          testing::ValuesIn(allShapes())),
                         nameOf);

TEST(GatherSpec, RefusesWhatHasNoRows) {
  EXPECT_EQ(llvm::toString(check(GatherSpec{0, 8, 64, Encoding::i8(32)})),
            "gather expects at least 1 token, but got 0");
  EXPECT_EQ(llvm::toString(check(GatherSpec{1, 8, 48, Encoding::i8(32)})),
            "'gather' has 48 columns, which group 32 does not divide; choose a group that does, or f16");
}

} // namespace
