// SPDX-License-Identifier: Apache-2.0
/// \file
/// Codes and scales have exactly the bits that the pack format says; values without a code are errors.
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
};

llvm::Expected<Row> quantize(llvm::ArrayRef<float> values, Encoding encoding) {
  Row row{std::vector<int8_t>(values.size()), std::vector<uint16_t>(encoding.numScales(values.size()))};
  if (llvm::Error error = quantizeRow(values, encoding, "model.w", 3, row.codes, row.scales))
    return std::move(error);
  return row;
}

} // namespace

TEST(QuantizeTest, CodesAreRelativeToTheRoundedScale) {
  std::vector<float> values(32, 0.0f);
  values[0] = 7.0f;  // scale 7 / 7 = 1, exact in f16
  values[1] = 2.5f;  // ties go to even: 2
  values[2] = 3.5f;  // 4
  values[3] = -2.5f; // -2
  values[4] = -7.0f;
  Row row = cantFail(quantize(values, Encoding::i4(32)));
  EXPECT_EQ(row.scales[0], 0x3c00);
  EXPECT_EQ((std::vector<int8_t>(row.codes.begin(), row.codes.begin() + 6)), (std::vector<int8_t>{7, 2, 4, -2, -7, 0}));
}

TEST(QuantizeTest, FollowsTheFormulaForRandomRows) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (Encoding encoding : {Encoding::i8(32), Encoding::i8(128), Encoding::i6(32), Encoding::i4(32), Encoding::i4(64)})
    for (float size : {1e-8f, 1e-6f, 1e-3f, 1.0f, 1e4f}) {
      std::vector<float> values(256), back(256);
      for (float &value : values)
        value = normal(random) * size;
      Row row = cantFail(quantize(values, encoding));
      dequantizeRow(row.codes, row.scales, encoding, back);
      for (int64_t k = 0; k < 256; ++k) {
        float largest = 0;
        for (int64_t i = k / encoding.group * encoding.group; i < (k / encoding.group + 1) * encoding.group; ++i)
          largest = std::max(largest, std::fabs(values[i]));
        uint16_t half = f32ToF16(largest / float(encoding.maxCode()));
        ASSERT_EQ(row.scales[k / encoding.group], half);
        float scale = f16ToF32(half);
        float code = scale == 0 ? 0.0f : std::nearbyintf(values[k] / scale);
        code = std::fmin(std::fmax(code, float(-encoding.maxCode())), float(encoding.maxCode()));
        ASSERT_EQ(row.codes[k], int(code)) << values[k] << " / " << scale;
        ASSERT_EQ(back[k], float(row.codes[k]) * scale);
      }
    }
}

TEST(QuantizeTest, ScaleThatRoundsToZeroGivesZeroCodes) {
  std::vector<float> values(64, 1e-9f);
  values[40] = 1.0f;
  Row row = cantFail(quantize(values, Encoding::i8(32)));
  EXPECT_EQ(row.scales[0], 0);
  EXPECT_EQ(row.codes[0], 0);
  EXPECT_EQ(row.codes[40], 127);
}

TEST(QuantizeTest, ValuesThatAreNotFiniteAreNamed) {
  std::vector<float> values(64, 1.0f);
  values[33] = INFINITY;
  EXPECT_EQ(llvm::toString(quantize(values, Encoding::i8(32)).takeError()),
            "'model.w' has the value infinity in row 3, column 33, expected finite weights");
  values[33] = -NAN;
  EXPECT_EQ(llvm::toString(checkFloats(values, Encoding::f16(), "model.w", 9)),
            "'model.w' has the value nan in row 9, column 33, expected finite weights");
}

TEST(QuantizeTest, ScaleBeyondHalfIsNamed) {
  std::vector<float> values(64, 1.0f);
  values[40] = 65504.0f * 7; // the largest f16 as scale
  EXPECT_TRUE(bool(quantize(values, Encoding::i4(32))));
  values[40] = 65536.0f * 7;
  EXPECT_EQ(llvm::toString(quantize(values, Encoding::i4(32)).takeError()),
            "'model.w' has the absolute maximum 458752.000000 in row 3, group 1, expected at most 65504 times 7 so "
            "that its f16 scale is finite; store it as f32");
}

TEST(QuantizeTest, FloatBeyondHalfIsNamed) {
  std::vector<float> values(64, -65519.0f); // rounds to -65504
  EXPECT_FALSE(bool(checkFloats(values, Encoding::f16(), "model.w", 3)));
  values[40] = -65520.0f; // halfway to the next, which is infinity
  EXPECT_FALSE(bool(checkFloats(values, Encoding::f32(), "model.w", 3)));
  EXPECT_EQ(llvm::toString(checkFloats(values, Encoding::f16(), "model.w", 3)),
            "'model.w' has the value -65520.000000 in row 3, column 40, expected at most 65504, the largest f16; store "
            "it as f32");
}

TEST(QuantizeTest, EdgesOfEverySymmetricKind) {
  for (Encoding encoding : {Encoding::i8(32), Encoding::i6(32), Encoding::i4(32)}) {
    std::vector<float> values(32, 0.0f), back(32);
    Row zeros = cantFail(quantize(values, encoding));
    EXPECT_EQ(zeros.scales[0], 0);
    values.assign(32, 1e-39f); // denormal f32
    EXPECT_EQ(cantFail(quantize(values, encoding)).codes, std::vector<int8_t>(32, 0));
    values.assign(32, -0.75f); // a constant is the outermost code
    EXPECT_EQ(cantFail(quantize(values, encoding)).codes, std::vector<int8_t>(32, int8_t(-encoding.maxCode())));
    values.assign(32, 0.01f);
    values[3] = 1e4f;
    Row outlier = cantFail(quantize(values, encoding));
    dequantizeRow(outlier.codes, outlier.scales, encoding, back);
    EXPECT_EQ(outlier.codes[3], encoding.maxCode());
    EXPECT_NEAR(back[3], 1e4f, 5.0f); // 2^-11 of the value, from rounding the scale
    EXPECT_EQ(outlier.codes[4], 0);
  }
}
