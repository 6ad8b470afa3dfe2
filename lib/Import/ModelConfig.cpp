// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading and checking of config.json.
#include "lib/Import/ModelConfig.h"

#include "lib/Import/FieldReader.h"
#include "lib/Import/RopeReader.h"

#include "llvm/ADT/STLExtras.h"

using llvm::Error;
using llvm::Expected;

namespace moec {

namespace {

// Several times what any published model has: they catch damaged files before anything is allocated.
constexpr int64_t kMaxWidth = 1 << 18;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxHeadDim = 1024;
constexpr int64_t kMaxVocabulary = 1 << 22;
constexpr int64_t kMaxContext = 1 << 24;

constexpr int64_t kMaxKernel = 16; // what the device has steps for
// What transformers takes where a config lacks the field.
constexpr uint64_t kDefaultAttentionInterval = 4, kDefaultWindowLayers = 28;

// Fields that mean something that is not built, unless they are null, or 1.
constexpr llvm::StringLiteral kRefusedUnlessNull[] = {"clip_qkv", "kv_lora_rank", "q_lora_rank",
                                                      "attn_logit_softcapping", "final_logit_softcapping"};
constexpr llvm::StringLiteral kRefusedUnlessOne[] = {"embedding_multiplier", "residual_multiplier", "logits_scaling",
                                                     "routed_scaling_factor"};

Error refuseQuantized(const JsonCursor &root) {
  std::optional<JsonCursor> quantization = root.find("quantization_config");
  if (!quantization)
    quantization = root.find("compression_config"); // the older name
  if (!quantization)
    return Error::success();
  std::string method = "of an unnamed method";
  if (std::optional<JsonCursor> name = quantization->find("quant_method"); name && name->json().asString())
    method = "'" + *name->json().asString() + "'";
  return quantization->complain("is " + method + ": quantized checkpoints are not supported yet; download the " +
                                "bf16 safetensors checkpoint of the same model instead, moec quantizes it itself");
}

/// The family of a config or of its text part.
Expected<const ModelFamily *> readKind(const JsonCursor &root) {
  Expected<JsonCursor> field = root.at("model_type");
  if (!field)
    return field.takeError();
  Expected<std::string> type = field->string();
  if (!type)
    return type.takeError();
  if (Error error = refuseQuantized(root))
    return std::move(error);
  const ModelFamily *found = findFamily(*type);
  if (!found)
    return field->complain("is '" + *type + "', which is not supported; supported are: " + familyNames());
  return found;
}

/// Fields that would change what the model computes in ways that are not built.
Error refuseVariants(const JsonCursor &root, const ModelFamily &family) {
  if (std::optional<JsonCursor> field = root.find("hidden_act"))
    if (const std::string *name = field->json().asString(); !name || *name != "silu")
      return field->wrong("\"silu\"");
  for (llvm::StringRef key : kRefusedUnlessNull)
    if (std::optional<JsonCursor> field = root.find(key))
      return field->wrong("null; a number is not supported");
  for (llvm::StringRef key : kRefusedUnlessOne)
    if (std::optional<JsonCursor> field = root.find(key); field && field->json().asDouble() != 1.0)
      return field->wrong("1; other numbers are not supported");
  for (llvm::StringRef key : {"mlp_bias", "attention_bias"}) {
    std::optional<JsonCursor> field = root.find(key);
    if (!field || (key == "attention_bias" && family.bias != BiasRule::Refused))
      continue;
    Expected<bool> flag = field->boolean();
    if (!flag)
      return flag.takeError();
    if (*flag)
      return field->wrong("false; true is not supported");
  }
  if (std::optional<JsonCursor> field = root.find("attn_output_gate"))
    if (field->json().asBool() != family.isHybrid)
      return field->wrong(family.isHybrid ? "true" : "false");
  if (!family.hasSparseStep) {
    if (std::optional<JsonCursor> field = root.find("mlp_only_layers"))
      if (const JsonArray *layers = field->json().asArray(); !layers || !layers->empty())
        return field->wrong("an empty array in models of this kind");
    if (std::optional<JsonCursor> field = root.find("decoder_sparse_step"); field && field->json().asInt64() != 1)
      return field->wrong("1 in models of this kind");
  }
  return Error::success();
}

void readAttention(FieldReader &fields, const JsonCursor &root, const ModelFamily &family, ModelConfig &config) {
  config.numHeads = fields.count("num_attention_heads", kMaxHeads);
  config.numKvHeads = config.numHeads;
  std::optional<JsonCursor> kvHeads = root.find("num_key_value_heads");
  if (kvHeads || family.needsKvHeads)
    config.numKvHeads =
        fields.count("num_key_value_heads", static_cast<int64_t>(config.numHeads), "num_attention_heads");
  if (fields.hasFailed())
    return;
  if (config.numHeads % config.numKvHeads != 0)
    return fields.keep(kvHeads->wrong("a divisor of num_attention_heads, which is " + llvm::Twine(config.numHeads)));
  config.headDim = family.headDim ? family.headDim : config.hiddenSize / config.numHeads;
  if (std::optional<JsonCursor> field = root.find("head_dim")) {
    config.headDim = fields.count("head_dim", kMaxHeadDim);
    if (!fields.hasFailed() && config.headDim % 2 != 0)
      fields.keep(field->wrong("an even number, since rotation works on pairs"));
    return;
  }
  if (!family.headDim &&
      (config.hiddenSize % config.numHeads != 0 || config.headDim % 2 != 0 || config.headDim > uint64_t(kMaxHeadDim)))
    fields.keep(root.complain(
        "has no head_dim, and hidden_size / num_attention_heads = " + llvm::Twine(config.hiddenSize) + " / " +
        llvm::Twine(config.numHeads) + ", expects an even integer up to " + llvm::Twine(kMaxHeadDim)));
}

void readBiases(FieldReader &fields, const ModelFamily &family, ModelConfig &config) {
  switch (family.bias) {
  case BiasRule::Refused:
    return;
  case BiasRule::Field:
    config.hasQkvBias = config.hasOutputBias = fields.flagOr("attention_bias", false);
    return;
  case BiasRule::Qkv:
    config.hasQkvBias = true;
    return;
  case BiasRule::QkvField:
    config.hasQkvBias = fields.flagOr("qkv_bias", true);
    return;
  }
}

/// layer_types as texts; empty if the field is missing.
Expected<std::vector<std::string>> readLayerTypes(const JsonCursor &root, const ModelConfig &config) {
  std::vector<std::string> types;
  std::optional<JsonCursor> field = root.find("layer_types");
  if (!field)
    return types;
  auto elements = field->elements();
  if (!elements)
    return elements.takeError();
  if (elements->size() != config.numLayers)
    return field->complain("has " + llvm::Twine(elements->size()) + " elements, expects " +
                           llvm::Twine(config.numLayers) + " (num_hidden_layers)");
  for (const JsonCursor &element : *elements) {
    auto text = element.string();
    if (!text)
      return text.takeError();
    if (*text != "full_attention" && *text != "linear_attention" && *text != "sliding_attention")
      return element.complain("is '" + *text + "', which is not supported");
    types.push_back(std::move(*text));
  }
  return types;
}

/// Which layers mix tokens by DeltaNet.
void readMixers(FieldReader &fields, const JsonCursor &root, const ModelFamily &family, ModelConfig &config) {
  auto types = readLayerTypes(root, config);
  if (!types)
    return fields.keep(types.takeError());
  if (!family.isHybrid) {
    for (llvm::StringRef type : {"linear_attention", "sliding_attention"})
      if (llvm::is_contained(*types, type) && (type == "linear_attention" || family.window == WindowRule::None))
        fields.keep(root.find("layer_types")->complain("has '" + type + "', which models of this kind do not have"));
    return;
  }
  uint64_t interval = fields.countOr("full_attention_interval", kMaxLayers, kDefaultAttentionInterval);
  if (fields.hasFailed())
    return;
  bool hasAttention = false;
  for (auto [index, layer] : llvm::enumerate(config.layers)) {
    bool isDelta = types->empty() ? (index + 1) % interval != 0 : (*types)[index] == "linear_attention";
    layer.mixer = isDelta ? MixerKind::Delta : MixerKind::Attention;
    hasAttention |= !isDelta;
    if (!types->empty() && (*types)[index] == "sliding_attention")
      return fields.keep(root.find("layer_types")->complain("has 'sliding_attention', which is not supported"));
  }
  if (!hasAttention)
    fields.keep(root.find("layer_types") ? root.find("layer_types")->wrong("at least one 'full_attention'")
                                         : root.complain("has no layer of attention among its " +
                                                         llvm::Twine(config.numLayers) + "; expects at least one"));
}

void readDelta(FieldReader &fields, const JsonCursor &root, ModelConfig &config) {
  DeltaConfig &delta = config.delta;
  delta.numKeyHeads = fields.countOr("linear_num_key_heads", kMaxHeads, 16);
  delta.numValueHeads = fields.countOr("linear_num_value_heads", kMaxHeads, 32);
  delta.keyDim = fields.countOr("linear_key_head_dim", kMaxHeadDim, 128);
  delta.valueDim = fields.countOr("linear_value_head_dim", kMaxHeadDim, 128);
  delta.kernel = fields.countOr("linear_conv_kernel_dim", kMaxKernel, 4);
  if (fields.hasFailed())
    return;
  if (delta.numValueHeads % delta.numKeyHeads != 0)
    return fields.keep(root.complain("has linear_num_value_heads " + llvm::Twine(delta.numValueHeads) +
                                     ", expects a multiple of linear_num_key_heads, which is " +
                                     llvm::Twine(delta.numKeyHeads)));
  if (delta.kernel < 2)
    return fields.keep(root.find("linear_conv_kernel_dim")->wrong("2 to " + llvm::Twine(kMaxKernel)));
  if (std::optional<JsonCursor> field = root.find("output_gate_type")) {
    const std::string *kind = field->json().asString();
    if (!kind || (*kind != "swish" && *kind != "silu" && *kind != "sigmoid"))
      return fields.keep(field->wrong("\"swish\", \"silu\" or \"sigmoid\""));
    delta.isSigmoidGate = *kind == "sigmoid";
  }
}

/// One window for all layers, or none: layers that differ are refused.
void readWindow(FieldReader &fields, const JsonCursor &root, const ModelFamily &family, ModelConfig &config) {
  std::optional<JsonCursor> use = root.find("use_sliding_window"), field = root.find("sliding_window");
  bool isUsed = fields.flagOr("use_sliding_window", false);
  if (fields.hasFailed())
    return;
  if (family.window == WindowRule::None) {
    if (isUsed || (field && !use))
      fields.keep(isUsed ? use->wrong("false; windows are not supported in models of this kind")
                         : field->wrong("null; windows are not supported in models of this kind"));
    return;
  }
  if (!isUsed)
    return;
  uint64_t window = fields.count("sliding_window", kMaxContext);
  // All: qwen3_moe does not look at max_window_layers.
  uint64_t numWide = config.numLayers;
  if (std::optional<JsonCursor> limit = root.find("max_window_layers")) {
    Expected<int64_t> number = limit->integer(0, kMaxContext);
    if (!number)
      return fields.keep(number.takeError());
    numWide = static_cast<uint64_t>(*number);
  } else {
    numWide = kDefaultWindowLayers;
  }
  auto types = readLayerTypes(root, config);
  if (!types)
    return fields.keep(types.takeError());
  uint64_t numSliding = 0;
  for (uint64_t layer = 0; layer < config.numLayers; ++layer)
    numSliding += family.window == WindowRule::All         ? true
                  : !types->empty()                        ? (*types)[layer] == "sliding_attention"
                  : family.window == WindowRule::FromLayer ? layer >= numWide
                                                           : layer % 2 == 0 && layer < numWide;
  if (numSliding != 0 && numSliding != config.numLayers)
    return fields.keep(use->complain("is true, and the window holds for " + llvm::Twine(numSliding) + " of " +
                                     llvm::Twine(config.numLayers) +
                                     " layers (layer_types, max_window_layers); windows that differ by layer are not "
                                     "supported"));
  config.slidingWindow = numSliding ? window : 0;
}

/// Which layers have experts, and the sizes of both kinds.
void readFeedForward(FieldReader &fields, const JsonCursor &root, const ModelFamily &family, ModelConfig &config) {
  if (!family.hasExperts()) {
    config.ffnSize = fields.count("intermediate_size", kMaxWidth);
    return;
  }
  config.moeIntermediateSize = fields.count(family.expertSizeKey, kMaxWidth);
  // transformers 5 writes num_local_experts for qwen3_moe.
  std::optional<JsonCursor> experts = root.find("num_experts"), local = root.find("num_local_experts");
  llvm::StringRef expertsKey = local && !experts ? "num_local_experts" : "num_experts";
  config.numExperts = fields.count(expertsKey, kMaxExperts);
  if (local && experts && local->json().asInt64() != experts->json().asInt64())
    fields.keep(local->complain("is " + local->json().describe() + ", but " + experts->jsonPath() + " is " +
                                experts->json().describe() + "; expects the same in both"));
  config.topK = fields.count("num_experts_per_tok", static_cast<int64_t>(config.numExperts), expertsKey);
  if (family.hasSharedExpert)
    config.sharedIntermediateSize = fields.count("shared_expert_intermediate_size", kMaxWidth);
  std::vector<uint64_t> dense;
  uint64_t step = 1;
  if (family.hasSparseStep) {
    step = fields.countOr("decoder_sparse_step", kMaxLayers, 1);
    if (std::optional<JsonCursor> field = root.find("mlp_only_layers")) {
      auto elements = field->elements();
      if (!elements)
        return fields.keep(elements.takeError());
      for (const JsonCursor &element : *elements) {
        Expected<int64_t> layer = element.integer(0, static_cast<int64_t>(config.numLayers) - 1, "num_hidden_layers");
        if (!layer)
          return fields.keep(layer.takeError());
        dense.push_back(static_cast<uint64_t>(*layer));
      }
    }
  }
  if (fields.hasFailed())
    return;
  size_t numSparse = 0;
  for (auto [index, layer] : llvm::enumerate(config.layers)) {
    layer.hasExperts = (index + 1) % step == 0 && !llvm::is_contained(dense, index);
    numSparse += layer.hasExperts;
  }
  if (numSparse < config.layers.size())
    config.ffnSize = fields.count("intermediate_size", kMaxWidth);
  if (!numSparse)
    config.moeIntermediateSize = config.numExperts = config.topK = config.sharedIntermediateSize = 0;
}

/// What stands in the config of a model that also sees, beside its text part.
void readOuter(FieldReader &fields, const JsonCursor &root, const JsonCursor &text, ModelConfig &config) {
  // Either place may say so; the tensors decide (Checkpoint).
  config.tieWordEmbeddings = fields.flagOr("tie_word_embeddings", false);
  FieldReader inner(text);
  config.tieWordEmbeddings |= inner.flagOr("tie_word_embeddings", false);
  fields.keep(inner.take());
}

Error readEnds(const JsonCursor &root, const JsonCursor &text, const ModelFamily &family, ModelConfig &config) {
  std::optional<JsonCursor> field = text.find("eos_token_id");
  field = field ? field : root.find("eos_token_id");
  if (field) {
    Expected<std::vector<uint32_t>> ids = parseTokenIds(*field, config.vocabSize);
    if (!ids)
      return ids.takeError();
    config.eosIds = std::move(*ids);
  } else if (family.eosId >= 0 && uint64_t(family.eosId) < config.vocabSize &&
             !text.json().asObject()->find("eos_token_id")) {
    config.eosIds = {static_cast<uint32_t>(family.eosId)};
  }
  return Error::success();
}

} // namespace

Expected<std::vector<uint32_t>> parseTokenIds(const JsonCursor &field, uint64_t vocabSize) {
  std::vector<JsonCursor> places{field};
  if (field.json().asArray()) {
    Expected<std::vector<JsonCursor>> elements = field.elements();
    if (!elements)
      return elements.takeError();
    places = std::move(*elements);
  }
  std::vector<uint32_t> ids;
  for (const JsonCursor &place : places) {
    Expected<int64_t> id = place.integer(0, static_cast<int64_t>(vocabSize) - 1, "vocab_size");
    if (!id)
      return id.takeError();
    if (!llvm::is_contained(ids, static_cast<uint32_t>(*id)))
      ids.push_back(static_cast<uint32_t>(*id));
  }
  return std::move(ids);
}

Expected<ModelConfig> parseModelConfig(const JsonCursor &root) {
  Expected<const ModelFamily *> kind = readKind(root);
  if (!kind)
    return kind.takeError();
  const ModelFamily &family = **kind;
  std::optional<JsonCursor> inner;
  if (!family.textName.empty())
    inner = root.find("text_config");
  const JsonCursor &text = inner ? *inner : root;
  if (inner) {
    if (!inner->json().asObject())
      return inner->wrong("an object");
    if (Error error = refuseQuantized(*inner))
      return std::move(error);
    if (std::optional<JsonCursor> field = inner->find("model_type"))
      if (const std::string *name = field->json().asString(); !name || findFamily(*name) != &family)
        return field->wrong("\"" + family.textName + "\"");
  }
  FieldReader fields(text);
  ModelConfig config;
  config.architecture = family.name.str();
  config.hiddenSize = fields.count("hidden_size", kMaxWidth);
  config.numLayers = fields.count("num_hidden_layers", kMaxLayers);
  config.layers.resize(config.numLayers);
  readAttention(fields, text, family, config);
  readFeedForward(fields, text, family, config);
  config.vocabSize = fields.count("vocab_size", kMaxVocabulary);
  config.maxPositionEmbeddings = family.maxPositions
                                     ? fields.countOr("max_position_embeddings", kMaxContext, family.maxPositions)
                                     : fields.count("max_position_embeddings", kMaxContext);
  readWindow(fields, text, family, config);
  config.rmsNormEps = family.rmsNormEps != 0 ? fields.numberOr("rms_norm_eps", 1e-12, 1e-1, family.rmsNormEps)
                                             : fields.number("rms_norm_eps", 1e-12, 1e-1);
  if (!fields.hasFailed())
    readRope(fields, text, family, config);
  if (family.hasExperts())
    config.normTopkProb = family.renormalize == RenormalizeRule::Required
                              ? fields.flag("norm_topk_prob")
                              : fields.flagOr("norm_topk_prob", family.renormalize == RenormalizeRule::Yes);
  readBiases(fields, family, config);
  config.headNorm = family.headNorm;
  config.isZeroCentred = config.hasOutputGate = family.isHybrid;
  config.spelling = {inner ? "model.language_model." : "model.", family.isFusedExperts, family.isInterleaved};
  if (!fields.hasFailed())
    readMixers(fields, text, family, config);
  if (family.isHybrid)
    readDelta(fields, text, config);
  FieldReader outer(root);
  readOuter(outer, root, text, config);
  fields.keep(outer.take());
  if (fields.hasFailed())
    return fields.take();
  if (Error error = refuseVariants(text, family))
    return std::move(error);
  if (Error error = readEnds(root, text, family, config))
    return std::move(error);
  return std::move(config);
}

} // namespace moec
