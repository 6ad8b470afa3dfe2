// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sessions: the same bits for every cut into chunks; wrong input is an error; weight files are checked.
#include "lib/Reference/Session.h"
#include "lib/Import/GraphBuilder.h"

#include "mlir/IR/Builders.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace moec;
using namespace mlir;

namespace {

class SessionTest : public testing::Test {
protected:
  void SetUp() override {
    const char *root = std::getenv("MOEC_SOURCE");
    auto checkpoint = Checkpoint::open(std::string(root ? root : ".") + "/examples/demo-moe");
    ASSERT_TRUE(bool(checkpoint)) << toString(checkpoint.takeError());
    auto built = buildModelModule(context, *checkpoint, {.context = 64, .maxChunk = 16});
    ASSERT_TRUE(bool(built)) << toString(built.takeError());
    module = std::move(*built);
  }

  std::unique_ptr<Interpreter> makeInterpreter(const FileWeightOptions &options = {}) {
    auto created = Interpreter::create(*module, options);
    EXPECT_TRUE(bool(created)) << toString(created.takeError());
    return created ? std::make_unique<Interpreter>(std::move(*created)) : nullptr;
  }

  std::string failure(llvm::Expected<FloatTensor> rows) { return rows ? "no error" : toString(rows.takeError()); }

  /// Changes one field of the first entry of moe.files and returns the error of opening.
  std::string openWith(llvm::StringRef field, Attribute value, bool checksHashes) {
    NamedAttrList entry(cast<DictionaryAttr>((*module)->getAttrOfType<ArrayAttr>("moe.files")[0]));
    entry.set(field, value);
    (*module)->setAttr("moe.files", ArrayAttr::get(&context, {entry.getDictionary(&context)}));
    FileWeightOptions options;
    options.checksHashes = checksHashes;
    auto created = Interpreter::create(*module, options);
    return created ? "no error" : toString(created.takeError());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(SessionTest, ChunksDoNotChangeBits) {
  const int32_t ids[] = {46,  1316, 584, 258, 579, 11,  272, 547, 285, 590,
                         274, 794,  342, 16,  16,  416, 13,  955, 754, 285};
  auto interpreter = makeInterpreter();
  auto whole = Session::create(*interpreter), single = Session::create(*interpreter);
  ASSERT_TRUE(whole && single);
  auto rows = whole->feed(ids); // chunks of 16 and 4
  ASSERT_TRUE(bool(rows)) << toString(rows.takeError());
  EXPECT_EQ(whole->position(), 20);
  for (auto [index, id] : llvm::enumerate(ids)) {
    auto row = single->feed(id);
    ASSERT_TRUE(bool(row)) << toString(row.takeError());
    EXPECT_EQ(row->row(0), rows->row(index)) << index;
  }
}

TEST_F(SessionTest, SmallWeightCacheDoesNotChangeBits) {
  auto large = makeInterpreter();
  FileWeightOptions options;
  options.cacheBytes = 100000; // about one expert matrix of 128 KiB at a time
  auto small = makeInterpreter(options);
  auto a = Session::create(*large), b = Session::create(*small);
  ASSERT_TRUE(a && b);
  auto x = a->feed({46, 1316}), y = b->feed({46, 1316});
  ASSERT_TRUE(x && y);
  EXPECT_EQ(x->values, y->values);
}

TEST_F(SessionTest, WrongInputIsAnError) {
  auto interpreter = makeInterpreter();
  auto session = Session::create(*interpreter);
  ASSERT_TRUE(bool(session));
  EXPECT_EQ(failure(session->feed({})), "expects at least one token, but got none");
  EXPECT_EQ(failure(session->feed(2048)), "@decode: 'moe.embed' op expects tokens from 0 to 2047, but got 2048");
  EXPECT_EQ(failure(session->feed({1, -1})), "@prefill: 'moe.embed' op expects tokens from 0 to 2047, but got -1");
  std::vector<int32_t> tooMany(65, 1);
  EXPECT_EQ(failure(session->feed(tooMany)),
            "@decode: 'moe.cache_append' op expects at most 64 positions, but got 1 tokens from position 64");
}

TEST_F(SessionTest, ArgumentsAreChecked) {
  auto interpreter = makeInterpreter();
  auto missing = interpreter->call("nothing", {});
  EXPECT_EQ(toString(missing.takeError()), "the module has no function @nothing");
  auto weight = interpreter->call("output_norm", {});
  EXPECT_EQ(toString(weight.takeError()), "the module has no function @output_norm");
  auto shape = interpreter->call("head", {FloatTensor{{1, 2}, {1, 2}}});
  EXPECT_EQ(toString(shape.takeError()), "argument 0 of @head expects tensor<?x256xf32>, but got tensor<1x2xf32>");
}

TEST_F(SessionTest, ChangedFilesAreErrors) {
  Builder builder(&context);
  std::string path =
      cast<DictionaryAttr>((*module)->getAttrOfType<ArrayAttr>("moe.files")[0]).getAs<StringAttr>("path").str();
  EXPECT_EQ(openWith("hash", builder.getStringAttr("00"), false), "no error"); // only on demand
  EXPECT_NE(openWith("hash", builder.getStringAttr("00"), true).find(", but had 00 when it was imported"),
            std::string::npos);
  EXPECT_EQ(openWith("size", builder.getI64IntegerAttr(17), false),
            path + " has 16055224 bytes, but had 17 when it was imported; import it again");
  EXPECT_EQ(openWith("size", builder.getI32IntegerAttr(17), false),
            "module attribute 'moe.files' expects entries with a path and a size : i64");
}

TEST_F(SessionTest, SourcesOutsideTheFileAreErrors) {
  Operation *weight = SymbolTable::lookupSymbolIn(*module, "embed");
  weight->setAttr("source",
                  moe::SourceAttr::get(&context, StringAttr::get(&context, "bf16"), {0}, {16055000}, StringAttr()));
  auto interpreter = makeInterpreter();
  auto session = Session::create(*interpreter);
  ASSERT_TRUE(bool(session));
  EXPECT_NE(failure(session->feed(1)).find("'embed' ends behind the 16055224 bytes of "), std::string::npos);
  weight->setAttr("source", moe::SourceAttr::get(&context, StringAttr::get(&context, "bf16"), {3}, {0}, StringAttr()));
  EXPECT_EQ(failure(session->feed(1)), "@decode: 'moe.embed' op 'embed' lies in file 3, but 'moe.files' has 1");
}

} // namespace
