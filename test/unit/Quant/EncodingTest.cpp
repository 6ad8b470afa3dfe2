// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names of encodings read back; what cannot be stored is refused with numbers.
#include "lib/Quant/Encoding.h"

#include "gtest/gtest.h"

using namespace moec;

TEST(EncodingTest, NamesReadBack) {
  for (Encoding encoding : {Encoding::f32(), Encoding::i8(32), Encoding::i8(128), Encoding::i4(64)})
    EXPECT_EQ(cantFail(parseEncoding(nameOf(encoding))), encoding);
  EXPECT_EQ(nameOf(Encoding::i4(128)), "i4/128");
}

TEST(EncodingTest, OtherNamesAreRefused) {
  for (const char *text : {"", "f32/32", "i8", "i8/", "i8/33", "i4/-32", "i6/32", "i4/32x"})
    EXPECT_EQ(llvm::toString(parseEncoding(text).takeError()),
              "expected an encoding f32, i8/G or i4/G with G 32, 64 or 128, but found '" + std::string(text) + "'");
}

TEST(EncodingTest, GroupMustDivideColumns) {
  EXPECT_FALSE(bool(checkEncoding(Encoding::f32(), 7, "w")));
  EXPECT_FALSE(bool(checkEncoding(Encoding::i8(64), 128, "w")));
  EXPECT_EQ(llvm::toString(checkEncoding(Encoding::i8(64), 96, "a.b")),
            "'a.b' has 96 columns, which group 64 does not divide; choose a group that does, or f32");
  EXPECT_EQ(llvm::toString(checkEncoding(Encoding::i8(16), 96, "a.b")), "'a.b' has group 16, expected 32, 64 or 128");
  EXPECT_EQ(llvm::toString(checkEncoding(Encoding::f32(), 0, "a.b")), "'a.b' has 0 columns, expected at least 1");
}
