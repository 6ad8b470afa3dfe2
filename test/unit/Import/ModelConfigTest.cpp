// SPDX-License-Identifier: Apache-2.0
/// \file
/// config.json: every field is checked, and messages name the field, what it is and what it may be.
#include "test/unit/Import/TinyCheckpoint.h"

using namespace moec;
using namespace moec::test;

static std::string refused(Json config) { return errorText(parseModelConfig(JsonCursor("config.json", config))); }
static std::string refused(llvm::StringRef key, Json value) { return refused(tinyConfig(key, std::move(value))); }

static ModelConfig accepted(Json config) {
  llvm::Expected<ModelConfig> result = parseModelConfig(JsonCursor("config.json", config));
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
  return result ? *result : ModelConfig();
}

static Json without(llvm::StringRef key) {
  JsonObject result;
  Json config = tinyConfig();
  for (const JsonMember &member : config.asObject()->members())
    if (member.key != key)
      result.set(member.key, member.value);
  return result;
}

TEST(ModelConfig, EveryNeededFieldMustBeThere) {
  for (const char *key : {"model_type", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "num_key_value_heads", "moe_intermediate_size", "num_experts", "num_experts_per_tok",
                          "norm_topk_prob", "rms_norm_eps", "rope_theta", "vocab_size", "max_position_embeddings"})
    EXPECT_EQ(refused(without(key)), std::string("config.json: ") + key + " is missing");
}

TEST(ModelConfig, AbsentFieldsHaveDefaults) {
  EXPECT_EQ(accepted(without("head_dim")).headDim, 4u); // 8 / 2
  EXPECT_FALSE(accepted(without("tie_word_embeddings")).tieWordEmbeddings);
  EXPECT_TRUE(accepted(without("eos_token_id")).eosIds.empty());
  for (const char *key :
       {"hidden_act", "attention_bias", "rope_scaling", "mlp_only_layers", "decoder_sparse_step", "use_sliding_window"})
    EXPECT_EQ(accepted(without(key)).hiddenSize, 8u);
}

TEST(ModelConfig, ASlidingWindowNeedsItsFlag) {
  Json config = tinyConfig("sliding_window", 48);
  EXPECT_EQ(accepted(config).slidingWindow, 0u);
  config.asObject()->set("use_sliding_window", true);
  EXPECT_EQ(accepted(config).slidingWindow, 48u);
}

TEST(ModelConfig, CountsHaveLimits) {
  EXPECT_EQ(refused("hidden_size", "large"),
            "config.json: hidden_size is \"large\", expects an integer from 1 to 262144");
  EXPECT_EQ(refused("hidden_size", -256), "config.json: hidden_size is -256, expects 1 to 262144");
  EXPECT_EQ(refused("hidden_size", nullptr), "config.json: hidden_size is null, expects an integer from 1 to 262144");
  EXPECT_EQ(refused("num_hidden_layers", int64_t(1'000'000'000'000)),
            "config.json: num_hidden_layers is 1000000000000, expects 1 to 1024");
  EXPECT_EQ(refused("vocab_size", 0), "config.json: vocab_size is 0, expects 1 to 4194304");
  EXPECT_EQ(refused("vocab_size", 16.0), "config.json: vocab_size is 16.0, expects an integer from 1 to 4194304");
  EXPECT_EQ(refused("num_experts", 1 << 20), "config.json: num_experts is 1048576, expects 1 to 4096");
  EXPECT_TRUE(contains(refused("moe_intermediate_size", 0), "moe_intermediate_size is 0"));
  EXPECT_TRUE(contains(refused("max_position_embeddings", 1 << 30), "max_position_embeddings is 1073741824"));
  EXPECT_TRUE(contains(refused("rms_norm_eps", 0), "rms_norm_eps is 0, expects a number from"));
  EXPECT_TRUE(contains(refused("rope_theta", -1.0), "rope_theta is -1.0, expects a number from 1.0"));
  EXPECT_TRUE(contains(refused("norm_topk_prob", 1), "norm_topk_prob is 1, expects true or false"));
}

TEST(ModelConfig, TopKIsWithinTheExperts) {
  for (int value : {0, 3, -1})
    EXPECT_EQ(refused("num_experts_per_tok", value),
              "config.json: num_experts_per_tok is " + std::to_string(value) + ", expects 1 to 2 (num_experts)");
}

TEST(ModelConfig, HeadsFitTogether) {
  Json config = tinyConfig("num_attention_heads", 8);
  config.asObject()->set("num_key_value_heads", 3);
  EXPECT_EQ(refused(config),
            "config.json: num_key_value_heads is 3, expects a divisor of num_attention_heads, which is 8");
  EXPECT_EQ(refused("num_key_value_heads", 4), "config.json: num_key_value_heads is 4, expects 1 to 2 "
                                               "(num_attention_heads)");
  EXPECT_TRUE(contains(refused("head_dim", 5), "head_dim is 5, expects an even number"));
  Json derived = without("head_dim");
  derived.asObject()->set("hidden_size", 10);
  EXPECT_TRUE(contains(refused(derived), "has no head_dim, and hidden_size / num_attention_heads = 10 / 2"));
}

TEST(ModelConfig, VariantsAreRefusedByName) {
  EXPECT_EQ(refused("hidden_act", "gelu"), "config.json: hidden_act is \"gelu\", expects \"silu\"");
  JsonObject yarn;
  yarn.set("rope_type", "yarn").set("factor", 4.0);
  EXPECT_TRUE(contains(refused("rope_scaling", yarn), "rope_scaling.rope_type is \"yarn\", which is not supported"));
  EXPECT_EQ(refused("rope_scaling", JsonObject().set("type", "linear")), "config.json: rope_scaling.factor is missing");
  EXPECT_TRUE(contains(refused("rope_scaling", 2.0), "rope_scaling is 2.0, expects null"));
  EXPECT_EQ(refused("mlp_only_layers", JsonArray{1}),
            "config.json: mlp_only_layers[0] is 1, expects 0 to 0 (num_hidden_layers)");
  EXPECT_EQ(refused("mlp_only_layers", JsonArray{0}), "config.json: intermediate_size is missing");
  EXPECT_EQ(refused("decoder_sparse_step", 2), "config.json: intermediate_size is missing");
  EXPECT_EQ(refused("decoder_sparse_step", 0), "config.json: decoder_sparse_step is 0, expects 1 to 1024");
  EXPECT_TRUE(contains(refused("use_sliding_window", true), "sliding_window is missing"));
  EXPECT_EQ(refused("mlp_bias", true), "config.json: mlp_bias is true, expects false; true is not supported");
  EXPECT_EQ(refused("clip_qkv", 8.0), "config.json: clip_qkv is 8.0, expects null; a number is not supported");
  EXPECT_EQ(refused("kv_lora_rank", 512), "config.json: kv_lora_rank is 512, expects null; a number is not supported");
  EXPECT_EQ(refused("logits_scaling", 6.0), "config.json: logits_scaling is 6.0, expects 1; other numbers are not "
                                            "supported");
  EXPECT_TRUE(contains(refused("attention_bias", 0), "attention_bias is 0, expects true or false"));
}

TEST(ModelConfig, RopeBaseMayStandInRopeParameters) {
  Json config = without("rope_theta");
  config.asObject()->set("rope_parameters", JsonObject().set("rope_type", "default").set("rope_theta", 1e6));
  EXPECT_EQ(accepted(config).rope.theta, 1e6);
  config.asObject()->set("rope_parameters", JsonObject().set("rope_type", "yarn").set("rope_theta", 1e6));
  EXPECT_TRUE(contains(refused(config), "rope_parameters.rope_type is \"yarn\""));
  config.asObject()->set("rope_parameters", JsonObject().set("rope_theta", 0));
  EXPECT_TRUE(contains(refused(config), "rope_parameters.rope_theta is 0, expects"));
}

TEST(ModelConfig, RotationsThatComeToTheSameAreAccepted) {
  Json both = tinyConfig("rope_parameters", JsonObject().set("rope_type", "default").set("rope_theta", 10000));
  EXPECT_EQ(accepted(both).rope.theta, 1e4);
  EXPECT_EQ(accepted(tinyConfig("rope_scaling", JsonObject().set("type", "default"))).rope.theta, 1e4);
  EXPECT_EQ(accepted(tinyConfig("rope_scaling", JsonObject().set("type", "linear").set("factor", 1))).rope.theta, 1e4);
  EXPECT_EQ(accepted(tinyConfig("partial_rotary_factor", 1.0)).rope.theta, 1e4);
}

TEST(ModelConfig, RotationsThatContradictEachOtherAreRefused) {
  EXPECT_EQ(refused("rope_parameters", JsonObject().set("rope_type", "default").set("rope_theta", 1e6)),
            "config.json: rope_parameters.rope_theta is 1e+06, but rope_theta is 10000.0; expects the same in both");
  EXPECT_EQ(
      refused("rope_scaling", JsonObject().set("type", "default").set("rope_type", "yarn")),
      "config.json: rope_scaling.type is \"default\", but rope_scaling.rope_type is \"yarn\"; expects the same in "
      "both");
  EXPECT_TRUE(contains(refused("rope_parameters", JsonObject().set("full_attention", JsonObject())),
                       "rope_parameters has the object 'full_attention'"));
  EXPECT_TRUE(contains(refused("rope_parameters", JsonObject().set("partial_rotary_factor", 0.5)),
                       "rope_parameters.partial_rotary_factor is 0.5, expects 1"));
  EXPECT_TRUE(contains(refused("rope_parameters", JsonArray{}), "rope_parameters is an array of 0, expects an object"));
}

TEST(ModelConfig, OtherModelsAreRefusedByName) {
  EXPECT_EQ(refused("model_type", "mystery"),
            "config.json: model_type is 'mystery', which is not supported; supported are: qwen3_moe, qwen3, llama, "
            "qwen2, qwen2_moe, olmoe, qwen3_next, qwen3_5, qwen3_5_moe");
}

TEST(ModelConfig, QuantizedCheckpointsAreRefusedByMethod) {
  for (const char *method : {"awq", "gptq", "fp8", "compressed-tensors", "bitsandbytes", "newest"}) {
    std::string text = refused("quantization_config", JsonObject().set("quant_method", method).set("bits", 4));
    EXPECT_TRUE(contains(text, "quantization_config is '" + std::string(method) + "'"));
    EXPECT_TRUE(contains(text, "download the bf16 safetensors checkpoint"));
  }
  EXPECT_TRUE(contains(refused("compression_config", JsonObject().set("quant_method", "sparseml")),
                       "config.json: compression_config is 'sparseml'"));
  EXPECT_TRUE(contains(refused("quantization_config", JsonObject()), "of an unnamed method"));
}

TEST(ModelConfig, StopIdsAreBelowTheVocabulary) {
  EXPECT_EQ(accepted(tinyConfig("eos_token_id", JsonArray{3, 5, 3})).eosIds, (std::vector<uint32_t>{3, 5}));
  EXPECT_EQ(refused("eos_token_id", 16), "config.json: eos_token_id is 16, expects 0 to 15 (vocab_size)");
  EXPECT_EQ(refused("eos_token_id", JsonArray{1, -1}),
            "config.json: eos_token_id[1] is -1, expects 0 to 15 (vocab_size)");
}
