// SPDX-License-Identifier: Apache-2.0
/// \file
/// What gguf metadata and names become, and which variants are refused.
#include "lib/Import/GgufModel.h"
#include "lib/Import/GgufTokenizer.h"
#include "test/unit/Import/TinyGguf.h"
#include "test/unit/Support/TestFolder.h"

#include "llvm/ADT/STLExtras.h"

using namespace moec;
using namespace moec::test;

static llvm::Expected<GgufModel> translate(const std::vector<std::string> &keys,
                                           const std::vector<std::string> &tensors = {}, uint64_t dataBytes = 256) {
  TestFolder folder;
  auto file = GgufFile::open(folder.write("m", ggufBytes(keys, tensors, dataBytes)), "m.gguf");
  if (!file)
    return file.takeError();
  return translateGguf(*file, "m.gguf");
}

static std::string refused(std::vector<std::string> keys, const std::string &key,
                           const std::vector<std::string> &tensors = {}) {
  if (!key.empty())
    keys.push_back(key);
  return errorText(translate(keys, tensors));
}

TEST(GgufModel, GivesConfigAndGeneration) {
  std::vector<std::string> keys = tinyKeys();
  keys.push_back(countKey("general.sampling.top_k", 20));
  keys.push_back(text("tokenizer.ggml.tokens") + u32(9) + u32(8) + u64(3) + text("a") + text("<|endoftext|>") +
                 text("b"));
  auto model = translate(keys, {tensorEntry("token_embd.weight", {8, 2}, 1, 0)});
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  EXPECT_EQ(writeJson(model->config, 0),
            R"({"model_type":"qwen3_moe","num_hidden_layers":1,"max_position_embeddings":32,"hidden_size":8,)"
            R"("num_attention_heads":2,"rms_norm_eps":9.999999974752427e-07,"head_dim":4,"num_experts":2,)"
            R"("num_experts_per_tok":1,"moe_intermediate_size":4,"norm_topk_prob":true,"num_key_value_heads":1,)"
            R"("vocab_size":2,"hidden_act":"silu","tie_word_embeddings":true,"attention_bias":false,)"
            R"("rope_theta":10000.0})");
  EXPECT_EQ(writeJson(model->generation, 0), R"({"eos_token_id":[15,1],"do_sample":true,"top_k":20})");
  EXPECT_TRUE(model->warnings.empty());
}

TEST(GgufModel, NamesTensorsAndCutsExperts) {
  auto model = translate(tinyKeys(), {tensorEntry("blk.0.ffn_up_exps.weight", {8, 4, 2}, 1, 0),
                                      tensorEntry("output_norm.weight", {8}, 0, 128)});
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  ASSERT_EQ(model->tensors.size(), 3u);
  EXPECT_EQ(model->tensors[1].name, "model.layers.0.mlp.experts.1.up_proj.weight");
  EXPECT_EQ(model->tensors[1].shape, (std::vector<uint64_t>{4, 8}));
  EXPECT_EQ(model->tensors[1].offsetBytes, model->tensors[0].offsetBytes + 64);
  EXPECT_EQ(model->tensors[2].name, "model.norm.weight");
  EXPECT_EQ(model->tensors[2].pairedRows, 0u);
}

TEST(GgufModel, RowsOfLlamaStandInPairs) {
  std::vector<std::string> tensors = {tensorEntry("blk.0.attn_q.weight", {8, 8}, 1, 0),
                                      tensorEntry("blk.0.attn_v.weight", {8, 4}, 1, 128)};
  auto model = translate(tinyKeys("llama"), tensors);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  EXPECT_EQ(model->tensors[0].pairedRows, 4u); // the size of a head
  EXPECT_EQ(model->tensors[1].pairedRows, 0u);
  auto qwen = translate(tinyKeys("qwen3"), tensors);
  ASSERT_TRUE(bool(qwen)) << llvm::toString(qwen.takeError());
  EXPECT_EQ(qwen->tensors[0].pairedRows, 0u);
}

TEST(GgufModel, UnknownKeysBecomeWarnings) {
  std::vector<std::string> keys = tinyKeys();
  keys.push_back(countKey("qwen3moe.something", 3));
  auto model = translate(keys);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  ASSERT_EQ(model->warnings.size(), 1u);
  EXPECT_EQ(model->warnings[0], "m.gguf: key 'qwen3moe.something' (3) is not known and left out");
}

TEST(GgufModel, RefusesOtherArchitectures) {
  EXPECT_TRUE(contains(refused({}, ""), "m.gguf: general.architecture is missing"));
  EXPECT_EQ(refused({textKey("general.architecture", "qwen35moe")}, ""),
            "m.gguf: general.architecture is \"qwen35moe\", which is not read from gguf files; read are: llama, qwen2, "
            "qwen3, qwen3moe; take the safetensors checkpoint of the model if its model_type is supported");
  EXPECT_TRUE(contains(refused({textKey("general.architecture", "llama")}, ""), "llama.block_count is missing"));
}

// A key that changes what is computed is never left out.
TEST(GgufModel, RefusesOtherComputations) {
  std::vector<std::string> moe = tinyKeys();
  auto flagKey = [](const std::string &key, bool value) { return text(key) + u32(7) + number(value, 1); };
  constexpr uint32_t kOne = 0x3F800000, kTwo = 0x40000000;
  EXPECT_EQ(refused(moe, countKey("qwen3moe.expert_gating_func", 2)),
            "m.gguf: qwen3moe.expert_gating_func is 2, expects 1; other values are not supported with the architecture "
            "qwen3moe");
  EXPECT_TRUE(contains(refused(moe, realKey("qwen3moe.expert_weights_scale", kTwo)), "is 2.0, expects 1;"));
  EXPECT_TRUE(contains(refused(moe, countKey("qwen3moe.attention.sliding_window", 16)), "is 16, expects 0;"));
  EXPECT_TRUE(contains(refused(moe, flagKey("qwen3moe.attention.causal", false)), "is false, expects true;"));
  EXPECT_TRUE(contains(refused(moe, countKey("qwen3moe.attention.causal", 1)), "is 1, expects true;"));
  EXPECT_TRUE(contains(refused(moe, realKey("qwen3moe.rope.scaling.attn_factor", kTwo)), "is 2.0, expects 1;"));
  for (const std::string &key :
       {countKey("qwen3moe.expert_gating_func", 1), realKey("qwen3moe.expert_weights_scale", kOne),
        flagKey("qwen3moe.attention.causal", true), countKey("split.count", 0), countKey("split.count", 1)})
    EXPECT_EQ(refused(moe, key), "no error");
  moe.push_back(flagKey("qwen3moe.expert_weights_norm", false));
  moe.push_back(realKey("qwen3moe.rope.scaling.factor", kTwo));
  auto model = translate(moe);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  EXPECT_TRUE(contains(writeJson(model->config, 0), R"("norm_topk_prob":false)"));
  EXPECT_TRUE(contains(writeJson(model->config, 0), R"("rope_scaling":{"rope_type":"linear","factor":2.0})"));
  EXPECT_TRUE(model->warnings.empty());
}

TEST(GgufModel, RefusesValuesOfOtherTypes) {
  std::vector<std::string> moe = tinyKeys();
  EXPECT_TRUE(contains(refused(moe, textKey("qwen3moe.rope.dimension_count", "x")),
                       "qwen3moe.rope.dimension_count is \"x\", expects 4, the size of a head"));
  EXPECT_TRUE(contains(refused(moe, countKey("qwen3moe.rope.dimension_count", 2)), "is 2, expects 4"));
  EXPECT_TRUE(contains(refused(moe, countKey("qwen3moe.rope.scaling.type", 5)), "is 5, expects a string"));
  EXPECT_TRUE(contains(refused(moe, textKey("split.count", "x")), "split.count is \"x\", expects an integer from 0"));
}

TEST(GgufModel, RefusesVariants) {
  std::vector<std::string> moe = tinyKeys(), llama = tinyKeys("llama");
  EXPECT_TRUE(contains(refused(moe, countKey("split.count", 2)), "the model is in several files"));
  EXPECT_TRUE(contains(refused(moe, countKey("qwen3moe.attention.value_length", 2)),
                       "qwen3moe.attention.value_length is 2, expects the same as qwen3moe.attention.key_length"));
  EXPECT_TRUE(contains(refused(llama, textKey("llama.tensor_data_layout", "Meta AI original pth")), "old layout"));
  llvm::erase_if(llama, [](const std::string &key) { return key.find("expert_count") != std::string::npos; });
  EXPECT_TRUE(contains(refused(llama, countKey("llama.expert_count", 8)), "llama.expert_count is 8, expects 0"));
  auto one = [](const char *name) { return std::vector<std::string>{tensorEntry(name, {4}, 0, 0)}; };
  EXPECT_TRUE(contains(refused(llama, "", one("blk.0.attn_sinks.weight")), "is not known in the architecture llama"));
  EXPECT_TRUE(contains(refused(llama, "", one("blk.x.attn_q.weight")), "is not known in the architecture llama"));
  EXPECT_TRUE(contains(refused(llama, "", one("output.scale")), "is not known in the architecture llama"));
  EXPECT_TRUE(contains(refused(llama, "", one("blk.0.attn_q.bias")), "is not supported with the architecture llama"));
  EXPECT_TRUE(contains(refused(moe, "", one("blk.0.ffn_up_exps.weight")), "expects three dimensions"));
  EXPECT_TRUE(contains(refused(moe, "", {tensorEntry("blk.0.ffn_up_exps.weight", {1, 1, 3}, 0, 0)}),
                       "expects three dimensions, the first 2 for the experts (qwen3moe.expert_count)"));
  llvm::erase_if(moe, [](const std::string &key) { return key.find("expert_count") != std::string::npos; });
  EXPECT_TRUE(contains(refused(moe, countKey("qwen3moe.expert_count", 1 << 20)),
                       "qwen3moe.expert_count is 1048576, expects 1 to 4096"));
  EXPECT_TRUE(contains(refused(llama, "", one("rope_freqs.weight")), "has the shape [4], expects [2]"));
  EXPECT_TRUE(contains(refused(llama, "", {tensorEntry("rope_freqs.weight", {2}, 0, 0)}), "expects 1.000000 as in"));
}

static llvm::Expected<TokenizerParts> partsOf(const std::vector<std::string> &keys) {
  TestFolder folder;
  auto file = GgufFile::open(folder.write("m", ggufBytes(keys, {})), "m.gguf");
  return file ? ggufTokenizerParts(*file, "m.gguf", 9) : file.takeError();
}

TEST(GgufModel, GivesThePartsOfTheTokenizer) {
  auto list = [](const char *key, uint32_t kind, const std::string &values, uint64_t count) {
    return text("tokenizer.ggml." + std::string(key)) + u32(9) + u32(kind) + u64(count) + values;
  };
  std::vector<std::string> keys = {textKey("tokenizer.ggml.model", "gpt2"),
                                   textKey("tokenizer.ggml.pre", "smollm"),
                                   list("tokens", 8, text("a") + text("b") + text("ab"), 3),
                                   list("merges", 8, text("a b"), 1),
                                   countKey("tokenizer.ggml.bos_token_id", 2),
                                   text("tokenizer.ggml.add_bos_token") + u32(7) + number(1, 1)};
  auto parts = partsOf(keys);
  ASSERT_TRUE(bool(parts)) << llvm::toString(parts.takeError());
  EXPECT_EQ(parts->pre, "smollm");
  EXPECT_EQ(parts->tokens, (std::vector<std::string>{"a", "b", "ab"}));
  EXPECT_EQ(parts->merges, std::vector<std::string>{"a b"});
  EXPECT_EQ(parts->bosId, 2u);
  EXPECT_TRUE(parts->addBos && !parts->addEos && parts->types.empty() && !parts->eosId);
  keys.push_back(countKey("tokenizer.chat_template", 5));
  EXPECT_EQ(errorText(partsOf(keys)), "m.gguf: tokenizer.chat_template is 5, expects a string");
  keys.pop_back();
  keys.push_back(list("token_type", 8, text("x"), 1));
  EXPECT_TRUE(contains(errorText(partsOf(keys)), "m.gguf: tokenizer.ggml.token_type[0] is \"x\", expects an integer"));
  EXPECT_TRUE(contains(errorText(partsOf({})), "m.gguf: tokenizer.ggml.model is missing"));
  EXPECT_TRUE(contains(errorText(partsOf({keys[0]})), "m.gguf: tokenizer.ggml.pre is missing"));
  auto other = partsOf({textKey("tokenizer.ggml.model", "llama")});
  ASSERT_TRUE(bool(other)) << llvm::toString(other.takeError());
  EXPECT_TRUE(contains(errorText(makeTokenizerModel(*other)), "a SentencePiece vocabulary"));
}
