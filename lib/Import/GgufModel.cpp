// SPDX-License-Identifier: Apache-2.0
/// \file
/// Translation of gguf metadata and tensor names.
#include "lib/Import/GgufModel.h"

#include "lib/Import/ModelConfig.h"
#include "lib/Import/WeightReader.h"
#include "lib/Support/Fault.h"
#include "lib/Support/JsonCursor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <numbers>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace moec {

namespace {

/// An architecture that is read.
struct Architecture {
  llvm::StringLiteral name;      // general.architecture
  llvm::StringLiteral modelType; // config.json: model_type
  bool hasExperts;
  bool hasPairedRows; // Q and K stand as for a rotation of neighbours
};

constexpr Architecture kArchitectures[] = {{"llama", "llama", false, true},
                                           {"qwen2", "qwen2", false, false},
                                           {"qwen3", "qwen3", false, false},
                                           {"qwen3moe", "qwen3_moe", true, false}};

/// A key below that of the architecture, and what config.json calls it.
struct Key {
  llvm::StringLiteral gguf, config;
  bool isRequired;
};

constexpr Key kKeys[] = {{"block_count", "num_hidden_layers", true},
                         {"context_length", "max_position_embeddings", true},
                         {"embedding_length", "hidden_size", true},
                         {"attention.head_count", "num_attention_heads", true},
                         {"attention.layer_norm_rms_epsilon", "rms_norm_eps", true},
                         {"attention.key_length", "head_dim", false},
                         {"vocab_size", "vocab_size", false}};
constexpr Key kDenseKeys[] = {{"feed_forward_length", "intermediate_size", true}};
constexpr Key kExpertKeys[] = {{"expert_count", "num_experts", true},
                               {"expert_used_count", "num_experts_per_tok", true},
                               {"expert_feed_forward_length", "moe_intermediate_size", true}};

// Keys that are looked at one by one, or say nothing about what is computed.
constexpr llvm::StringLiteral kOtherKeys[] = {
    "attention.head_count_kv", "attention.value_length", "rope.freq_base",      "rope.dimension_count",
    "feed_forward_length",     "rope.scaling.type",      "rope.scaling.factor", "rope.scaling.original_context_length",
    "rope.scaling.finetuned",  "expert_count",           "expert_used_count",   "expert_weights_norm"};

/// Keys that change what is computed, in a way that is not built, unless they have this value.
struct Neutral {
  llvm::StringLiteral gguf;
  double value;
  bool isFlag = false;
};
constexpr Neutral kNeutral[] = {{"attention.causal", 1, true},     {"attention.clamp_kqv", 0},
                                {"attention.max_alibi_bias", 0},   {"attention.sliding_window", 0},
                                {"attn_logit_softcapping", 0},     {"embedding_scale", 1},
                                {"expert_gating_func", 1}, // softmax
                                {"expert_group_count", 0},         {"expert_group_used_count", 0},
                                {"expert_shared_count", 0},        {"expert_shared_feed_forward_length", 0},
                                {"expert_weights_scale", 1},       {"final_logit_softcapping", 0},
                                {"leading_dense_block_count", 0},  {"logit_scale", 1},
                                {"nextn_predict_layers", 0},       {"residual_scale", 1},
                                {"rope.scale_linear", 1},          {"rope.scaling.attn_factor", 1},
                                {"use_parallel_residual", 0, true}};

/// Tensors by the part of the name between the layer and `.weight`.
struct Tensor {
  llvm::StringLiteral gguf, model;
};
constexpr Tensor kGlobals[] = {
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
constexpr Tensor kLayerTensors[] = {{"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
                                    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
                                    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
                                    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_norm", "post_attention_layernorm"},
                                    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
                                    {"ffn_down", "mlp.down_proj"},       {"ffn_gate_inp", "mlp.gate"}};
constexpr Tensor kExpertTensors[] = {
    {"ffn_gate_exps", "gate_proj"}, {"ffn_up_exps", "up_proj"}, {"ffn_down_exps", "down_proj"}};
constexpr llvm::StringLiteral kRopeFactors = "rope_freqs.weight";

constexpr Tensor kSampling[] = {{"temp", "temperature"}, {"top_k", "top_k"}, {"top_p", "top_p"}};

// Tokens that end an answer in the families that llama.cpp knows, where no key says so.
constexpr llvm::StringLiteral kStopTexts[] = {"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>",
                                              "<|end_of_text|>"};

template <size_t N> StringRef lookUp(const Tensor (&table)[N], StringRef name) {
  auto at = llvm::find_if(table, [&](const Tensor &tensor) { return tensor.gguf == name; });
  return at == std::end(table) ? StringRef() : StringRef(at->model);
}

class Translator {
public:
  Translator(const GgufFile &file, StringRef name) : file(file), name(name), root(name, file.metadata()) {}

  Expected<GgufModel> run();

private:
  Error chooseArchitecture();
  Error refuseVariants();
  Error refuseUnlessNeutral();
  Error setConfig();
  Error setKeys(llvm::ArrayRef<Key> keys);
  Error setRope();
  Error setRopeFactors(const GgufTensor &tensor);
  void setGeneration();
  void setNames();
  void warnOfUnknownKeys();
  Error addTensors();
  Error addTensor(const GgufTensor &tensor);
  Error addExperts(const GgufTensor &tensor, const Twine &layer, StringRef matrix);

  std::string keyOf(StringRef suffix) const { return (architecture->name + "." + suffix).str(); }
  std::optional<JsonCursor> find(StringRef suffix) const { return root.find(keyOf(suffix)); }
  uint64_t numberOr(StringRef suffix, uint64_t absent) const {
    std::optional<JsonCursor> at = find(suffix);
    return at ? at->json().asUint64().value_or(absent) : absent;
  }
  const GgufTensor *findTensor(StringRef tensor) const {
    auto at = llvm::find_if(file.tensors(), [&](const GgufTensor &entry) { return entry.name == tensor; });
    return at == file.tensors().end() ? nullptr : &*at;
  }
  uint64_t headSize() const;

  const GgufFile &file;
  StringRef name;
  JsonCursor root;
  const Architecture *architecture = nullptr;
  JsonObject config;
  GgufModel model;
};

} // namespace

Error Translator::chooseArchitecture() {
  Expected<JsonCursor> field = root.at("general.architecture");
  if (!field)
    return field.takeError();
  Expected<std::string> found = field->string();
  if (!found)
    return found.takeError();
  architecture = llvm::find_if(kArchitectures, [&](const Architecture &known) { return known.name == *found; });
  if (architecture != std::end(kArchitectures))
    return Error::success();
  std::string names;
  for (const Architecture &known : kArchitectures)
    names += (names.empty() ? "" : ", ") + known.name.str();
  return field->complain("is " + field->json().describe() + ", which is not read from gguf files; read are: " + names +
                         "; take the safetensors checkpoint of the model if its model_type is supported");
}

Error Translator::refuseUnlessNeutral() {
  for (const Neutral &neutral : kNeutral) {
    std::optional<JsonCursor> at = find(neutral.gguf);
    if (!at)
      continue;
    bool isSame = neutral.isFlag ? at->json().asBool() == (neutral.value != 0) : at->json().asDouble() == neutral.value;
    std::string expected = writeJson(neutral.isFlag ? Json(neutral.value != 0) : Json(int64_t(neutral.value)), 0);
    if (!isSame)
      return at->wrong(expected + "; other values are not supported with the architecture " + architecture->name);
  }
  return Error::success();
}

/// What the architecture's name allows and the graph does not have.
Error Translator::refuseVariants() {
  // 0 is what llama.cpp takes without the key.
  if (std::optional<JsonCursor> count = root.find("split.count")) {
    Expected<int64_t> number = count->integer(0, UINT16_MAX);
    if (!number)
      return number.takeError();
    if (*number > 1)
      return count->complain("is " + Twine(*number) +
                             ": the model is in several files, which is not supported; join them by llama.cpp's "
                             "`llama-gguf-split --merge`");
  }
  if (Error error = refuseUnlessNeutral())
    return error;
  if (std::optional<JsonCursor> count = find("expert_count");
      count && !architecture->hasExperts && count->json().asInt64() != 0)
    return count->wrong("0: experts of the architecture " + architecture->name + " (Mixtral) are not supported");
  std::optional<JsonCursor> keys = find("attention.key_length"), values = find("attention.value_length");
  if (keys && values && keys->json().asInt64() != values->json().asInt64())
    return values->wrong("the same as " + keys->jsonPath() + ", which is " + keys->json().describe());
  if (root.find(keyOf("tensor_data_layout")))
    return find("tensor_data_layout")
        ->complain("is there: files of that old layout are not supported; take a newer one");
  return Error::success();
}

Error Translator::setKeys(llvm::ArrayRef<Key> keys) {
  for (const Key &key : keys) {
    std::optional<JsonCursor> value = find(key.gguf);
    if (value)
      config.set(key.config, value->json());
    else if (key.isRequired)
      return root.at(keyOf(key.gguf)).takeError();
  }
  return Error::success();
}

uint64_t Translator::headSize() const {
  uint64_t heads = numberOr("attention.head_count", 1);
  return numberOr("attention.key_length", numberOr("embedding_length", 0) / std::max<uint64_t>(heads, 1));
}

Error Translator::setRope() {
  std::optional<JsonCursor> base = find("rope.freq_base");
  config.set("rope_theta", base ? base->json() : Json(10000.0)); // what llama.cpp takes without the key
  if (std::optional<JsonCursor> rotated = find("rope.dimension_count");
      rotated && rotated->json().asUint64() != headSize())
    return rotated->wrong(Twine(headSize()) + ", the size of a head; rotating a part of it is not supported");
  std::optional<JsonCursor> kind = find("rope.scaling.type"), factor = find("rope.scaling.factor");
  std::string scalingType = factor ? "linear" : "none"; // what llama.cpp takes without the key
  if (kind)
    if (Error error = kind->string().moveInto(scalingType))
      return error;
  if (scalingType != "none") {
    JsonObject scaling;
    scaling.set("rope_type", scalingType);
    if (factor)
      scaling.set("factor", factor->json());
    if (std::optional<JsonCursor> length = find("rope.scaling.original_context_length"))
      scaling.set("original_max_position_embeddings", length->json());
    config.set("rope_scaling", std::move(scaling));
  }
  const GgufTensor *factors = findTensor(kRopeFactors);
  return factors ? setRopeFactors(*factors) : Error::success();
}

/// The file has the divisors of the frequencies that Llama 3.1 to 3.3 compute from four numbers, of which only the
/// factor differs between the models; it is the largest divisor.
Error Translator::setRopeFactors(const GgufTensor &tensor) {
  constexpr double kLow = 1, kHigh = 4, kOriginal = 8192, kTolerance = 1e-4;
  uint64_t count = tensor.shape.size() == 1 ? tensor.shape[0] : 0;
  auto refuse = [&](const Twine &text) { return fault(name + ": tensor '" + tensor.name + "' " + text); };
  if (count == 0 || count != headSize() / 2)
    return refuse("has the shape " + formatShape(tensor.shape) + ", expects [" + Twine(headSize() / 2) + "]");
  auto values = readWeight(file.file().path(), tensor.type, tensor.offsetBytes, 1, count);
  if (!values)
    return values.takeError();
  double factor = *llvm::max_element(*values), base = config.find("rope_theta")->asDouble().value_or(0);
  for (uint64_t i = 0; i < count; ++i) {
    double wave = 2 * std::numbers::pi * std::pow(base, 2.0 * double(i) / double(2 * count));
    double smooth = (kOriginal / wave - kLow) / (kHigh - kLow);
    double expected = wave < kOriginal / kHigh  ? 1
                      : wave > kOriginal / kLow ? factor
                                                : 1 / ((1 - smooth) / factor + smooth);
    if (!(std::fabs((*values)[i] - expected) <= kTolerance * expected))
      return refuse("has " + std::to_string((*values)[i]) + " at " + Twine(i) + ", expects " +
                    std::to_string(expected) + " as in Llama 3; other scalings of positions are not supported");
  }
  JsonObject scaling;
  scaling.set("rope_type", "llama3").set("factor", factor).set("low_freq_factor", kLow);
  scaling.set("high_freq_factor", kHigh).set("original_max_position_embeddings", static_cast<int64_t>(kOriginal));
  config.set("rope_scaling", std::move(scaling));
  return Error::success();
}

Error Translator::setConfig() {
  config.set("model_type", StringRef(architecture->modelType));
  if (Error error = setKeys(kKeys))
    return error;
  if (Error error = architecture->hasExperts ? setKeys(kExpertKeys) : setKeys(kDenseKeys))
    return error;
  if (architecture->hasExperts) {
    // Bounds what addExperts makes of one tensor.
    if (Expected<int64_t> count = find("expert_count")->integer(1, kMaxExperts); !count)
      return count.takeError();
    std::optional<JsonCursor> isNormalized = find("expert_weights_norm");
    config.set("norm_topk_prob", isNormalized ? isNormalized->json() : Json(true));
  }
  std::optional<JsonCursor> kvHeads = find("attention.head_count_kv");
  config.set("num_key_value_heads", kvHeads ? kvHeads->json() : *config.find("num_attention_heads"));
  if (const GgufTensor *embedding = findTensor("token_embd.weight");
      embedding && !embedding->shape.empty() && !config.find("vocab_size"))
    config.set("vocab_size", embedding->shape[0]);
  config.set("hidden_act", "silu").set("tie_word_embeddings", findTensor("output.weight") == nullptr);
  config.set("attention_bias", findTensor("blk.0.attn_q.bias") != nullptr);
  return setRope();
}

/// Stop ids, and sampling where the file recommends one.
void Translator::setGeneration() {
  JsonObject generation;
  JsonArray stops;
  auto add = [&](const Json &id) {
    if (!llvm::any_of(stops, [&](const Json &known) { return known.asUint64() == id.asUint64(); }))
      stops.push_back(id);
  };
  for (StringRef key : {"eos", "eot", "eom"})
    if (std::optional<JsonCursor> id = root.find(("tokenizer.ggml." + key + "_token_id").str()))
      add(id->json());
  if (const Json *tokens = file.metadata().asObject()->find("tokenizer.ggml.tokens"); tokens && tokens->asArray())
    for (auto [id, token] : llvm::enumerate(*tokens->asArray()))
      if (token.asString() && llvm::is_contained(kStopTexts, StringRef(*token.asString())))
        add(Json(static_cast<uint64_t>(id)));
  if (!stops.empty())
    generation.set("eos_token_id", std::move(stops));
  for (const Tensor &option : kSampling)
    if (std::optional<JsonCursor> value = root.find(("general.sampling." + option.gguf).str()))
      generation.set("do_sample", true).set(option.model, value->json());
  model.generation = std::move(generation);
}

void Translator::setNames() {
  for (llvm::ArrayRef<Key> keys : {llvm::ArrayRef(kKeys), llvm::ArrayRef(kDenseKeys), llvm::ArrayRef(kExpertKeys)})
    for (const Key &key : keys)
      if (key.gguf != key.config || find(key.gguf)) // the size of the vocabulary may be that of a tensor
        model.keys.emplace_back(key.config, keyOf(key.gguf));
  for (auto [config, key] : {std::pair("num_key_value_heads", "attention.head_count_kv"),
                             {"rope_theta", "rope.freq_base"},
                             {"norm_topk_prob", "expert_weights_norm"},
                             {"rope_scaling.rope_type", "rope.scaling.type"},
                             {"rope_scaling.factor", "rope.scaling.factor"}})
    model.keys.emplace_back(config, keyOf(key));
  for (const Tensor &option : kSampling)
    model.keys.emplace_back(option.model, ("general.sampling." + option.gguf).str());
  model.keys.emplace_back("eos_token_id", "tokenizer.ggml.eos_token_id");
  model.keys.emplace_back("config.json", "the metadata");
}

void Translator::warnOfUnknownKeys() {
  auto isKey = [](llvm::ArrayRef<Key> keys, StringRef key) {
    return llvm::any_of(keys, [&](const Key &known) { return known.gguf == key; });
  };
  for (const JsonMember &member : file.metadata().asObject()->members()) {
    StringRef key = member.key;
    if (key.consume_front(architecture->name) && key.consume_front(".") && !isKey(kKeys, key) &&
        !isKey(kExpertKeys, key) && !isKey(kDenseKeys, key) && !llvm::is_contained(kOtherKeys, key) &&
        !llvm::any_of(kNeutral, [&](const Neutral &known) { return known.gguf == key; }))
      model.warnings.push_back(
          (name + ": key '" + member.key + "' (" + member.value.describe() + ") is not known and left out").str());
  }
}

/// One tensor of all experts, as one for each.
Error Translator::addExperts(const GgufTensor &tensor, const Twine &layer, StringRef matrix) {
  uint64_t numExperts = numberOr("expert_count", 0);
  if (tensor.shape.size() != 3 || tensor.shape[0] != numExperts)
    return fault(name + ": tensor '" + tensor.name + "' has the shape " + formatShape(tensor.shape) +
                 ", expects three dimensions, the first " + Twine(numExperts) + " for the experts (" +
                 keyOf("expert_count") + ")");
  uint64_t bytes = tensor.sizeBytes / numExperts;
  for (uint64_t expert = 0; expert < numExperts; ++expert)
    model.tensors.push_back(
        {("model.layers." + layer + ".mlp.experts." + Twine(expert) + "." + matrix + ".weight").str(),
         tensor.type,
         {tensor.shape[1], tensor.shape[2]},
         0,
         tensor.offsetBytes + expert * bytes,
         bytes});
  return Error::success();
}

Error Translator::addTensor(const GgufTensor &tensor) {
  auto [module, kind] = StringRef(tensor.name).rsplit('.');
  CheckpointTensor result{"", tensor.type, tensor.shape, 0, tensor.offsetBytes, tensor.sizeBytes};
  StringRef found = lookUp(kGlobals, module);
  uint64_t layer = 0;
  if (module.consume_front("blk.") && !module.consumeInteger(10, layer) && module.consume_front(".")) {
    if (StringRef matrix = lookUp(kExpertTensors, module); !matrix.empty() && kind == "weight")
      return addExperts(tensor, Twine(layer), matrix);
    found = lookUp(kLayerTensors, module);
    if (architecture->hasPairedRows && (module == "attn_q" || module == "attn_k")) {
      if (kind == "bias")
        return fault(name + ": tensor '" + tensor.name + "' is not supported with the architecture llama");
      result.pairedRows = headSize();
    }
    result.name = "model.layers." + std::to_string(layer) + ".";
  }
  if (found.empty() || (kind != "weight" && kind != "bias"))
    return fault(name + ": tensor '" + tensor.name + "' " + formatShape(tensor.shape) +
                 " is not known in the architecture " + architecture->name +
                 ": what it would compute is not built; take another file of the model");
  result.name += (found + "." + kind).str();
  model.tensors.push_back(std::move(result));
  return Error::success();
}

Error Translator::addTensors() {
  for (const GgufTensor &tensor : file.tensors())
    if (tensor.name != kRopeFactors)
      if (Error error = addTensor(tensor))
        return error;
  return Error::success();
}

Expected<GgufModel> Translator::run() {
  if (Error error = chooseArchitecture())
    return std::move(error);
  if (Error error = refuseVariants())
    return std::move(error);
  if (Error error = setConfig())
    return std::move(error);
  setGeneration();
  setNames();
  warnOfUnknownKeys();
  if (Error error = addTensors())
    return std::move(error);
  model.config = std::move(config);
  return std::move(model);
}

Expected<GgufModel> translateGguf(const GgufFile &file, StringRef name) { return Translator(file, name).run(); }

Error inGgufTerms(Error error, StringRef name, llvm::ArrayRef<std::pair<std::string, std::string>> keys) {
  std::string text = llvm::toString(std::move(error)), result = (name + ": ").str();
  StringRef rest = text;
  rest.consume_front(result);
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; };
  while (!rest.empty()) {
    StringRef word = rest.take_while(isWord), other = rest.drop_front(word.size()).take_until(isWord);
    rest = rest.drop_front(word.size() + other.size());
    auto known = llvm::find_if(keys, [&](const auto &key) { return key.first == word; });
    result += (known == keys.end() ? word : StringRef(known->second)).str() + other.str();
  }
  return fault(result);
}

bool isGgufFile(StringRef path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status) || status.type() != llvm::sys::fs::file_type::regular_file)
    return false;
  if (path.ends_with_insensitive(".gguf"))
    return true;
  Expected<RandomAccessFile> file = RandomAccessFile::open(path);
  uint8_t start[4] = {};
  if (!file || file->sizeBytes() < sizeof start) {
    if (!file)
      llvm::consumeError(file.takeError());
    return false;
  }
  if (Error error = file->read(0, start)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  return StringRef(reinterpret_cast<const char *>(start), sizeof start) == "GGUF";
}

} // namespace moec
