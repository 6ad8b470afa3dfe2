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
  for (llvm::StringRef key : {"rope_scaling", "rope_parameters"}) {
    std::optional<JsonCursor> field = root.find(key);
    if (!field)
      continue;
    std::optional<JsonCursor> kind = field->find("rope_type");
    if (!kind)
      kind = field->find("type");
    if (!kind && key == "rope_scaling")
      return field->wrong("null");
    if (kind && (!kind->json().asString() || *kind->json().asString() != "default"))
      return kind->complain("is " + kind->json().describe() + ", which is not supported, expects " +
                            (key == "rope_scaling" ? "rope_scaling null" : "\"default\""));
  }
  if (std::optional<JsonCursor> field = root.find("mlp_only_layers"))
    if (const JsonArray *layers = field->json().asArray(); !layers || !layers->empty())
      return field->wrong("an empty array; layers without experts are not supported");
  if (std::optional<JsonCursor> field = root.find("decoder_sparse_step"))
    if (field->json().asInt64() != 1)
      return field->wrong("1; layers without experts are not supported");
  for (llvm::StringRef key : {"use_sliding_window", "attention_bias"})
    if (std::optional<JsonCursor> field = root.find(key)) {
      Expected<bool> flag = field->boolean();
      if (!flag)
        return flag.takeError();
      if (*flag)
        return field->wrong("false; true is not supported");
    }
  return Error::success();
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
  config.rmsNormEps = fields.number("rms_norm_eps", 1e-12, 1e-1);
  // Newer files keep the base in rope_parameters.
  std::optional<JsonCursor> rope = root.find("rope_parameters");
  if (rope && rope->find("rope_theta")) {
    FieldReader inner(*rope);
    config.ropeTheta = inner.number("rope_theta", 1, 1e12);
    fields.keep(inner.take());
  } else {
    config.ropeTheta = fields.number("rope_theta", 1, 1e12);
  }
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
