// SPDX-License-Identifier: Apache-2.0
/// \file
/// A config of a few kilobytes for each model family that is read.
#ifndef TEST_UNIT_IMPORT_TINYCONFIGS_H
#define TEST_UNIT_IMPORT_TINYCONFIGS_H

#include "lib/Support/Json.h"

#include "llvm/ADT/StringRef.h"

namespace moec::test {

/// The fields that all families share, then `fields`, which may replace them.
inline Json familyConfig(llvm::StringRef modelType, llvm::StringRef fields) {
  Json config = llvm::cantFail(parseJson(R"({
    "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
    "vocab_size": 16, "max_position_embeddings": 32, "hidden_act": "silu"})",
                                         "config.json"));
  config.asObject()->set("model_type", modelType);
  Json more = llvm::cantFail(parseJson(fields, "fields"));
  for (const JsonMember &member : more.asObject()->members())
    config.asObject()->set(member.key, member.value);
  return config;
}

inline Json tinyQwen3() { return familyConfig("qwen3", R"({"head_dim": 4, "intermediate_size": 12})"); }
inline Json tinyLlama() { return familyConfig("llama", R"({"intermediate_size": 12})"); }
inline Json tinyQwen2() { return familyConfig("qwen2", R"({"intermediate_size": 12})"); }
inline Json tinyQwen2Moe() {
  return familyConfig("qwen2_moe", R"({"intermediate_size": 12, "moe_intermediate_size": 4, "num_experts": 4,
    "num_experts_per_tok": 2, "shared_expert_intermediate_size": 6, "num_hidden_layers": 2, "mlp_only_layers": [0]})");
}
inline Json tinyOlmoe() {
  return familyConfig("olmoe", R"({"intermediate_size": 4, "num_experts": 4, "num_experts_per_tok": 2})");
}

inline constexpr llvm::StringLiteral kTinyDelta = R"({"head_dim": 8, "num_hidden_layers": 4,
  "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 4, "linear_value_head_dim": 3,
  "linear_conv_kernel_dim": 4, "intermediate_size": 12, "moe_intermediate_size": 4, "num_experts": 4,
  "num_experts_per_tok": 2, "shared_expert_intermediate_size": 6})";
inline Json tinyQwen3Next() { return familyConfig("qwen3_next", kTinyDelta); }
inline Json tinyQwen35() { return familyConfig("qwen3_5_text", kTinyDelta); }
/// As the models that also see have it.
inline Json tinyQwen35Moe() {
  return JsonObject()
      .set("model_type", "qwen3_5_moe")
      .set("text_config", familyConfig("qwen3_5_moe_text", kTinyDelta))
      .set("vision_config", JsonObject().set("depth", 2))
      .set("tie_word_embeddings", false);
}

} // namespace moec::test
#endif
