// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages of typed reading name file, path, what was found and what was expected.
#include "lib/Support/JsonCursor.h"
#include "test/unit/Support/TestFolder.h"

using namespace moec;
using namespace moec::test;

class JsonCursorTest : public ::testing::Test {
protected:
  Json json = llvm::cantFail(parseJson(
      R"({"count": 17, "real": 0.5, "name": "x", "null": null, "list": [{"b": true}], "big": 1e30})", "c.json"));
  JsonCursor root{"c.json", json};
  JsonCursor at(llvm::StringRef key) { return llvm::cantFail(root.at(key)); }
};

TEST_F(JsonCursorTest, ReadsValues) {
  EXPECT_EQ(llvm::cantFail(at("count").integer(1, 20)), 17);
  EXPECT_EQ(llvm::cantFail(at("count").unsignedInteger()), 17u);
  EXPECT_EQ(llvm::cantFail(at("count").number()), 17.0);
  EXPECT_EQ(llvm::cantFail(at("real").number(0, 1)), 0.5);
  EXPECT_EQ(llvm::cantFail(at("name").string()), "x");
  std::vector<JsonCursor> list = llvm::cantFail(at("list").elements());
  EXPECT_TRUE(llvm::cantFail(llvm::cantFail(list[0].at("b")).boolean()));
  EXPECT_EQ(llvm::cantFail(root.members()).size(), 6u);
}

TEST_F(JsonCursorTest, NullAndAbsentAreNotFound) {
  EXPECT_FALSE(root.find("null").has_value());
  EXPECT_FALSE(root.find("nothing").has_value());
  EXPECT_FALSE(at("count").find("x").has_value());
}

TEST_F(JsonCursorTest, MessagesNameThePlace) {
  EXPECT_EQ(errorText(root.at("nothing")), "c.json: nothing is missing");
  EXPECT_EQ(errorText(at("name").at("x")), "c.json: name is \"x\", expects an object");
  EXPECT_EQ(errorText(at("count").integer(1, 16, "num_experts")), "c.json: count is 17, expects 1 to 16 (num_experts)");
  EXPECT_EQ(errorText(at("real").integer(1, 16)), "c.json: real is 0.5, expects an integer from 1 to 16");
  EXPECT_EQ(errorText(at("big").integer(1, 16)), "c.json: big is 1e+30, expects an integer from 1 to 16");
  EXPECT_EQ(errorText(at("real").number(1, 2)), "c.json: real is 0.5, expects a number from 1.0 to 2.0");
  EXPECT_EQ(errorText(at("name").number()), "c.json: name is \"x\", expects a number");
  EXPECT_EQ(errorText(at("null").string()), "c.json: null is null, expects a string");
  EXPECT_EQ(errorText(at("name").boolean()), "c.json: name is \"x\", expects true or false");
  EXPECT_EQ(errorText(at("real").unsignedInteger()), "c.json: real is 0.5, expects an integer from 0 to 2^64 - 1");
  EXPECT_EQ(errorText(at("name").elements()), "c.json: name is \"x\", expects an array");
  EXPECT_EQ(errorText(at("list").members()), "c.json: list is an array of 1, expects an object");
  std::vector<JsonCursor> list = llvm::cantFail(at("list").elements());
  EXPECT_EQ(errorText(llvm::cantFail(list[0].at("b")).string()), "c.json: list[0].b is true, expects a string");
}
