// SPDX-License-Identifier: Apache-2.0
/// \file
/// The module of the demonstration model: attributes, weights with their sources, entry points; sizes are checked.
#include "lib/Import/GraphBuilder.h"

#include "dialects/moe/MoeDialect.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace moec;
using namespace mlir;

namespace {

class GraphBuilderTest : public testing::Test {
protected:
  llvm::Expected<OwningOpRef<ModuleOp>> build(const GraphOptions &options) {
    const char *source = std::getenv("MOEC_SOURCE");
    llvm::Expected<Checkpoint> opened = Checkpoint::open(std::string(source ? source : ".") + "/examples/demo-moe");
    if (!opened)
      return opened.takeError();
    return buildModelModule(context, *opened, options);
  }

  MLIRContext context;
};

TEST_F(GraphBuilderTest, RecordsModelFilesAndSizes) {
  auto module = build({.context = 100, .maxChunk = 16, .name = "demo"});
  ASSERT_TRUE(bool(module)) << toString(module.takeError());
  Operation *op = **module;
  EXPECT_EQ(op->getAttrOfType<IntegerAttr>("moe.context").getInt(), 100); // the caches hold 128: whole blocks of 64
  EXPECT_EQ(op->getAttrOfType<IntegerAttr>("moe.chunk").getInt(), 16);
  auto model = op->getAttrOfType<DictionaryAttr>("moe.model");
  EXPECT_EQ(model.getAs<StringAttr>("name").getValue(), "demo");
  EXPECT_EQ(model.getAs<IntegerAttr>("vocab_size").getInt(), 2048);
  EXPECT_EQ(model.getAs<IntegerAttr>("top_k").getInt(), 4);
  auto files = op->getAttrOfType<ArrayAttr>("moe.files");
  ASSERT_EQ(files.size(), 1u);
  auto file = cast<DictionaryAttr>(files[0]);
  EXPECT_EQ(file.getAs<IntegerAttr>("size").getInt(), 16055224);
  EXPECT_EQ(file.getAs<StringAttr>("hash").getValue().size(), 32u);
  EXPECT_EQ(op->getAttrOfType<DictionaryAttr>("moe.tokenizer").getAs<IntegerAttr>("size").getInt(), 59478);
  auto generation = op->getAttrOfType<DictionaryAttr>("moe.generation");
  EXPECT_EQ(generation.getAs<DenseI64ArrayAttr>("stop_ids").asArrayRef(), ArrayRef<int64_t>({2045, 2047}));
}

TEST_F(GraphBuilderTest, DeclaresEachParameterOnce) {
  auto module = build({});
  ASSERT_TRUE(bool(module)) << toString(module.takeError());
  int64_t numWeights = 0, numParameters = 0;
  for (auto weight : (*module)->getOps<moe::WeightOp>()) {
    ++numWeights;
    numParameters += weight.getTensorType().getNumElements();
  }
  EXPECT_EQ(numWeights, 4 * 12 + 3);
  EXPECT_EQ(numParameters, 8014336); // as the file's README counts them
  auto gate = (*module)->lookupSymbol<moe::WeightOp>("layers.3.experts.gate");
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate.getSource().getOffsets().size(), 16u);
  EXPECT_EQ(gate.getSource().getDtype().getValue(), "bf16");
  EXPECT_EQ(gate.getLayer(), 3);
  EXPECT_EQ(gate.getRole(), moe::Role::expert_gate);
}

TEST_F(GraphBuilderTest, EntryPointsShareOneGraph) {
  auto module = build({.context = 64, .maxChunk = 1000});
  ASSERT_TRUE(bool(module)) << toString(module.takeError());
  EXPECT_EQ((*module)->getOperation()->getAttrOfType<IntegerAttr>("moe.chunk").getInt(), 64); // not above the context
  auto prefill = (*module)->lookupSymbol<func::FuncOp>("prefill");
  auto decode = (*module)->lookupSymbol<func::FuncOp>("decode");
  ASSERT_TRUE(prefill && decode && (*module)->lookupSymbol<func::FuncOp>("head"));
  auto names = [](func::FuncOp function) {
    SmallVector<StringRef> result;
    for (Operation &op : function.getBody().front())
      result.push_back(op.getName().getStringRef());
    return result;
  };
  EXPECT_EQ(names(prefill), names(decode));
  EXPECT_EQ(cast<RankedTensorType>(decode.getResultTypes()[0]).getShape(), ArrayRef<int64_t>({1, 256}));
  EXPECT_EQ(cast<moe::CacheType>(prefill.getResultTypes()[1]).getCapacity(), 64);
}

TEST(DefaultChunkTest, GrowsWithTheRoutedExperts) {
  ModelConfig config;
  config.numLayers = 48;
  config.hiddenSize = 2048;
  EXPECT_EQ(defaultChunk(config), 64u); // no experts
  config.numExperts = 128;
  config.moeIntermediateSize = 768;
  config.topK = 8;
  EXPECT_EQ(defaultChunk(config), 2048u);
  config.numLayers = 12; // 7.2e9 weights allow 54 MiB, a token takes 64 KiB
  EXPECT_EQ(defaultChunk(config), 512u);
  config.numExperts = 16;
  EXPECT_EQ(defaultChunk(config), 64u);
}

TEST_F(GraphBuilderTest, RefusesSizesOutOfRange) {
  auto tooLong = build({.context = 1025});
  ASSERT_FALSE(bool(tooLong));
  EXPECT_EQ(toString(tooLong.takeError()),
            "expects a context of 1 to 1024 positions (max_position_embeddings), but got 1025");
  auto noChunk = build({.maxChunk = 0});
  ASSERT_FALSE(bool(noChunk));
  EXPECT_EQ(toString(noChunk.takeError()), "expects a chunk of at least 1 token, but got 0");
}

} // namespace
