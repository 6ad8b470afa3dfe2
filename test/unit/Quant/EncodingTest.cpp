// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names of encodings read back; what cannot be stored is refused with numbers.
#include "lib/Quant/Encoding.h"

#include "gtest/gtest.h"

using namespace moec;

TEST(EncodingTest, NamesReadBack) {
  for (Encoding encoding : {Encoding::f32(), Encoding::f16(), Encoding::i8(32), Encoding::i8(128), Encoding::i6(64),
                            Encoding::i4(64), Encoding::i8m(32), Encoding::i4m(128)})
    EXPECT_EQ(cantFail(parseEncoding(nameOf(encoding))), encoding);
  EXPECT_EQ(nameOf(Encoding::f16()), "f16");
  EXPECT_EQ(nameOf(Encoding::i6(64)), "i6/64");
  EXPECT_EQ(nameOf(Encoding::i4(128)), "i4/128");
  EXPECT_EQ(nameOf(Encoding::i4m(128)), "i4m/128");
}

TEST(EncodingTest, OtherNamesAreRefused) {
  for (const char *text : {"", "f32/32", "i8", "i8/", "i8/33", "i4/-32", "i6m/32", "f16/32", "f16m", "i4/32x"})
    EXPECT_EQ(llvm::toString(parseEncoding(text).takeError()),
              "expected an encoding f32, f16, i8/G, i6/G, i4/G, i8m/G or i4m/G with G 32, 64 or 128, but found '" +
                  std::string(text) + "'");
}

TEST(EncodingTest, CodesAreSymmetricOrHaveAMinimum) {
  auto range = [](const Encoding &encoding) { return std::pair(encoding.minCode(), encoding.maxCode()); };
  EXPECT_EQ(range(Encoding::i8(32)), std::pair(-127, 127));
  EXPECT_EQ(range(Encoding::i6(32)), std::pair(-31, 31));
  EXPECT_EQ(range(Encoding::i4(32)), std::pair(-7, 7));
  EXPECT_EQ(range(Encoding::i8m(32)), std::pair(-128, 127));
  EXPECT_EQ(range(Encoding::i4m(32)), std::pair(-8, 7));
  EXPECT_EQ(Encoding::i4m(32).numScales(96), 6);
  EXPECT_EQ(llvm::toString(checkEncoding({EncodingKind::i6, 32, true}, 96, "a.b")),
            "'a.b' has a minimum, expected that with 8 and 4 bits only");
}

TEST(EncodingTest, GroupMustDivideColumns) {
  EXPECT_FALSE(bool(checkEncoding(Encoding::f32(), 7, "w")));
  EXPECT_FALSE(bool(checkEncoding(Encoding::i8(64), 128, "w")));
  EXPECT_EQ(llvm::toString(checkEncoding(Encoding::i8(64), 96, "a.b")),
            "'a.b' has 96 columns, which group 64 does not divide; choose a group that does, or f16");
  EXPECT_EQ(llvm::toString(checkEncoding(Encoding::i8(16), 96, "a.b")), "'a.b' has group 16, expected 32, 64 or 128");
  EXPECT_EQ(llvm::toString(checkEncoding(Encoding::f32(), 0, "a.b")), "'a.b' has 0 columns, expected at least 1");
}
