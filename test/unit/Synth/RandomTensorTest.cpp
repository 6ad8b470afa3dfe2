// SPDX-License-Identifier: Apache-2.0
/// \file
/// Generated values follow their definition, do not depend on where a read begins, and have the promised spread.
#include "lib/Synth/RandomTensor.h"
#include "lib/Support/Half.h"
#include "lib/Support/Hash.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <vector>

using namespace moec;

namespace {

/// SplitMix64 as a sequence, written after the paper.
class SplitMix64 {
public:
  explicit SplitMix64(uint64_t state) : state(state) {}
  uint64_t next() { return mix(state += 0x9E3779B97F4A7C15); }
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

private:
  uint64_t state;
};

/// Sums of four bytes, minus their mean, in the order of the elements.
std::vector<int> centeredSums(uint64_t seed, llvm::StringRef name, size_t count) {
  uint64_t hash = hash64(llvm::ArrayRef(name.bytes_begin(), name.size()));
  SplitMix64 words(SplitMix64::mix(SplitMix64(seed).next() ^ hash));
  std::vector<int> sums;
  while (sums.size() < count) {
    uint64_t word = words.next();
    for (int half = 0; half < 2; ++half, word >>= 32)
      sums.push_back(int(word & 0xFF) + int(word >> 8 & 0xFF) + int(word >> 16 & 0xFF) + int(word >> 24 & 0xFF) - 510);
  }
  return sums;
}

std::vector<float> valuesOf(const RandomTensor &tensor, RandomType type, uint64_t first, size_t count) {
  std::vector<float> values(count);
  tensor.values(type, first, values);
  return values;
}

} // namespace

TEST(RandomTensor, SequenceIsSplitMix64) {
  SplitMix64 words(1234567); // the first outputs that other implementations list for this seed
  EXPECT_EQ(words.next(), 6457827717110365317u);
  EXPECT_EQ(words.next(), 3203168211198807973u);
}

TEST(RandomTensor, MatrixFollowsItsDefinition) {
  // 4^21 / (21845 * 2048) = 98305.5, whose root is 313: the first of 9 bits.
  constexpr double kUnit = 313.0 / 2097152.0;
  std::vector<int> sums = centeredSums(7, "lm_head.weight", 5000);
  RandomTensor tensor = RandomTensor::matrix(7, "lm_head.weight", 2048);
  std::vector<float> exact = valuesOf(tensor, RandomType::F32, 0, sums.size());
  std::vector<float> rounded = valuesOf(tensor, RandomType::BF16, 0, sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    ASSERT_EQ(exact[i], sums[i] * kUnit) << i;
    // Half of the distance between two bfloat16 of this magnitude, at most.
    ASSERT_LE(std::fabs(rounded[i] - exact[i]), std::ldexp(std::fabs(exact[i]), -8)) << i;
    ASSERT_EQ(std::bit_cast<uint32_t>(rounded[i]) & 0xFFFF, 0u) << i;
  }
}

TEST(RandomTensor, FirstValuesStay) {
  // Changing them changes every synthetic model: such a change needs a new kind beside "random:".
  EXPECT_EQ(valuesOf(RandomTensor::matrix(7, "lm_head.weight", 2048), RandomType::BF16, 0, 4),
            (std::vector<float>{-0x1.08p-8f, 0x1.6p-8f, 0x1.0cp-7f, -0x1.2cp-6f}));
  EXPECT_EQ(valuesOf(RandomTensor::matrix(7, "lm_head.weight", 2048), RandomType::F32, (uint64_t(1) << 33) + 1, 2),
            (std::vector<float>{-0x1.874p-10f, -0x1.abeep-5f}));
  EXPECT_EQ(valuesOf(RandomTensor::vector(0, "model.norm.weight"), RandomType::BF16, 0, 4),
            (std::vector<float>{0x1.04p+0f, 0x1.04p+0f, 0x1.02p+0f, 0x1.f6p-1f}));
}

TEST(RandomTensor, AnyRangeGivesTheSameValues) {
  RandomTensor tensor = RandomTensor::matrix(1, "w", 100);
  for (RandomType type : {RandomType::BF16, RandomType::F16, RandomType::F32}) {
    std::vector<float> whole = valuesOf(tensor, type, 0, 9000);
    for (uint64_t first : {0, 1, 2, 2047, 2048, 4099})
      for (size_t count : {1, 2, 3, 2047, 2048, 4101})
        EXPECT_EQ(valuesOf(tensor, type, first, count),
                  std::vector<float>(whole.begin() + first, whole.begin() + first + count));
  }
}

TEST(RandomTensor, BytesReadBackAsValues) {
  RandomTensor tensor = RandomTensor::vector(3, "norm");
  std::vector<uint8_t> two(2 * 3001), four(4 * 3001);
  tensor.bytes(RandomType::BF16, 5, two);
  std::vector<float> values = valuesOf(tensor, RandomType::BF16, 5, 3001);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(bf16ToF32(static_cast<uint16_t>(two[2 * i] | two[2 * i + 1] << 8)), values[i]);
  tensor.bytes(RandomType::F16, 5, two);
  values = valuesOf(tensor, RandomType::F16, 5, 3001);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(f16ToF32(static_cast<uint16_t>(two[2 * i] | two[2 * i + 1] << 8)), values[i]);
  tensor.bytes(RandomType::F32, 5, four);
  values = valuesOf(tensor, RandomType::F32, 5, 3001);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(std::bit_cast<float>(uint32_t(four[4 * i]) | uint32_t(four[4 * i + 1]) << 8 |
                                   uint32_t(four[4 * i + 2]) << 16 | uint32_t(four[4 * i + 3]) << 24),
              values[i]);
}

TEST(RandomTensor, SpreadFollowsTheColumns) {
  for (uint64_t columns : {1, 32, 768, 2048, 1 << 18}) {
    std::vector<float> values = valuesOf(RandomTensor::matrix(5, "spread", columns), RandomType::BF16, 0, 100000);
    double sum = 0, squares = 0;
    for (float value : values) {
      sum += value;
      squares += double(value) * value;
    }
    double wanted = 1 / std::sqrt(double(columns)), deviation = std::sqrt(squares / values.size());
    // The factor has 9 bits; 100000 draws give the deviation to 0.3 %.
    EXPECT_NEAR(deviation, wanted, 0.01 * wanted) << columns;
    EXPECT_NEAR(sum / values.size(), 0, 0.02 * wanted) << columns;
  }
  for (float value : valuesOf(RandomTensor::vector(5, "norm"), RandomType::BF16, 0, 10000))
    ASSERT_TRUE(value > 0.9375f && value <= 1.0625f) << value;
}

TEST(RandomTensor, SeedAndNameMakeOtherValues) {
  std::vector<float> values = valuesOf(RandomTensor::matrix(1, "a", 64), RandomType::BF16, 0, 64);
  EXPECT_NE(values, valuesOf(RandomTensor::matrix(2, "a", 64), RandomType::BF16, 0, 64));
  EXPECT_NE(values, valuesOf(RandomTensor::matrix(1, "b", 64), RandomType::BF16, 0, 64));
}

TEST(RandomTensor, KindKeepsTheSeed) {
  EXPECT_EQ(randomKind(18446744073709551615u), "random:18446744073709551615");
  EXPECT_EQ(parseRandomKind("random:18446744073709551615"), RandomKind(18446744073709551615u));
  EXPECT_EQ(randomKind({7, true}), "random:7:zero_centred");
  EXPECT_EQ(parseRandomKind("random:7:zero_centred"), RandomKind(7, true));
  for (const char *kind : {"", "random:", "random:x", "random:-1", "random:18446744073709551616",
                           "random:7:", "random::zero_centred", "bytes"})
    EXPECT_EQ(parseRandomKind(kind), std::nullopt) << kind;
}
