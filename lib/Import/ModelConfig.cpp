// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading and checking of config.json.
#include "lib/Import/ModelConfig.h"

#include "lib/Support/Fault.h"

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
constexpr int64_t kMaxExperts = 4096;
constexpr int64_t kMaxVocabulary = 1 << 22;
constexpr int64_t kMaxContext = 1 << 24;

/// Reads fields one after the other and keeps the first error, so that the list of fields reads as a list.
class FieldReader {
public:
  explicit FieldReader(const JsonCursor &root) : root(root) {}

  uint64_t count(llvm::StringRef key, int64_t most, llvm::StringRef why = "") {
    return static_cast<uint64_t>(required(key, int64_t(0), [&](JsonCursor at) { return at.integer(1, most, why); }));
  }
  double number(llvm::StringRef key, double least, double most) {
    return required(key, 0.0, [&](JsonCursor at) { return at.number(least, most); });
  }
  bool flag(llvm::StringRef key) {
    return required(key, false, [](JsonCursor at) { return at.boolean(); });
  }
  bool flagOr(llvm::StringRef key, bool absent) { return root.find(key) ? flag(key) : absent; }

  void keep(Error next) {
    if (!next)
      return;
    std::string text = llvm::toString(std::move(next));
    if (!message)
      message = std::move(text);
  }
  Error take() { return message ? fault(*message) : Error::success(); }
  bool hasFailed() const { return message.has_value(); }

private:
  template <typename T, typename Read> T required(llvm::StringRef key, T absent, Read read) {
    if (message)
      return absent;
    Expected<JsonCursor> at = root.at(key);
    if (!at) {
      keep(at.takeError());
      return absent;
    }
    Expected<T> value = read(*at);
    if (value)
      return *value;
    keep(value.takeError());
    return absent;
  }

  const JsonCursor &root;
  std::optional<std::string> message;
};

Error checkKind(const JsonCursor &root) {
  Expected<JsonCursor> field = root.at("model_type");
  if (!field)
    return field.takeError();
  Expected<std::string> type = field->string();
  if (!type)
    return type.takeError();
  if (std::optional<JsonCursor> quantization = root.find("quantization_config")) {
    std::string method = "of an unnamed method";
    if (std::optional<JsonCursor> name = quantization->find("quant_method"); name && name->json().asString())
      method = "'" + *name->json().asString() + "'";
    return quantization->complain("is " + method + ": quantized checkpoints are not supported yet; download the " +
                                  "bf16 safetensors checkpoint of the same model instead, moec quantizes it itself");
  }
  if (*type != "qwen3_moe")
    return field->complain("is '" + *type + "', which is not supported; supported are: qwen3_moe");
  return Error::success();
}

/// Fields that would change what the model computes in ways that are not built.
Error refuseVariants(const JsonCursor &root) {
  if (std::optional<JsonCursor> field = root.find("hidden_act"))
    if (const std::string *name = field->json().asString(); !name || *name != "silu")
      return field->wrong("\"silu\"");
  if (std::optional<JsonCursor> field = root.find("mlp_only_layers"))
    if (const JsonArray *layers = field->json().asArray(); !layers || !layers->empty())
      return field->wrong("an empty array; layers without experts are not supported");
  if (std::optional<JsonCursor> field = root.find("decoder_sparse_step"))
    if (field->json().asInt64() != 1)
      return field->wrong("1; layers without experts are not supported");
  if (std::optional<JsonCursor> field = root.find("attention_bias")) {
    Expected<bool> flag = field->boolean();
    if (!flag)
      return flag.takeError();
    if (*flag)
      return field->wrong("false; true is not supported");
  }
  return Error::success();
}

/// One object that says how positions rotate: `rope_parameters` of newer files, `rope_scaling` of older ones. Anything
/// but the plain rotation is refused; what comes to the same (a linear factor of 1, all dimensions rotated) is not.
Error refuseRopeVariants(const JsonCursor &rope) {
  bool isOlder = rope.jsonPath() == "rope_scaling";
  if (!rope.json().asObject())
    return rope.wrong(isOlder ? "null" : "an object or null");
  std::optional<JsonCursor> kind = rope.find("rope_type"), older = rope.find("type");
  if (kind && older &&
      (!older->json().asString() || kind->json().asString() == nullptr ||
       *older->json().asString() != *kind->json().asString()))
    return older->complain("is " + older->json().describe() + ", but " + kind->jsonPath() + " is " +
                           kind->json().describe() + "; expects the same in both");
  kind = kind ? kind : older;
  if (!kind && isOlder)
    return rope.wrong("null");
  const std::string *name = kind ? kind->json().asString() : nullptr;
  std::optional<JsonCursor> factor = rope.find("factor");
  bool isIdentity = name && *name == "linear" && factor && factor->json().asDouble() == 1.0;
  if (kind && (!name || (*name != "default" && !isIdentity)))
    return kind->complain("is " + kind->json().describe() + ", which is not supported, expects " +
                          (isOlder ? "rope_scaling null" : "\"default\""));
  for (const JsonMember &member : rope.json().asObject()->members())
    if (member.value.asObject())
      return rope.complain("has the object '" + member.key + "'; rotations that differ by layer are not supported");
  return Error::success();
}

/// The base of the rotation, which may stand in several places, and everything else that says how positions rotate.
void readRope(FieldReader &fields, const JsonCursor &root, Qwen3MoeConfig &config) {
  std::optional<JsonCursor> first;
  std::vector<JsonCursor> places{root};
  for (llvm::StringRef key : {"rope_parameters", "rope_scaling"})
    if (std::optional<JsonCursor> rope = root.find(key)) {
      fields.keep(refuseRopeVariants(*rope));
      places.push_back(*rope);
    }
  for (const JsonCursor &place : places) {
    if (std::optional<JsonCursor> partial = place.find("partial_rotary_factor");
        partial && partial->json().asDouble() != 1.0)
      fields.keep(partial->wrong("1; models that rotate a part of each head are not supported"));
    std::optional<JsonCursor> base = place.find("rope_theta");
    if (!base)
      continue;
    Expected<double> value = base->number(1, 1e12);
    if (!value)
      return fields.keep(value.takeError());
    if (first && *value != config.ropeTheta)
      return fields.keep(base->complain("is " + base->json().describe() + ", but " + first->jsonPath() + " is " +
                                        first->json().describe() + "; expects the same in both"));
    config.ropeTheta = *value;
    first = base;
  }
  if (!first)
    config.ropeTheta = fields.number("rope_theta", 1, 1e12);
}

void readAttention(FieldReader &fields, const JsonCursor &root, Qwen3MoeConfig &config) {
  config.numHeads = fields.count("num_attention_heads", kMaxHeads);
  config.numKvHeads = fields.count("num_key_value_heads", static_cast<int64_t>(config.numHeads), "num_attention_heads");
  if (fields.hasFailed())
    return;
  if (config.numHeads % config.numKvHeads != 0)
    return fields.keep(root.find("num_key_value_heads")
                           ->wrong("a divisor of num_attention_heads, which is " + llvm::Twine(config.numHeads)));
  config.headDim = config.hiddenSize / config.numHeads;
  if (std::optional<JsonCursor> field = root.find("head_dim")) {
    config.headDim = fields.count("head_dim", kMaxHeadDim);
    if (!fields.hasFailed() && config.headDim % 2 != 0)
      fields.keep(field->wrong("an even number, since rotation works on pairs"));
    return;
  }
  if (config.hiddenSize % config.numHeads != 0 || config.headDim % 2 != 0 || config.headDim > uint64_t(kMaxHeadDim))
    fields.keep(root.complain(
        "has no head_dim, and hidden_size / num_attention_heads = " + llvm::Twine(config.hiddenSize) + " / " +
        llvm::Twine(config.numHeads) + ", expects an even integer up to " + llvm::Twine(kMaxHeadDim)));
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

Expected<Qwen3MoeConfig> parseModelConfig(const JsonCursor &root) {
  if (Error error = checkKind(root))
    return std::move(error);
  FieldReader fields(root);
  Qwen3MoeConfig config;
  config.hiddenSize = fields.count("hidden_size", kMaxWidth);
  config.numLayers = fields.count("num_hidden_layers", kMaxLayers);
  readAttention(fields, root, config);
  config.moeIntermediateSize = fields.count("moe_intermediate_size", kMaxWidth);
  config.numExperts = fields.count("num_experts", kMaxExperts);
  config.topK = fields.count("num_experts_per_tok", static_cast<int64_t>(config.numExperts), "num_experts");
  config.vocabSize = fields.count("vocab_size", kMaxVocabulary);
  config.maxPositionEmbeddings = fields.count("max_position_embeddings", kMaxContext);
  // In qwen3_moe the window holds for all layers; max_window_layers is not looked at.
  if (fields.flagOr("use_sliding_window", false))
    config.slidingWindow = fields.count("sliding_window", kMaxContext);
  config.rmsNormEps = fields.number("rms_norm_eps", 1e-12, 1e-1);
  readRope(fields, root, config);
  config.normTopkProb = fields.flag("norm_topk_prob");
  config.tieWordEmbeddings = fields.flagOr("tie_word_embeddings", false);
  if (fields.hasFailed())
    return fields.take();
  if (Error error = refuseVariants(root))
    return std::move(error);
  if (std::optional<JsonCursor> field = root.find("eos_token_id")) {
    Expected<std::vector<uint32_t>> ids = parseTokenIds(*field, config.vocabSize);
    if (!ids)
      return ids.takeError();
    config.eosIds = std::move(*ids);
  }
  return std::move(config);
}

} // namespace moec
