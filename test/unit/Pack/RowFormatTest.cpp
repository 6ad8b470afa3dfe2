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
}

TEST(RowFormatTest, RowsUnpackToTheSameCodesAndScales) {
  for (Encoding encoding : {Encoding::i8(32), Encoding::i4(32), Encoding::i4(128)}) {
    std::vector<int8_t> codes(384), codesBack(384);
    std::vector<uint16_t> scales(384 / encoding.group), scalesBack(384 / encoding.group);
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<int8_t>(int(i * 7 % (2 * encoding.maxCode() + 1)) - encoding.maxCode());
    for (size_t i = 0; i < scales.size(); ++i)
      scales[i] = static_cast<uint16_t>(i * 4099 + 1);
    std::vector<uint8_t> row(rowPayloadBytes(384, encoding));
    packRow(codes, scales, encoding, row);
    unpackRow(row, encoding, codesBack, scalesBack);
    EXPECT_EQ(codes, codesBack);
    EXPECT_EQ(scales, scalesBack);
    // Element 0 in the low half of byte 0, element 1 in the high half.
    int first = encoding.kind == EncodingKind::i4 ? (codes[0] & 0xf) | (codes[1] & 0xf) << 4 : uint8_t(codes[0]);
    EXPECT_EQ(row[0], first);
  }
}
