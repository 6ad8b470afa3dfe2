// SPDX-License-Identifier: Apache-2.0
/// \file
/// Texts that would end MLIR's parser are refused with their line; what modules hold is not.
#include "lib/Support/ModuleText.h"

#include "gtest/gtest.h"

using namespace moec;

static std::string refused(const std::string &text) { return llvm::toString(checkModuleText(text, "a.mlir")); }

static std::string times(unsigned count, const std::string &piece) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += piece;
  return text;
}

TEST(ModuleText, DepthIsLimited) {
  for (const char *bracket : {"(", "[", "{", "<", "tuple<", "- "}) {
    EXPECT_EQ(refused("module {\n" + times(100, bracket)), "") << bracket;
    EXPECT_EQ(refused("module {\n" + times(201, bracket)), "a.mlir:2: is nested deeper than 200 levels") << bracket;
  }
}

TEST(ModuleText, ClosedBracketsDoNotCount) {
  EXPECT_EQ(refused(times(1000, "f(x) -> () {[a]} affine_set<(d0) : (d0 >= 0)>\n")), "");
  // More are closed than are open.
  EXPECT_EQ(refused(times(1000, ")")), "");
}

TEST(ModuleText, StringsAndCommentsDoNotCount) {
  EXPECT_EQ(refused("a = \"" + times(300, "[") + "\\\"(\" // " + times(300, "{") + "\n[]"), "");
  EXPECT_EQ(refused("\"unclosed\n" + times(201, "[")), "a.mlir:2: is nested deeper than 200 levels");
  EXPECT_EQ(refused("a = \"\\"), "");
}

TEST(ModuleText, ArrayOfIndexIsRefused) {
  for (const char *text : {"\narray<index: 1>", "\narray < // c\n index:", "\n array<\nindex"})
    EXPECT_NE(refused(text).find(": array<index> is not supported, use array<i64>"), std::string::npos) << text;
  EXPECT_EQ(refused("array<i64: 1>, vector<index>, \"array<index\", arrays<index>, array index"), "");
}
