// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensors of a checkpoint, layer by layer.
#include "lib/Import/TensorTable.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::Error;
using llvm::Twine;

namespace moec {

namespace {

using Visit = llvm::function_ref<Error(llvm::StringRef, llvm::ArrayRef<uint64_t>)>;

constexpr llvm::StringLiteral kHeadName = "lm_head.weight";

/// Visits until the first error.
class TensorLister {
public:
  explicit TensorLister(Visit visit) : visit(visit) {}

  void add(const Twine &name, llvm::ArrayRef<uint64_t> shape) {
    if (message)
      return;
    if (Error error = visit(name.str(), shape))
      message = llvm::toString(std::move(error));
  }
  bool hasFailed() const { return message.has_value(); }
  Error take() { return message ? fault(*message) : Error::success(); }

private:
  Visit visit;
  std::optional<std::string> message;
};

void listAttention(const ModelConfig &config, const std::string &prefix, TensorLister &list) {
  uint64_t hidden = config.hiddenSize;
  uint64_t queryRows = config.numHeads * config.headDim, kvRows = config.numKvHeads * config.headDim;
  uint64_t gatedRows = config.hasOutputGate ? 2 * queryRows : queryRows;
  auto product = [&](llvm::StringRef name, uint64_t rows, uint64_t columns, bool hasBias) {
    list.add(prefix + name + ".weight", {rows, columns});
    if (hasBias)
      list.add(prefix + name + ".bias", {rows});
  };
  product("q_proj", gatedRows, hidden, config.hasQkvBias);
  product("k_proj", kvRows, hidden, config.hasQkvBias);
  product("v_proj", kvRows, hidden, config.hasQkvBias);
  if (config.headNorm != HeadNorm::None) {
    list.add(prefix + "q_norm.weight", {config.headNorm == HeadNorm::Head ? config.headDim : queryRows});
    list.add(prefix + "k_norm.weight", {config.headNorm == HeadNorm::Head ? config.headDim : kvRows});
  }
  product("o_proj", hidden, queryRows, config.hasOutputBias);
}

void listDelta(const ModelConfig &config, const std::string &prefix, TensorLister &list) {
  const DeltaConfig &delta = config.delta;
  uint64_t hidden = config.hiddenSize, values = delta.numValueHeads;
  uint64_t keyRows = delta.numKeyHeads * delta.keyDim, valueRows = values * delta.valueDim;
  if (config.spelling.isInterleaved) {
    list.add(prefix + "in_proj_qkvz.weight", {2 * keyRows + 2 * valueRows, hidden});
    list.add(prefix + "in_proj_ba.weight", {2 * values, hidden});
  } else {
    list.add(prefix + "in_proj_qkv.weight", {2 * keyRows + valueRows, hidden});
    list.add(prefix + "in_proj_z.weight", {valueRows, hidden});
    list.add(prefix + "in_proj_b.weight", {values, hidden});
    list.add(prefix + "in_proj_a.weight", {values, hidden});
  }
  list.add(prefix + "conv1d.weight", {2 * keyRows + valueRows, 1, delta.kernel});
  list.add(prefix + "A_log", {values});
  list.add(prefix + "dt_bias", {values});
  list.add(prefix + "norm.weight", {delta.valueDim});
  list.add(prefix + "out_proj.weight", {hidden, valueRows});
}

void listNetwork(const Twine &base, uint64_t width, uint64_t hidden, TensorLister &list) {
  std::string prefix = base.str();
  list.add(prefix + "gate_proj.weight", {width, hidden});
  list.add(prefix + "up_proj.weight", {width, hidden});
  list.add(prefix + "down_proj.weight", {hidden, width});
}

void listExperts(const ModelConfig &config, const std::string &prefix, TensorLister &list) {
  uint64_t hidden = config.hiddenSize, width = config.moeIntermediateSize, experts = config.numExperts;
  list.add(prefix + "gate.weight", {experts, hidden});
  if (config.spelling.isFusedExperts) {
    list.add(prefix + "experts.gate_up_proj", {experts, 2 * width, hidden});
    list.add(prefix + "experts.down_proj", {experts, hidden, width});
  }
  for (uint64_t expert = 0; !config.spelling.isFusedExperts && expert < experts && !list.hasFailed(); ++expert)
    listNetwork(prefix + "experts." + Twine(expert) + ".", width, hidden, list);
  if (config.sharedIntermediateSize) {
    listNetwork(prefix + "shared_expert.", config.sharedIntermediateSize, hidden, list);
    list.add(prefix + "shared_expert_gate.weight", {1, hidden});
  }
}

void listLayer(const ModelConfig &config, uint64_t layer, TensorLister &list) {
  std::string prefix = (config.spelling.prefix + "layers." + Twine(layer) + ".").str();
  list.add(prefix + "input_layernorm.weight", {config.hiddenSize});
  if (config.layers[layer].mixer == MixerKind::Attention)
    listAttention(config, prefix + "self_attn.", list);
  else
    listDelta(config, prefix + "linear_attn.", list);
  list.add(prefix + "post_attention_layernorm.weight", {config.hiddenSize});
  if (config.layers[layer].hasExperts)
    listExperts(config, prefix + "mlp.", list);
  else
    listNetwork(prefix + "mlp.", config.ffnSize, config.hiddenSize, list);
}

/// The commonest mistake of edited checkpoints, before its rows look like any wrong shape.
Error checkVocabulary(const ModelConfig &config, llvm::ArrayRef<CheckpointTensor> sorted) {
  for (const std::string &name : {embeddingName(config), std::string(kHeadName)})
    if (const CheckpointTensor *tensor = findTensor(sorted, name))
      if (tensor->shape.size() == 2 && tensor->shape[0] != config.vocabSize)
        return fault("tensor '" + name + "' has " + Twine(tensor->shape[0]) + " rows, expects " +
                     Twine(config.vocabSize) + " (vocab_size of config.json)");
  return Error::success();
}

/// "model.layers.0.mlp.gate" of "model.layers.0.mlp.gate.weight".
llvm::StringRef moduleOf(llvm::StringRef tensor) { return tensor.rsplit('.').first; }

/// Whether a tensor belongs to a part of a model that is known and not read.
bool isKnownExtra(llvm::StringRef name) {
  return name.starts_with("mtp.") || name.starts_with("model.visual.") || name.ends_with(".rotary_emb.inv_freq");
}

/// "tensor 'a' [2] and 3 more are".
std::string countOf(const CheckpointTensor &first, size_t count) {
  return "tensor '" + first.name + "' " + formatShape(first.shape) +
         (count == 1 ? " is" : " and " + std::to_string(count - 1) + " more are");
}

Error checkOthers(const ModelConfig &config, llvm::ArrayRef<CheckpointTensor> sorted, size_t numExpected,
                  std::vector<std::string> &warnings, std::vector<std::string> &notes) {
  if (sorted.size() == numExpected)
    return Error::success();
  llvm::StringSet<> expected, modules;
  if (Error error = forEachExpectedTensor(config, [&](llvm::StringRef name, llvm::ArrayRef<uint64_t>) {
        expected.insert(name);
        modules.insert(moduleOf(name));
        return Error::success();
      }))
    return error;
  std::string model = " in a " + config.architecture + " checkpoint of " + std::to_string(config.numLayers) + " layers";
  if (config.numExperts)
    model += " and " + std::to_string(config.numExperts) + " experts";
  const CheckpointTensor *first = nullptr, *firstExtra = nullptr;
  size_t numOthers = 0, numExtra = 0;
  for (const CheckpointTensor &tensor : sorted) {
    if (expected.contains(tensor.name))
      continue;
    if (isKnownExtra(tensor.name)) {
      firstExtra = firstExtra ? firstExtra : &tensor;
      ++numExtra;
      continue;
    }
    if (modules.contains(moduleOf(tensor.name)))
      return fault("tensor '" + tensor.name + "' " + formatShape(tensor.shape) + " is not expected" + model +
                   ", and '" + moduleOf(tensor.name) + "' would compute something else with it");
    first = first ? first : &tensor;
    ++numOthers;
  }
  if (first)
    warnings.push_back(countOf(*first, numOthers) + " not expected" + model + " and left out");
  if (firstExtra)
    notes.push_back(countOf(*firstExtra, numExtra) + " of parts that are not compiled (vision, multi-token prediction, "
                                                     "rotation tables) and left out");
  return Error::success();
}

} // namespace

std::string embeddingName(const ModelConfig &config) { return config.spelling.prefix + "embed_tokens.weight"; }

Error forEachExpectedTensor(const ModelConfig &config, Visit visit) {
  TensorLister list(visit);
  list.add(embeddingName(config), {config.vocabSize, config.hiddenSize});
  for (uint64_t layer = 0; layer < config.numLayers && !list.hasFailed(); ++layer)
    listLayer(config, layer, list);
  list.add(config.spelling.prefix + "norm.weight", {config.hiddenSize});
  if (!config.tieWordEmbeddings)
    list.add(kHeadName, {config.vocabSize, config.hiddenSize});
  return list.take();
}

TensorSpelling spellingOf(const ModelConfig &config, llvm::ArrayRef<CheckpointTensor> sorted) {
  TensorSpelling spelling = config.spelling;
  for (const char *prefix : {"model.language_model.", "model."})
    if (findTensor(sorted, std::string(prefix) + "embed_tokens.weight")) {
      spelling.prefix = prefix;
      break;
    }
  for (auto [index, layer] : llvm::enumerate(config.layers)) {
    if (!layer.hasExperts)
      continue;
    std::string experts = (spelling.prefix + "layers." + Twine(index) + ".mlp.experts.").str();
    if (findTensor(sorted, experts + "gate_up_proj"))
      spelling.isFusedExperts = true;
    else if (findTensor(sorted, experts + "0.gate_proj.weight"))
      spelling.isFusedExperts = false;
    break;
  }
  return spelling;
}

const CheckpointTensor *findTensor(llvm::ArrayRef<CheckpointTensor> sorted, llvm::StringRef name) {
  auto at = llvm::partition_point(sorted, [&](const CheckpointTensor &tensor) { return tensor.name < name; });
  return at != sorted.end() && at->name == name ? at : nullptr;
}

/// Where a tensor of experts is missing because its layer spells them the other way; else empty.
static std::string otherSpelling(const ModelConfig &config, llvm::ArrayRef<CheckpointTensor> sorted,
                                 llvm::StringRef name) {
  size_t at = name.find(".mlp.experts.");
  if (at == llvm::StringRef::npos)
    return "";
  std::string experts = name.take_front(at).str() + ".mlp.experts.";
  bool isFused = config.spelling.isFusedExperts;
  for (const char *other : {"0.gate_proj.weight", "0.up_proj.weight", "0.down_proj.weight"})
    if (isFused && findTensor(sorted, experts + other))
      return "; '" + experts + other + "' is there: the experts are partly fused and partly split, expects one of both";
  for (const char *other : {"gate_up_proj", "down_proj"})
    if (!isFused && findTensor(sorted, experts + other))
      return "; '" + experts + other + "' is there: the experts are partly fused and partly split, expects one of both";
  return "";
}

Error checkTensors(const ModelConfig &config, llvm::ArrayRef<CheckpointTensor> sorted,
                   std::vector<std::string> &warnings, std::vector<std::string> &notes) {
  if (Error error = checkVocabulary(config, sorted))
    return error;
  size_t numExpected = 0;
  auto check = [&](llvm::StringRef name, llvm::ArrayRef<uint64_t> shape) -> Error {
    ++numExpected;
    const CheckpointTensor *tensor = findTensor(sorted, name);
    if (!tensor)
      return fault("tensor '" + name + "' is missing, expects the shape " + formatShape(shape) +
                   (name == kHeadName ? "; without it config.json must say tie_word_embeddings true"
                                      : otherSpelling(config, sorted, name)));
    if (llvm::ArrayRef(tensor->shape) != shape)
      return fault("tensor '" + name + "' has the shape " + formatShape(tensor->shape) + ", expects " +
                   formatShape(shape) + " as config.json says");
    if (!isWeightType(tensor->type))
      return fault("tensor '" + name + "' has dtype " + tensorTypeName(tensor->type) +
                   ", expects F32, F16 or BF16; download the bf16 safetensors checkpoint of the model");
    return Error::success();
  };
  if (Error error = forEachExpectedTensor(config, check))
    return error;
  return checkOthers(config, sorted, numExpected, warnings, notes);
}

} // namespace moec
