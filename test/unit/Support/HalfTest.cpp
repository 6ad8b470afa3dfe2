// SPDX-License-Identifier: Apache-2.0
/// \file
/// Conversions between float types are exact where they can be and round to nearest even elsewhere.
#include "lib/Support/Half.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace moec;

TEST(Half, EveryFloat16ReturnsThroughFloat32) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = f16ToF32(static_cast<uint16_t>(bits));
    bool isNan = (bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0;
    EXPECT_EQ(std::isnan(value), isNan);
    if (!isNan) {
      EXPECT_EQ(f32ToF16(value), bits);
    }
  }
}

TEST(Half, RoundsToNearestEvenBetweenNeighbours) {
  // Between two neighbours a < b of float16: below the middle a, above b, at the middle the even one.
  for (uint16_t a = 0; a < 0x7BFF; ++a) {
    uint16_t b = a + 1;
    float middle = (f16ToF32(a) + f16ToF32(b)) / 2; // exact: float32 has the bits
    EXPECT_EQ(f32ToF16(middle), (a & 1) ? b : a);
    EXPECT_EQ(f32ToF16(std::nextafter(middle, 0.0f)), a);
    EXPECT_EQ(f32ToF16(std::nextafter(middle, 1e9f)), b);
    EXPECT_EQ(f32ToF16(-middle), 0x8000 | ((a & 1) ? b : a));
  }
}

TEST(Half, OverflowIsInfinity) {
  EXPECT_EQ(f32ToF16(65504.0f), 0x7BFF);
  EXPECT_EQ(f32ToF16(std::nextafter(65520.0f, 0.0f)), 0x7BFF);
  EXPECT_EQ(f32ToF16(65520.0f), 0x7C00);
  EXPECT_EQ(f32ToF16(-1e38f), 0xFC00);
  EXPECT_EQ(f32ToF16(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_TRUE(std::isnan(f16ToF32(f32ToF16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Half, DenormalsAndZero) {
  EXPECT_EQ(f32ToF16(-0.0f), 0x8000);
  EXPECT_EQ(f32ToF16(0x1p-24f), 1);
  EXPECT_EQ(f32ToF16(0x1p-25f), 0); // the middle between 0 and 2^-24: even
  EXPECT_EQ(f32ToF16(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(f32ToF16(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(Half, BFloat16IsTheUpperHalf) {
  EXPECT_EQ(bf16ToF32(0x3F80), 1.0f);
  EXPECT_EQ(bf16ToF32(0xC0A0), -5.0f);
  EXPECT_EQ(bf16ToF32(0x7F80), std::numeric_limits<float>::infinity());
}
