// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attention over the cache by exact values; what is kept for each element type; gaps and overflow are errors.
#include "lib/Reference/KvCache.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace moec;

namespace {

FloatTensor rows(int64_t count, std::vector<float> values) { return {{count, int64_t(values.size()) / count}, values}; }

std::vector<float> attend(const KvCache &cache, std::vector<float> q, int64_t numVisible, float scale = 1.0f) {
  std::vector<float> o(cache.shape().valueDim);
  cache.attend(0, q, numVisible, scale, o);
  return o;
}

KvCache filled(KvElement element) {
  KvCache cache({1, 2, 2, 128, element});
  EXPECT_FALSE(bool(cache.append(rows(2, {1, 0, 1, 0}), rows(2, {1, 2, 3, 8}), 0)));
  return cache;
}

} // namespace

TEST(KvCache, OnePositionGivesItsValue) {
  EXPECT_EQ(attend(filled(KvElement::f32), {5, 5}, 1), (std::vector<float>{1, 2}));
}

TEST(KvCache, EqualScoresGiveTheMean) {
  EXPECT_EQ(attend(filled(KvElement::f32), {1, 1}, 2), (std::vector<float>{2, 5}));
}

TEST(KvCache, ScoresWeighBySoftmax) {
  KvCache cache({1, 1, 1, 64, KvElement::f32});
  ASSERT_FALSE(bool(cache.append(rows(2, {0, 2}), rows(2, {0, 1}), 0)));
  double expected = std::exp(1.0) / (1.0 + std::exp(1.0)); // score 2 · ½ = 1 against 0
  EXPECT_NEAR(attend(cache, {1}, 2, 0.5f)[0], expected, 1e-7);
}

TEST(KvCache, ManyBlocksAndSpans) {
  // 1200 equal scores over 19 blocks and 3 spans, values 0 … 1199: the mean is 599.5.
  KvCache cache({1, 1, 1, 1216, KvElement::f32});
  for (int64_t p = 0; p < 1200; ++p)
    ASSERT_FALSE(bool(cache.append(rows(1, {1}), rows(1, {float(p)}), p)));
  EXPECT_NEAR(attend(cache, {1}, 1200)[0], 599.5, 1e-3);
  EXPECT_NEAR(attend(cache, {1}, 513)[0], 256.0, 1e-3);
}

TEST(KvCache, HalvesAreRounded) {
  KvCache cache({1, 1, 1, 64, KvElement::f16});
  // Between 1 and the next float16 1 + 2^-10; the middle goes to the even 1.
  ASSERT_FALSE(bool(cache.append(rows(1, {1}), rows(1, {1.0f + 0x1p-11f}), 0)));
  EXPECT_EQ(attend(cache, {1}, 1)[0], 1.0f);
}

TEST(KvCache, BytesHaveOneScaleForAHead) {
  // max|v| = 8: codes roundeven(3 · 127/8) = 48 and 127, scale 8/127.
  std::vector<float> o = attend(
      [] {
        KvCache cache({1, 2, 2, 64, KvElement::i8});
        EXPECT_FALSE(bool(cache.append(rows(1, {1, 0}), rows(1, {3, 8}), 0)));
        return cache;
      }(),
      {1, 0}, 1);
  float scale = 8.0f / 127.0f;
  EXPECT_EQ(o, (std::vector<float>{48.0f * scale, 127.0f * scale}));
}

TEST(KvCache, NibblesHaveScalesForGroupsOfValuesAndTransformedKeys) {
  // 40 values: the scale of the first 32 is f16(7/7) = 1, that of the last 8 is f16(0.7/7).
  KvCache cache({1, 8, 40, 64, KvElement::i4});
  std::vector<float> value(40, 7.0f);
  for (int i = 32; i < 40; ++i)
    value[i] = 0.7f;
  // The transform of a unit key is 1/sqrt(8) everywhere: no outlier is left, every code is 7.
  ASSERT_FALSE(bool(cache.append(rows(1, {0, 0, 0, 4, 0, 0, 0, 0}), rows(1, value), 0)));
  std::vector<float> o = attend(cache, {1, 2, 3, 4, 5, 6, 7, 8}, 1);
  EXPECT_EQ(o[0], 7.0f);
  EXPECT_NEAR(o[39], 0.7f, 0.7f / 1024);
}

TEST(KvCache, TransformKeepsScores) {
  KvCache exact({1, 8, 1, 64, KvElement::f32}), coded({1, 8, 1, 64, KvElement::i4});
  FloatTensor k = rows(2, {9, 1, 2, -1, 0, 3, 1, 1, 1, 1, 0, 2, 1, 0, -2, 1}), v = rows(2, {0, 7});
  ASSERT_FALSE(bool(exact.append(k, v, 0)));
  ASSERT_FALSE(bool(coded.append(k, v, 0)));
  std::vector<float> q = {0.1f, 0.2f, 0.3f, -0.4f, 0.2f, 0.1f, 0.5f, -0.1f};
  EXPECT_NEAR(attend(exact, q, 2)[0], attend(coded, q, 2)[0], 0.35);
}

TEST(KvCache, WindowShowsTheLastPositionsAndTheSinks) {
  // Equal scores: the output is the mean of the values that are seen.
  KvCache cache({1, 1, 1, 1216, KvElement::f32, /*window=*/3, /*sinks=*/2});
  for (int64_t p = 0; p < 1200; ++p)
    ASSERT_FALSE(bool(cache.append(rows(1, {1}), rows(1, {float(p)}), p)));
  EXPECT_EQ(attend(cache, {1}, 1)[0], 0.0f);
  EXPECT_EQ(attend(cache, {1}, 3)[0], 1.0f);
  EXPECT_NEAR(attend(cache, {1}, 1200)[0], (0 + 1 + 1197 + 1198 + 1199) / 5.0, 1e-3);
  KvCache alone({1, 1, 1, 1216, KvElement::f32, /*window=*/1});
  for (int64_t p = 0; p < 600; ++p)
    ASSERT_FALSE(bool(alone.append(rows(1, {1}), rows(1, {float(p)}), p)));
  EXPECT_EQ(attend(alone, {1}, 600)[0], 599.0f);
}

TEST(KvCache, GapsAndOverflowAreErrors) {
  KvCache cache = filled(KvElement::f32);
  EXPECT_EQ(toString(cache.append(rows(1, {1, 1}), rows(1, {1, 1}), 3)),
            "expects a position from 0 to 2, which the cache holds, but got 3");
  FloatTensor many{{127, 2}, std::vector<float>(254)};
  EXPECT_EQ(toString(cache.append(many, many, 2)), "expects at most 128 positions, but got 127 tokens from position 2");
  EXPECT_FALSE(bool(cache.append(rows(1, {1, 1}), rows(1, {1, 1}), 1))); // going back is allowed
  EXPECT_EQ(cache.numPositions(), 2);
}
