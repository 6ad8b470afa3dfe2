// SPDX-License-Identifier: Apache-2.0
/// \file
/// The loops give the same bits whatever instructions they are compiled for, and those of the plain formula: the copies
/// that the machine chose against the one inlined here, which is compiled for the baseline.
#include "lib/Quant/QuantizeLoops.h"

#include "lib/Quant/Quantize.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace moec;

namespace {

/// Finite values of every kind: denormals, zeros of both signs, outliers, constants, ties.
std::vector<float> adversarialRow(unsigned seed, size_t count) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  const float kSizes[] = {1e-39f, 1e-8f, 6e-8f, 1e-3f, 1.0f, 1e4f};
  for (size_t k = 0; k < count; k += 32) {
    float size = kSizes[random() % 6], offset = random() % 3 ? 0.0f : normal(random) * size;
    for (size_t i = k; i < k + 32; ++i)
      switch (random() % 8) {
      case 0:
        values[i] = random() % 2 ? 0.0f : -0.0f;
        break;
      case 1:
        values[i] = static_cast<float>(static_cast<int>(random() % 31) - 15) * size / 2;
        break;
      default:
        values[i] = normal(random) * size + offset;
      }
    if (random() % 4 == 0)
      std::fill_n(values.begin() + k, 32, offset);
    if (random() % 4 == 0)
      values[k + random() % 32] = 1e5f;
  }
  return values;
}

/// One group as the header of `quantizeRow` says, by standard functions.
void expectFormula(llvm::ArrayRef<float> group, const Encoding &encoding, llvm::ArrayRef<int8_t> codes, uint16_t scale,
                   uint16_t minimum) {
  float low = *std::min_element(group.begin(), group.end()), high = *std::max_element(group.begin(), group.end());
  float zero = 0, largest = std::max(std::fabs(low), std::fabs(high)) / static_cast<float>(encoding.maxCode());
  if (encoding.minimum) {
    float below = static_cast<float>(-encoding.minCode()), above = static_cast<float>(encoding.maxCode());
    float step = high / (below + above) - low / (below + above);
    ASSERT_EQ(minimum, f32ToF16(low / 2 + high / 2 + step / 2));
    zero = f16ToF32(minimum);
    largest = std::max((zero - low) / below, (high - zero) / above);
  }
  ASSERT_EQ(scale, f32ToF16(largest));
  for (size_t k = 0; k < group.size(); ++k) {
    float steps = scale ? (group[k] - zero) / f16ToF32(scale) : 0.0f;
    float code = std::nearbyint(std::clamp(steps, float(encoding.minCode()), float(encoding.maxCode())));
    ASSERT_EQ(codes[k], static_cast<int>(code)) << nameOf(encoding) << " " << group[k];
  }
}

} // namespace

TEST(QuantizeLoopsTest, EveryLevelFollowsTheFormula) {
  for (int64_t group : {32, 64, 128})
    for (Encoding encoding :
         {Encoding::i8(group), Encoding::i6(group), Encoding::i4(group), Encoding::i8m(group), Encoding::i4m(group)})
      for (unsigned seed = 0; seed < 40; ++seed) {
        std::vector<float> values = adversarialRow(seed, 512);
        int64_t groups = encoding.numGroups(512);
        std::vector<int8_t> codes(512), here(512);
        std::vector<uint16_t> scales(encoding.numScales(512)), scalesHere(scales.size());
        ASSERT_FALSE(llvm::errorToBool(quantizeRow(values, encoding, "w", 0, codes, scales)));
        ASSERT_EQ(loops::quantizeGroups(values.data(), groups, encoding, here.data(), scalesHere.data()), groups);
        ASSERT_EQ(codes, here);
        ASSERT_EQ(scales, scalesHere);
        for (int64_t g = 0; g < groups; ++g)
          expectFormula(llvm::ArrayRef(values).slice(g * group, group), encoding,
                        llvm::ArrayRef(codes).slice(g * group, group), scales[g],
                        encoding.minimum ? scales[groups + g] : 0);
      }
}

TEST(QuantizeLoopsTest, StopsAtTheFirstGroupWithoutScale) {
  for (float bad : {std::nanf(""), -std::nanf(""), INFINITY, -INFINITY, 3.4e38f, -3.4e38f})
    for (Encoding encoding : {Encoding::i4(32), Encoding::i8m(32)}) {
      std::vector<float> values(128, 0.5f);
      values[77] = bad;
      std::vector<int8_t> codes(128);
      std::vector<uint16_t> scales(encoding.numScales(128));
      EXPECT_EQ(loops::quantizeGroups(values.data(), 4, encoding, codes.data(), scales.data()), 2);
      EXPECT_TRUE(llvm::errorToBool(quantizeRow(values, encoding, "w", 0, codes, scales)));
    }
}
