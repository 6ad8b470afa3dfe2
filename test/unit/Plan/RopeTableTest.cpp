// SPDX-License-Identifier: Apache-2.0
/// \file
/// Angles come from double precision; scaling changes frequencies as its definition says, by hand.
#include "lib/Plan/RopeTable.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numbers>

using namespace moec;

TEST(RopeTable, AnglesComeFromDouble) {
  std::vector<double> frequencies = ropeFrequencies(4, 10000.0);
  ASSERT_EQ(frequencies.size(), 2u);
  EXPECT_EQ(frequencies[0], 1.0);
  EXPECT_EQ(frequencies[1], std::pow(10000.0, -0.5));
  float cosines[2], sines[2];
  ropeRow(1000, frequencies, false, cosines);
  ropeRow(1000, frequencies, true, sines);
  EXPECT_EQ(cosines[0], static_cast<float>(std::cos(1000.0)));
  EXPECT_EQ(sines[1], static_cast<float>(std::sin(1000.0 * std::pow(10000.0, -0.5))));
}

TEST(RopeTable, LinearDividesEveryFrequency) {
  RopeScaling scaling{RopeScaling::Kind::linear, 4.0};
  EXPECT_EQ(ropeFrequencies(4, 16.0, scaling), (std::vector<double>{0.25, 0.0625})); // 1/4 and 16^(-1/2) / 4
}

TEST(RopeTable, LlamaKeepsShortWavesAndStretchesLongOnes) {
  // theta = 16, dim = 6: frequencies 1, 16^(-1/3) and 16^(-2/3), wavelengths 2 pi, 15.8 and 39.9. With an original
  // context of 64 pi, high 4 and low 2: shorter than 16 pi = 50.3 stays.
  RopeScaling scaling{RopeScaling::Kind::llama3, 8.0, 2.0, 4.0, 64 * std::numbers::pi};
  EXPECT_EQ(ropeFrequencies(6, 16.0, scaling), ropeFrequencies(6, 16.0));
  // 8 pi: stays below 2 pi (not the first, which is equal: share 1), divided above 4 pi = 12.6.
  scaling.original = 8 * std::numbers::pi;
  std::vector<double> plain = ropeFrequencies(6, 16.0), stretched = ropeFrequencies(6, 16.0, scaling);
  EXPECT_DOUBLE_EQ(stretched[0], 1.0);
  EXPECT_EQ(stretched[1], plain[1] / 8);
  EXPECT_EQ(stretched[2], plain[2] / 8);
  // 6 pi: limits 1.5 pi and 3 pi; the first wave of 2 pi has the share (6 pi / 2 pi - 2) / 2 = 1/2: 1/16 + 1/2.
  scaling.original = 6 * std::numbers::pi;
  EXPECT_DOUBLE_EQ(ropeFrequencies(6, 16.0, scaling)[0], 0.5625);
}
