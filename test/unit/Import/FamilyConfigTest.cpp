// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each model family: what its config says, what it leaves unsaid, and what is refused by name.
#include "test/unit/Import/TinyCheckpoint.h"
#include "test/unit/Import/TinyConfigs.h"

using namespace moec;
using namespace moec::test;

static std::string refused(Json config) { return errorText(parseModelConfig(JsonCursor("config.json", config))); }
static std::string refused(Json config, llvm::StringRef key, Json value) {
  config.asObject()->set(key, std::move(value));
  return refused(std::move(config));
}
static ModelConfig accepted(Json config) {
  llvm::Expected<ModelConfig> result = parseModelConfig(JsonCursor("config.json", config));
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
  return result ? *result : ModelConfig();
}
static ModelConfig accepted(Json config, llvm::StringRef key, Json value) {
  config.asObject()->set(key, std::move(value));
  return accepted(std::move(config));
}
static Json rope(const char *kind) { return JsonObject().set("rope_type", kind).set("factor", 8.0); }

TEST(FamilyConfig, DenseFamiliesHaveNoExperts) {
  ModelConfig qwen = accepted(tinyQwen3()), llama = accepted(tinyLlama()), older = accepted(tinyQwen2());
  EXPECT_EQ(qwen.architecture, "qwen3");
  EXPECT_EQ(qwen.ffnSize, 12u);
  EXPECT_EQ(qwen.numExperts + qwen.topK + qwen.moeIntermediateSize, 0u);
  EXPECT_FALSE(qwen.layers.at(0).hasExperts);
  EXPECT_EQ(qwen.headNorm, HeadNorm::Head);
  EXPECT_EQ(llama.headNorm, HeadNorm::None);
  EXPECT_EQ(llama.headDim, 4u); // 8 / 2
  EXPECT_EQ(llama.rope.theta, 10000.0);
  EXPECT_EQ(llama.rmsNormEps, 1e-6);
  EXPECT_EQ(llama.eosIds, std::vector<uint32_t>{2});
  EXPECT_FALSE(llama.hasQkvBias || qwen.hasQkvBias || older.hasOutputBias);
  EXPECT_TRUE(older.hasQkvBias);
  EXPECT_TRUE(accepted(tinyLlama(), "attention_bias", true).hasOutputBias);
  EXPECT_EQ(refused(tinyLlama(), "intermediate_size", nullptr), "config.json: intermediate_size is null, expects an "
                                                                "integer from 1 to 262144");
}

TEST(FamilyConfig, KvHeadsMayBeMissingWhereTheyAlwaysWere) {
  EXPECT_EQ(accepted(tinyLlama(), "num_key_value_heads", nullptr).numKvHeads, 2u);
  EXPECT_TRUE(contains(refused(tinyQwen3(), "num_key_value_heads", nullptr), "num_key_value_heads is null"));
}

TEST(FamilyConfig, RotationsAreStretched) {
  ModelConfig linear = accepted(tinyLlama(), "rope_scaling", rope("linear"));
  EXPECT_EQ(linear.rope.kind, RopeKind::Linear);
  EXPECT_EQ(linear.rope.factor, 8.0);
  Json llama3 = rope("llama3");
  EXPECT_EQ(refused(tinyLlama(), "rope_scaling", llama3), "config.json: rope_scaling.low_freq_factor is missing");
  llama3.asObject()->set("low_freq_factor", 1.0).set("high_freq_factor", 4.0);
  llama3.asObject()->set("original_max_position_embeddings", 8192);
  ModelConfig stretched = accepted(tinyLlama(), "rope_parameters", llama3);
  EXPECT_EQ(stretched.rope.kind, RopeKind::Llama3);
  EXPECT_EQ(stretched.rope.originalPositions, 8192u);
  EXPECT_EQ(stretched.rope.highFactor, 4.0);
  llama3.asObject()->set("high_freq_factor", 1.0);
  EXPECT_EQ(refused(tinyLlama(), "rope_scaling", llama3),
            "config.json: rope_scaling.low_freq_factor is 1.0, expects less than high_freq_factor, which is 1.0");
  for (const char *kind : {"yarn", "dynamic", "longrope"})
    EXPECT_EQ(refused(tinyLlama(), "rope_scaling", rope(kind)),
              std::string("config.json: rope_scaling.rope_type is \"") + kind +
                  "\", which is not supported, expects \"default\", \"linear\" or \"llama3\"");
}

TEST(FamilyConfig, StretchesThatContradictEachOtherAreRefused) {
  auto linear = [](double factor) { return JsonObject().set("rope_type", "linear").set("factor", factor); };
  Json config = tinyLlama();
  config.asObject()->set("rope_parameters", linear(2.0)).set("rope_scaling", linear(2.0));
  EXPECT_EQ(accepted(config).rope.factor, 2.0);
  config.asObject()->set("rope_scaling", linear(4.0));
  EXPECT_EQ(refused(config), "config.json: rope_scaling.factor is 4.0, but rope_parameters.factor is 2.0; expects the "
                             "same in both");
  config.asObject()->set("rope_scaling", JsonObject().set("type", "default"));
  EXPECT_EQ(refused(config), "config.json: rope_scaling says another rotation than rope_parameters; expects the same "
                             "in both");
  config.asObject()->set("rope_parameters", JsonObject().set("rope_theta", 10000.0));
  config.asObject()->set("rope_scaling", linear(4.0));
  EXPECT_EQ(accepted(config).rope.factor, 4.0); // only one says how
}

TEST(FamilyConfig, WindowsHoldForAllLayersOrNone) {
  Json config = tinyQwen3();
  config.asObject()->set("use_sliding_window", true).set("sliding_window", 16).set("num_hidden_layers", 3);
  EXPECT_EQ(accepted(config).slidingWindow, 0u); // max_window_layers is 28: none slides
  EXPECT_EQ(accepted(config, "max_window_layers", 0).slidingWindow, 16u);
  EXPECT_TRUE(contains(refused(config, "max_window_layers", 1), "use_sliding_window is true, and the window holds for "
                                                                "2 of 3 layers"));
  EXPECT_TRUE(contains(refused(config, "layer_types", JsonArray{"sliding_attention", "full_attention"}),
                       "layer_types has 2 elements, expects 3 (num_hidden_layers)"));
  EXPECT_TRUE(contains(refused(tinyLlama(), "sliding_window", 16), "sliding_window is 16, expects null"));
  EXPECT_TRUE(contains(refused(tinyOlmoe(), "use_sliding_window", true), "use_sliding_window is true, expects false"));
}

TEST(FamilyConfig, ExpertsInSomeLayers) {
  ModelConfig config = accepted(tinyQwen2Moe());
  EXPECT_FALSE(config.layers[0].hasExperts);
  EXPECT_TRUE(config.layers[1].hasExperts);
  EXPECT_EQ(config.ffnSize, 12u);
  EXPECT_EQ(config.sharedIntermediateSize, 6u);
  EXPECT_FALSE(config.normTopkProb);
  EXPECT_TRUE(config.hasQkvBias);
  EXPECT_FALSE(accepted(tinyQwen2Moe(), "qkv_bias", false).hasQkvBias);
  EXPECT_EQ(accepted(tinyQwen2Moe(), "decoder_sparse_step", 3).numExperts, 0u); // no layer is left
}

TEST(FamilyConfig, ExpertsMayBeCalledLocal) {
  Json config = tinyOlmoe();
  config.asObject()->set("num_local_experts", 4);
  EXPECT_EQ(accepted(config).numExperts, 4u);
  EXPECT_EQ(accepted(config, "num_experts", nullptr).numExperts, 4u);
  EXPECT_EQ(refused(config, "num_experts", 8),
            "config.json: num_local_experts is 4, but num_experts is 8; expects the same in both");
  config.asObject()->set("num_experts", nullptr);
  EXPECT_EQ(refused(config, "num_experts_per_tok", 5),
            "config.json: num_experts_per_tok is 5, expects 1 to 4 (num_local_experts)");
}

TEST(FamilyConfig, OlmoeNormalizesTheWholeWidth) {
  ModelConfig config = accepted(tinyOlmoe());
  EXPECT_EQ(config.headNorm, HeadNorm::Width);
  EXPECT_EQ(config.moeIntermediateSize, 4u);
  EXPECT_EQ(config.rmsNormEps, 1e-5);
  EXPECT_FALSE(config.normTopkProb);
  EXPECT_TRUE(accepted(tinyOlmoe(), "norm_topk_prob", true).normTopkProb);
  EXPECT_EQ(refused(tinyOlmoe(), "clip_qkv", 10), "config.json: clip_qkv is 10, expects null; a number is not "
                                                  "supported");
}

TEST(FamilyConfig, HybridModelsMixLayers) {
  for (const Json &json : {tinyQwen3Next(), tinyQwen35(), tinyQwen35Moe()}) {
    ModelConfig config = accepted(json);
    ASSERT_EQ(config.layers.size(), 4u);
    for (int layer = 0; layer < 4; ++layer)
      EXPECT_EQ(config.layers[layer].mixer, layer == 3 ? MixerKind::Attention : MixerKind::Delta);
    EXPECT_EQ(config.rope.dim, 2u); // a quarter of 8
    EXPECT_TRUE(config.isZeroCentred && config.hasOutputGate);
    EXPECT_EQ(config.delta.numValueHeads, 4u);
    EXPECT_FALSE(config.delta.isSigmoidGate);
  }
  EXPECT_TRUE(accepted(tinyQwen3Next()).spelling.isInterleaved);
  EXPECT_EQ(accepted(tinyQwen35()).numExperts, 0u);
  EXPECT_EQ(accepted(tinyQwen35Moe()).spelling.prefix, "model.language_model.");
  EXPECT_TRUE(accepted(tinyQwen35Moe()).normTopkProb && accepted(tinyQwen3Next()).normTopkProb);
  EXPECT_TRUE(accepted(tinyQwen35(), "output_gate_type", "sigmoid").delta.isSigmoidGate);
}

TEST(FamilyConfig, HybridModelsRefuseWhatDoesNotFit) {
  Json config = tinyQwen35();
  EXPECT_EQ(refused(config, "layer_types", JsonArray{"full_attention"}),
            "config.json: layer_types has 1 elements, expects 4 (num_hidden_layers)");
  JsonArray types(4, "linear_attention");
  EXPECT_TRUE(contains(refused(config, "layer_types", types), "expects at least one 'full_attention'"));
  types[2] = "mamba";
  EXPECT_EQ(refused(config, "layer_types", types), "config.json: layer_types[2] is 'mamba', which is not supported");
  EXPECT_TRUE(contains(refused(config, "full_attention_interval", 5), "has no layer of attention among its 4"));
  EXPECT_TRUE(contains(refused(config, "linear_num_value_heads", 3), "expects a multiple of linear_num_key_heads"));
  EXPECT_TRUE(contains(refused(config, "linear_conv_kernel_dim", 1), "linear_conv_kernel_dim is 1, expects 2 to 16"));
  EXPECT_TRUE(contains(refused(config, "output_gate_type", "tanh"), "output_gate_type is \"tanh\", expects"));
  EXPECT_TRUE(contains(refused(config, "attention_bias", true), "attention_bias is true, expects false"));
  EXPECT_TRUE(contains(refused(config, "attn_output_gate", false), "attn_output_gate is false, expects true"));
  EXPECT_TRUE(contains(refused(config, "partial_rotary_factor", 0.1), "lets 0 of 8 values of a head rotate"));
  EXPECT_TRUE(contains(refused(config, "decoder_sparse_step", 2), "decoder_sparse_step is 2, expects 1"));
  EXPECT_TRUE(contains(refused(tinyQwen3(), "layer_types", JsonArray{"linear_attention"}), "has 'linear_attention'"));
  EXPECT_TRUE(contains(refused(tinyLlama(), "layer_types", JsonArray{"sliding_attention"}), "has 'sliding_attention'"));
  Json outer = tinyQwen35Moe();
  EXPECT_EQ(refused(outer, "text_config", 3), "config.json: text_config is 3, expects an object");
  EXPECT_EQ(refused(outer, "text_config", familyConfig("qwen3_5_text", kTinyDelta)),
            "config.json: text_config.model_type is \"qwen3_5_text\", expects \"qwen3_5_moe_text\"");
  EXPECT_EQ(refused(outer, "text_config", familyConfig("qwen3_5_moe_text", "{\"hidden_size\": 0}")),
            "config.json: text_config.hidden_size is 0, expects 1 to 262144");
}
