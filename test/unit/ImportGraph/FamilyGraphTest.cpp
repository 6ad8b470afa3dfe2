// SPDX-License-Identifier: Apache-2.0
/// \file
/// The graph of each model family: weights with their sources, operations, states. Its values: test/endtoend.
#include "lib/Import/GraphBuilder.h"
#include "lib/Synth/BuiltInConfigs.h"
#include "test/unit/Import/TinyConfigs.h"

#include "dialects/moe/MoeDialect.h"

#include "gtest/gtest.h"

using namespace moec;
using namespace moec::test;
using namespace mlir;

namespace {

class FamilyGraphTest : public testing::Test {
protected:
  OwningOpRef<ModuleOp> build(std::string config) {
    RandomModel model;
    model.name = "tiny";
    model.config = std::move(config);
    model.configName = "config.json";
    model.type = RandomType::F32;
    model.isHashed = false;
    // No tokenizer is read here, so that a vocabulary below 256 is enough.
    model.tokenizer = __FILE__;
    auto checkpoint = Checkpoint::random(model);
    if (!checkpoint) {
      ADD_FAILURE() << llvm::toString(checkpoint.takeError());
      return {};
    }
    auto module = buildModelModule(context, *checkpoint);
    if (!module) {
      ADD_FAILURE() << llvm::toString(module.takeError());
      return {};
    }
    return std::move(*module);
  }
  OwningOpRef<ModuleOp> build(const Json &config) { return build(writeJson(config)); }

  /// Offsets in values of f32, and the name.
  static std::string sourceOf(ModuleOp module, StringRef symbol) {
    auto weight = module.lookupSymbol<moe::WeightOp>(symbol);
    if (!weight)
      return "none";
    std::string text = weight.getSource().getName().str();
    for (int64_t offset : weight.getSource().getOffsets())
      text += " " + std::to_string(offset / 4);
    return text;
  }
  template <typename OpType> static size_t count(ModuleOp module) {
    size_t number = 0;
    module.lookupSymbol<func::FuncOp>("decode").walk([&](OpType) { ++number; });
    return number;
  }
  static int64_t model(ModuleOp module, StringRef key) {
    return module->getAttrOfType<DictionaryAttr>("moe.model").getAs<IntegerAttr>(key).getInt();
  }

  MLIRContext context;
};

TEST_F(FamilyGraphTest, DenseModelsHaveNoRouter) {
  for (const Json &config : {tinyQwen3(), tinyLlama(), tinyQwen2()}) {
    auto module = build(config);
    ASSERT_TRUE(module);
    EXPECT_EQ(count<moe::RouteOp>(*module), 0u);
    EXPECT_EQ(count<moe::GluOp>(*module), 1u);
    EXPECT_EQ(model(*module, "num_experts") + model(*module, "top_k") + model(*module, "expert_size"), 0);
    EXPECT_EQ(sourceOf(*module, "layers.0.ffn.down"), "model.layers.0.mlp.down_proj.weight 0");
  }
  EXPECT_EQ(count<moe::RmsNormOp>(*build(tinyQwen3())), 4u);
  EXPECT_EQ(count<moe::RmsNormOp>(*build(tinyLlama())), 2u);
}

TEST_F(FamilyGraphTest, BiasesAndScaledRotations) {
  Json config = tinyLlama();
  config.asObject()->set("attention_bias", true);
  config.asObject()->set("rope_scaling", JsonObject().set("type", "linear").set("factor", 2.0));
  auto module = build(config);
  ASSERT_TRUE(module);
  EXPECT_EQ(sourceOf(*module, "layers.0.o_bias"), "model.layers.0.self_attn.o_proj.bias 0");
  size_t numBiases = 0;
  module->walk([&](moe::LinearOp linear) { numBiases += linear.getBias() != Value(); });
  EXPECT_EQ(numBiases, 8u); // four products in two entry points
  module->walk([&](moe::RopeOp rope) {
    ASSERT_TRUE(rope.getScaling());
    EXPECT_EQ(rope.getScaling()->getFactor().getValueAsDouble(), 2.0);
  });
  EXPECT_EQ(sourceOf(*build(tinyQwen2()), "layers.0.o_bias"), "none");
  EXPECT_EQ(sourceOf(*build(tinyQwen2()), "layers.0.k_bias"), "model.layers.0.self_attn.k_proj.bias 0");
}

TEST_F(FamilyGraphTest, MixedLayersAndSharedExperts) {
  auto module = build(tinyQwen2Moe());
  ASSERT_TRUE(module);
  EXPECT_EQ(count<moe::RouteOp>(*module), 1u);
  EXPECT_EQ(count<moe::GluOp>(*module), 2u); // the dense layer and the shared expert
  EXPECT_EQ(count<moe::GateOp>(*module), 1u);
  EXPECT_EQ(sourceOf(*module, "layers.0.ffn.gate"), "model.layers.0.mlp.gate_proj.weight 0");
  EXPECT_EQ(sourceOf(*module, "layers.1.shared.router"), "model.layers.1.mlp.shared_expert_gate.weight 0");
  EXPECT_EQ(sourceOf(*module, "layers.1.experts.up"), "model.layers.1.mlp.experts.{}.up_proj.weight 0 0 0 0");
  module->walk([](moe::RouteOp route) { EXPECT_FALSE(route.getRenormalize()); });
}

TEST_F(FamilyGraphTest, NormsOfTheWholeWidth) {
  auto module = build(tinyOlmoe());
  ASSERT_TRUE(module);
  auto norm = module->lookupSymbol<moe::WeightOp>("layers.0.q_norm");
  EXPECT_EQ(norm.getTensorType().getShape(), ArrayRef<int64_t>{8});
  EXPECT_EQ(module->lookupSymbol<moe::WeightOp>("layers.0.k_norm").getTensorType().getDimSize(0), 4);
}

TEST_F(FamilyGraphTest, HybridLayersKeepStates) {
  auto module = build(tinyQwen35Moe());
  ASSERT_TRUE(module);
  auto decode = module->lookupSymbol<func::FuncOp>("decode");
  ASSERT_EQ(decode.getNumArguments(), 2u + 3 * 4 + 1);
  EXPECT_EQ(cast<moe::StateType>(decode.getArgument(2).getType()).getShape(), ArrayRef<int64_t>({3, 8}));
  EXPECT_EQ(cast<moe::StateType>(decode.getArgument(4).getType()).getShape(), ArrayRef<int64_t>({3, 12}));
  EXPECT_EQ(cast<moe::StateType>(decode.getArgument(5).getType()).getShape(), ArrayRef<int64_t>({4, 4, 3}));
  EXPECT_TRUE(isa<moe::CacheType>(decode.getArgument(14).getType()));
  EXPECT_EQ(count<moe::DeltaRuleOp>(*module), 3u);
  EXPECT_EQ(count<moe::GateOp>(*module), 5u); // one of attention, four of shared experts
  module->walk([](moe::RmsNormOp norm) { EXPECT_TRUE(norm.getUnitOffset()); });
  module->walk([](moe::RopeOp rope) { EXPECT_EQ(rope.getDim(), 2u); });
}

TEST_F(FamilyGraphTest, PartsOfTensorsArePieces) {
  auto module = build(tinyQwen35Moe());
  ASSERT_TRUE(module);
  std::string layer = "model.language_model.layers.0.", attention = "model.language_model.layers.3.self_attn.";
  // Rows of 8 values; two heads of 8 query rows, then 8 gate rows.
  EXPECT_EQ(sourceOf(*module, "layers.3.q"), attention + "q_proj.weight:query 0 128");
  EXPECT_EQ(sourceOf(*module, "layers.3.attention_gate"), attention + "q_proj.weight:gate 64 192");
  EXPECT_EQ(sourceOf(*module, "layers.0.delta.v"), layer + "linear_attn.in_proj_qkv.weight:v 128");
  EXPECT_EQ(sourceOf(*module, "layers.0.delta.conv_k"), layer + "linear_attn.conv1d.weight:k 32");
  // Four experts of 4 gate rows, then 4 up rows.
  EXPECT_EQ(sourceOf(*module, "layers.0.experts.up"), layer + "mlp.experts.gate_up_proj:{}.up 32 96 160 224");
  EXPECT_EQ(sourceOf(*module, "layers.0.experts.down"), layer + "mlp.experts.down_proj:{} 0 32 64 96");
  auto up = module->lookupSymbol<moe::WeightOp>("layers.0.experts.up");
  EXPECT_EQ(up.getLabel(2), layer + "mlp.experts.gate_up_proj:2.up");
  EXPECT_EQ(up.getTensorName(2), layer + "mlp.experts.gate_up_proj");
  auto next = build(tinyQwen3Next());
  ASSERT_TRUE(next);
  // Two key heads of 4 + 4 rows of q and k and 6 + 6 of v and z; 2 + 2 of b and a.
  std::string delta = "model.layers.0.linear_attn.";
  EXPECT_EQ(sourceOf(*next, "layers.0.delta.q"), delta + "in_proj_qkvz.weight:q 0 160");
  EXPECT_EQ(sourceOf(*next, "layers.0.delta.k"), delta + "in_proj_qkvz.weight:k 32 192");
  EXPECT_EQ(sourceOf(*next, "layers.0.delta.v"), delta + "in_proj_qkvz.weight:v 64 224");
  EXPECT_EQ(sourceOf(*next, "layers.0.delta.gate"), delta + "in_proj_qkvz.weight:z 112 272");
  EXPECT_EQ(sourceOf(*next, "layers.0.delta.b"), delta + "in_proj_ba.weight:b 0 32");
  EXPECT_EQ(sourceOf(*next, "layers.0.delta.a"), delta + "in_proj_ba.weight:a 16 48");
}

TEST_F(FamilyGraphTest, BuiltInModelsHaveTheirPublishedCounts) {
  auto countsOf = [&](StringRef name) {
    const EmbeddedText *config = std::find_if(kBuiltInConfigs, kBuiltInConfigs + kNumBuiltInConfigs,
                                              [&](const EmbeddedText &text) { return name == text.name; });
    auto module = build(std::string(config->text));
    std::pair<int64_t, int64_t> counts; // all, routed
    for (auto weight : module->getOps<moe::WeightOp>()) {
      int64_t count = weight.getTensorType().getNumElements();
      counts.first += count;
      counts.second += weight.getTensorType().getRank() == 3 ? count : 0;
    }
    return counts;
  };
  EXPECT_EQ(countsOf("qwen3.6-35b-a3b"), std::pair(int64_t(34'660'610'688), int64_t(32'212'254'720)));
  EXPECT_EQ(countsOf("qwen3-next-80b-a3b").first, 79'674'391'296); // cited: the parameters of Qwen3-Coder-Next
}

} // namespace
