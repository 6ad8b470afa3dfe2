// SPDX-License-Identifier: Apache-2.0
/// \file
/// Codes with a minimum cover the values of their group: the error is at most half a step, groups without spread are
/// exact, and values without a code are errors.
#include "lib/Quant/Quantize.h"

#include "lib/Support/Half.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace moec;

namespace {

struct Row {
  std::vector<int8_t> codes;
  std::vector<uint16_t> scales;
  std::vector<float> back;
};

llvm::Expected<Row> quantize(llvm::ArrayRef<float> values, Encoding encoding) {
  Row row{std::vector<int8_t>(values.size()), std::vector<uint16_t>(encoding.numScales(values.size())),
          std::vector<float>(values.size())};
  if (llvm::Error error = quantizeRow(values, encoding, "model.w", 3, row.codes, row.scales))
    return std::move(error);
  dequantizeRow(row.codes, row.scales, encoding, row.back);
  return row;
}

const Encoding kEncodings[] = {Encoding::i8m(32), Encoding::i8m(128), Encoding::i4m(32), Encoding::i4m(64)};

} // namespace

TEST(MinimumTest, CodesAreRelativeToTheRoundedScaleAndMinimum) {
  std::vector<float> values(32, 0.5f);
  values[0] = -1.0f;
  values[1] = 14.0f; // 15 steps of 1; code 0 lies 8 steps above the lowest
  values[2] = 0.25f; // (0.25 - 7) / 1 = -6.75
  Row row = cantFail(quantize(values, Encoding::i4m(32)));
  EXPECT_EQ(row.scales, (std::vector<uint16_t>{f32ToF16(1.0f), f32ToF16(7.0f)}));
  EXPECT_EQ((std::vector<int8_t>(row.codes.begin(), row.codes.begin() + 4)), (std::vector<int8_t>{-8, 7, -7, -6}));
  EXPECT_EQ((std::vector<float>(row.back.begin(), row.back.begin() + 3)), (std::vector<float>{-1.0f, 14.0f, 0.0f}));
}

TEST(MinimumTest, ErrorIsHalfAStepAtMost) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (Encoding encoding : kEncodings)
    for (float size : {1e-3f, 1.0f, 100.0f})
      for (float offset : {0.0f, 0.1f, 100.0f}) { // at 100 the minimum is coarser than a step
        std::vector<float> values(256);
        for (float &value : values)
          value = (normal(random) + offset) * size;
        Row row = cantFail(quantize(values, encoding));
        for (int64_t k = 0; k < 256; ++k) {
          float step = f16ToF32(row.scales[k / encoding.group]);
          // Beside half a step: rounding the scale moves the outermost code by 128 / 2048 of a step at most, and a
          // subnormal scale is off by 2^-25 a step.
          float allowed = step * 0.57f + 128 * 0x1p-25f + std::fabs(values[k]) * 1e-6f;
          ASSERT_LE(std::fabs(row.back[k] - values[k]), allowed) << nameOf(encoding) << " value " << values[k];
        }
      }
}

TEST(MinimumTest, GroupsWithoutSpreadAreExact) {
  for (Encoding encoding : kEncodings)
    for (float value : {0.0f, 1.0f, -0.375f, 65504.0f, 0x1p-24f}) {
      Row row = cantFail(quantize(std::vector<float>(128, value), encoding));
      EXPECT_EQ(row.scales.front(), 0) << value;
      EXPECT_EQ(row.codes, std::vector<int8_t>(128, 0)) << value;
      EXPECT_EQ(row.back, std::vector<float>(128, value));
    }
}

TEST(MinimumTest, ConstantBetweenTwoHalvesUsesTheScale) {
  // 1 + 2^-12 is no f16: the rounded minimum is off, and the outermost code brings the value back.
  Row row = cantFail(quantize(std::vector<float>(32, 1.000244140625f), Encoding::i8m(32)));
  EXPECT_NEAR(row.back[0], 1.000244140625f, 127 * 0x1p-25f); // half a step of the subnormal scale
}

TEST(MinimumTest, DenormalsGiveAtMostHalfTheSmallestStep) {
  std::vector<float> values(32);
  for (int k = 0; k < 32; ++k)
    values[k] = float(k - 16) * 1e-9f;
  for (Encoding encoding : {Encoding::i8m(32), Encoding::i4m(32)}) {
    Row row = cantFail(quantize(values, encoding));
    for (int k = 0; k < 32; ++k)
      EXPECT_NEAR(row.back[k], values[k], 0x1p-24f);
  }
}

TEST(MinimumTest, OneOutlierKeepsTheOthersWithinAStep) {
  std::vector<float> values(64, 0.01f);
  values[5] = 1e4f;
  Row row = cantFail(quantize(values, Encoding::i4m(32)));
  // The minimum is near 5333, where f16 has steps of 4; the scale near 667, with steps of 0.5.
  EXPECT_NEAR(row.back[5], 1e4f, 4 + 7 * 0.25f);
  EXPECT_NEAR(row.back[6], 0.01f, 4 + 8 * 0.25f);
  EXPECT_NEAR(row.back[40], 0.01f, 1e-5f); // the next group has its own minimum
}

TEST(MinimumTest, ValuesWithoutACodeAreNamed) {
  std::vector<float> values(64, 1.0f);
  values[33] = NAN;
  EXPECT_EQ(llvm::toString(quantize(values, Encoding::i4m(32)).takeError()),
            "'model.w' has the value nan in row 3, column 33, expected finite weights");
  values[33] = 3e38f;
  values[34] = -3e38f;
  EXPECT_EQ(llvm::toString(quantize(values, Encoding::i8m(32)).takeError()).substr(0, 40),
            "'model.w' has the absolute maximum 30000");
}
