// SPDX-License-Identifier: Apache-2.0
/// \file
/// The expansions are close to the functions, reductions have the order of the contract, codes round to even.
#include "lib/Reference/Numerics.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace moec;

TEST(Numerics, ExpIsWithinTwoUnits) {
  for (float x = -87.0f; x < 88.3f; x += 0.0137f) {
    double exact = std::exp(static_cast<double>(x));
    EXPECT_NEAR(expandedExp(x) / exact, 1.0, 2 * 0x1p-23) << x;
  }
  EXPECT_EQ(expandedExp(0.0f), 1.0f);
  EXPECT_EQ(expandedExp(-88.0f), 0.0f);
  EXPECT_EQ(expandedExp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(expandedExp(std::numeric_limits<float>::quiet_NaN()), 0.0f);
  EXPECT_EQ(expandedExp(1000.0f), expandedExp(88.37626f)); // stays finite
}

TEST(Numerics, SiluOfKnownValues) {
  EXPECT_EQ(silu(0.0f), 0.0f);
  EXPECT_NEAR(silu(1.0f), 1.0 / (1.0 + std::exp(-1.0)), 1e-7);
  EXPECT_EQ(silu(100.0f), 100.0f);
}

TEST(Numerics, SoftplusFollowsTheLogarithm) {
  for (float x = -80.0f; x < 80.0f; x += 0.37f) {
    double exact = x > 30.0f ? x : std::log1p(std::exp(static_cast<double>(x)));
    EXPECT_NEAR(softplus(x), exact, 3e-7 * exact) << x;
  }
  EXPECT_EQ(softplus(20.5f), 20.5f);
  EXPECT_TRUE(std::isnan(softplus(NAN)));
  EXPECT_EQ(sigmoid(0.0f), 0.5f);
}

TEST(Numerics, TreeAddsEightThenFour) {
  // In f32, 2^24 + 1 is 2^24: partials 0 and 8 meet first, so 2^24 - 2^24 = 0 and the 1 survives.
  float partials[16] = {};
  partials[0] = 0x1p24f;
  partials[8] = -0x1p24f;
  partials[1] = 1.0f;
  EXPECT_EQ(treeSum(partials), 1.0f);
  float other[16] = {}; // 0 and 1 meet last: 2^24 + (1 + -2^24) loses the 1 in the inner sum
  other[0] = 0x1p24f;
  other[1] = 1.0f;
  other[9] = -0x1p24f;
  EXPECT_EQ(treeSum(other), 1.0f); // 1 - 2^24 is exact in f32 (24 bits)
}

TEST(Numerics, CodesRoundToEven) {
  const float x[] = {127.0f, 0.5f, 1.5f, -2.5f, std::numeric_limits<float>::quiet_NaN()};
  int8_t codes[5];
  EXPECT_EQ(quantizeGroup(x, codes), 1.0f);
  const int8_t expected[] = {127, 0, 2, -2, -127};
  EXPECT_TRUE(std::equal(codes, codes + 5, expected));
  const float tiny[] = {9e-31f, -1e-31f};
  EXPECT_EQ(quantizeGroup(tiny, llvm::MutableArrayRef(codes, 2)), 0.0f);
  EXPECT_EQ(codes[0], 0);
}

TEST(Numerics, RotationHasBothTables) {
  Rotation rotation = rotationAt(1000, {1.0, 0.01});
  EXPECT_EQ(rotation.cosines[0], static_cast<float>(std::cos(1000.0)));
  EXPECT_EQ(rotation.sines[1], static_cast<float>(std::sin(10.0)));
}
