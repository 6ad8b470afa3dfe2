// SPDX-License-Identifier: Apache-2.0
/// \file
/// JSON: exact integers, refused texts with their places, deterministic writing.
#include "lib/Support/Json.h"
#include "test/unit/Support/TestFolder.h"

#include <cmath>

using namespace moec;
using namespace moec::test;

static Json parsed(llvm::StringRef text) {
  llvm::Expected<Json> json = parseJson(text, "a.json");
  EXPECT_TRUE(bool(json)) << llvm::toString(json.takeError());
  return json ? std::move(*json) : Json();
}

static std::string refused(llvm::StringRef text) { return errorText(parseJson(text, "a.json")); }

TEST(Json, IntegersOf64BitsAreExact) {
  Json json = parsed("[9223372036854775807, -9223372036854775808, 18446744073709551615, 9007199254740993]");
  const JsonArray &numbers = *json.asArray();
  EXPECT_EQ(numbers[0].asInt64(), INT64_MAX);
  EXPECT_EQ(numbers[1].asInt64(), INT64_MIN);
  EXPECT_EQ(numbers[1].asUint64(), std::nullopt);
  EXPECT_EQ(numbers[2].asUint64(), UINT64_MAX);
  EXPECT_EQ(numbers[2].asInt64(), std::nullopt);
  EXPECT_EQ(numbers[3].asInt64(), (int64_t(1) << 53) + 1);
}

TEST(Json, RealNumbersAreNoIntegers) {
  Json json = parsed("[1.0, 1e3, 36893488147419103232]");
  for (const Json &number : *json.asArray()) {
    EXPECT_EQ(number.asInt64(), std::nullopt);
    EXPECT_TRUE(number.asDouble().has_value());
  }
}

TEST(Json, ObjectsKeepTheOrderOfTheText) {
  Json json = parsed(R"({"z": 1, "a": {"deep": [true, null]}, "m": "x"})");
  const JsonObject &object = *json.asObject();
  ASSERT_EQ(object.size(), 3u);
  EXPECT_EQ(object.members()[0].key, "z");
  EXPECT_EQ(object.members()[1].key, "a");
  EXPECT_EQ(*object.find("m")->asString(), "x");
  EXPECT_EQ(object.find("b"), nullptr);
  EXPECT_TRUE((*object.find("a")->asObject()->find("deep")->asArray())[1].isNull());
}

TEST(Json, RefusesDuplicateKeysWithTheirPlace) {
  EXPECT_EQ(refused(R"({"a": 1, "b": 2, "a": 3})"), R"(a.json: duplicate key "a")");
  EXPECT_EQ(refused(R"({"x": [0, {"y": 1, "y": 2}]})"), R"(a.json: duplicate key "y" in 'x[1]')");
}

TEST(Json, RefusesDeepNesting) {
  std::string fits = std::string(64, '[') + std::string(64, ']');
  std::string tooDeep = std::string(65, '[') + std::string(65, ']');
  EXPECT_TRUE(parsed(fits).asArray());
  EXPECT_EQ(refused(tooDeep), "a.json: values are nested deeper than 64 levels");
  EXPECT_EQ(refused(std::string(1 << 20, '[')), "a.json: values are nested deeper than 64 levels");
}

TEST(Json, RefusesBrokenTextWithLineAndColumn) {
  EXPECT_TRUE(contains(refused("{\n  \"a\": ,\n}"), "a.json: parse error at line 2, column 8"));
  for (llvm::StringRef text :
       {"", "{", "[1,]", "{\"a\":1} x", "NaN", "01", "\"\xFF\"", "1e999", "'a'", "[1 2]", "\"\n\""})
    EXPECT_TRUE(llvm::StringRef(refused(text)).starts_with("a.json: ")) << text.str();
}

TEST(Json, FileErrorsNameTheFile) {
  TestFolder folder;
  EXPECT_TRUE(contains(errorText(parseJsonFile(folder.path("no.json"))), "no.json': No such file"));
  std::string path = folder.write("a.json", "[1, 2");
  EXPECT_TRUE(contains(errorText(parseJsonFile(path, "short name")), "short name: parse error"));
  EXPECT_TRUE(contains(errorText(parseJsonFile(path, "", 4)), "has 5 bytes, expects at most 4 bytes"));
}

TEST(Json, WritesInOrderOfInsertion) {
  JsonObject object;
  object.set("z", 1).set("a", JsonArray{true, nullptr, "q\"\\\n\x01", 0.1, 3.0, uint64_t(UINT64_MAX)}).set("z", -2);
  object.set("empty", JsonArray()).set("none", JsonObject());
  EXPECT_EQ(writeJson(object, 0), R"({"z":-2,"a":[true,null,"q\"\\\n\u0001",0.1,3.0,18446744073709551615],)"
                                  R"("empty":[],"none":{}})");
  EXPECT_EQ(writeJson(JsonObject().set("a", JsonArray{1, 2})), "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
}

TEST(Json, WritesOnlyJson) {
  EXPECT_EQ(writeJson(std::nan("")), "null");
  EXPECT_EQ(writeJson(HUGE_VAL), "null");
  EXPECT_EQ(writeJson(1e300), "1e+300");
  EXPECT_TRUE(bool(parseJson(writeJson(std::string("\xFF\xC0 x")), "a.json")));
  EXPECT_EQ(writeJson("\xC3\xA9"), "\"\xC3\xA9\"");
}

TEST(Json, DescribesForMessages) {
  EXPECT_EQ(parsed("[1, 2]").describe(), "an array of 2");
  EXPECT_EQ(parsed("{}").describe(), "an object");
  EXPECT_EQ(Json("text").describe(), "\"text\"");
  EXPECT_LT(Json(std::string(5000, 'x')).describe().size(), 100u);
}
