// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rows of tables: codes in order, scales behind, padded to 4 bytes.
#include "lib/Pack/RowFormat.h"

#include "gtest/gtest.h"

#include <vector>

using namespace moec;

TEST(RowFormatTest, PayloadBytes) {
  EXPECT_EQ(rowPayloadBytes(96, Encoding::i8(32)), 104u); // 96 + 3 * 2, padded
  EXPECT_EQ(rowPayloadBytes(96, Encoding::i4(32)), 56u);  // 48 + 3 * 2, padded
  EXPECT_EQ(rowPayloadBytes(64, Encoding::i4(32)), 36u);
  EXPECT_EQ(rowPayloadBytes(7, Encoding::f32()), 28u);
  EXPECT_EQ(rowPayloadBytes(7, Encoding::f16()), 16u);    // 14, padded
  EXPECT_EQ(rowPayloadBytes(96, Encoding::i6(32)), 80u);  // 72 + 3 * 2, padded
  EXPECT_EQ(rowPayloadBytes(96, Encoding::i4m(32)), 60u); // 48 + 3 * 4
}

TEST(RowFormatTest, RowsUnpackToTheSameCodesAndScales) {
  for (Encoding encoding : {Encoding::i8(32), Encoding::i6(32), Encoding::i6(128), Encoding::i4(32), Encoding::i4(128),
                            Encoding::i8m(64), Encoding::i4m(64)}) {
    std::vector<int8_t> codes(384), codesBack(384);
    std::vector<uint16_t> scales(encoding.numScales(384)), scalesBack(scales.size());
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<int8_t>(int(i * 7 % (encoding.maxCode() - encoding.minCode() + 1)) + encoding.minCode());
    for (size_t i = 0; i < scales.size(); ++i)
      scales[i] = static_cast<uint16_t>(i * 4099 + 1);
    std::vector<uint8_t> row(rowPayloadBytes(384, encoding));
    packRow(codes, scales, encoding, row);
    unpackRow(row, encoding, codesBack, scalesBack);
    EXPECT_EQ(codes, codesBack);
    EXPECT_EQ(scales, scalesBack);
    // Element 0 in the low half of byte 0, element 1 in the high half.
    int first = encoding.bits() < 8 ? (codes[0] & 0xf) | (codes[1] & 0xf) << 4 : uint8_t(codes[0]);
    EXPECT_EQ(row[0], first);
    // The high bits of elements 0, 8, 16 and 24 share a byte.
    if (encoding.bits() == 6)
      EXPECT_EQ(row[192],
                (codes[0] >> 4 & 3) | (codes[8] >> 4 & 3) << 2 | (codes[16] >> 4 & 3) << 4 | (codes[24] >> 4 & 3) << 6);
  }
}

TEST(RowFormatTest, FloatsUnpackToTheSameValues) {
  for (Encoding encoding : {Encoding::f32(), Encoding::f16()}) {
    std::vector<float> values{0.0f, -1.5f, 65504.0f, 0.25f, 3.0f}, back(5);
    std::vector<uint8_t> row(rowPayloadBytes(5, encoding));
    packRow(values, encoding, row);
    unpackRow(row, encoding, back);
    EXPECT_EQ(values, back);
  }
}
