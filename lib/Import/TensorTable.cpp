// SPDX-License-Identifier: Apache-2.0
/// \file
/// The tensors of a qwen3_moe checkpoint.
#include "lib/Import/TensorTable.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::Error;
using llvm::Twine;

namespace moec {

namespace {

using Visit = llvm::function_ref<Error(llvm::StringRef, llvm::ArrayRef<uint64_t>)>;

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

void listLayer(const Qwen3MoeConfig &config, uint64_t layer, TensorLister &list) {
  std::string prefix = ("model.layers." + Twine(layer) + ".").str();
  uint64_t hidden = config.hiddenSize, width = config.moeIntermediateSize;
  uint64_t queryRows = config.numHeads * config.headDim, kvRows = config.numKvHeads * config.headDim;
  list.add(prefix + "input_layernorm.weight", {hidden});
  list.add(prefix + "self_attn.q_proj.weight", {queryRows, hidden});
  list.add(prefix + "self_attn.k_proj.weight", {kvRows, hidden});
  list.add(prefix + "self_attn.v_proj.weight", {kvRows, hidden});
  list.add(prefix + "self_attn.q_norm.weight", {config.headDim});
  list.add(prefix + "self_attn.k_norm.weight", {config.headDim});
  list.add(prefix + "self_attn.o_proj.weight", {hidden, queryRows});
  list.add(prefix + "post_attention_layernorm.weight", {hidden});
  list.add(prefix + "mlp.gate.weight", {config.numExperts, hidden});
  for (uint64_t expert = 0; expert < config.numExperts && !list.hasFailed(); ++expert) {
    std::string base = (prefix + "mlp.experts." + Twine(expert) + ".").str();
    list.add(base + "gate_proj.weight", {width, hidden});
    list.add(base + "up_proj.weight", {width, hidden});
    list.add(base + "down_proj.weight", {hidden, width});
  }
}

/// The commonest mistake of edited checkpoints, before its rows look like any wrong shape.
Error checkVocabulary(const Qwen3MoeConfig &config, llvm::ArrayRef<CheckpointTensor> sorted) {
  for (llvm::StringRef name : {"model.embed_tokens.weight", "lm_head.weight"})
    if (const CheckpointTensor *tensor = findTensor(sorted, name))
      if (tensor->shape.size() == 2 && tensor->shape[0] != config.vocabSize)
        return fault("tensor '" + name + "' has " + Twine(tensor->shape[0]) + " rows, expects " +
                     Twine(config.vocabSize) + " (vocab_size of config.json)");
  return Error::success();
}

/// "model.layers.0.mlp.gate" of "model.layers.0.mlp.gate.weight".
llvm::StringRef moduleOf(llvm::StringRef tensor) { return tensor.rsplit('.').first; }

Error checkOthers(const Qwen3MoeConfig &config, llvm::ArrayRef<CheckpointTensor> sorted, size_t numExpected,
                  std::vector<std::string> &warnings) {
  if (sorted.size() == numExpected)
    return Error::success();
  llvm::StringSet<> expected, modules;
  if (Error error = forEachExpectedTensor(config, [&](llvm::StringRef name, llvm::ArrayRef<uint64_t>) {
        expected.insert(name);
        modules.insert(moduleOf(name));
        return Error::success();
      }))
    return error;
  std::string model = " in a qwen3_moe checkpoint of " + std::to_string(config.numLayers) + " layers and " +
                      std::to_string(config.numExperts) + " experts";
  const CheckpointTensor *first = nullptr;
  for (const CheckpointTensor &tensor : sorted) {
    if (expected.contains(tensor.name))
      continue;
    if (modules.contains(moduleOf(tensor.name)))
      return fault("tensor '" + tensor.name + "' " + formatShape(tensor.shape) + " is not expected" + model +
                   ", and '" + moduleOf(tensor.name) + "' would compute something else with it");
    first = first ? first : &tensor;
  }
  size_t numOthers = sorted.size() - numExpected;
  warnings.push_back("tensor '" + first->name + "' " + formatShape(first->shape) +
                     (numOthers == 1 ? " is" : " and " + std::to_string(numOthers - 1) + " more are") +
                     " not expected" + model + " and left out");
  return Error::success();
}

} // namespace

Error forEachExpectedTensor(const Qwen3MoeConfig &config, Visit visit) {
  TensorLister list(visit);
  list.add("model.embed_tokens.weight", {config.vocabSize, config.hiddenSize});
  for (uint64_t layer = 0; layer < config.numLayers && !list.hasFailed(); ++layer)
    listLayer(config, layer, list);
  list.add("model.norm.weight", {config.hiddenSize});
  if (!config.tieWordEmbeddings)
    list.add("lm_head.weight", {config.vocabSize, config.hiddenSize});
  return list.take();
}

const CheckpointTensor *findTensor(llvm::ArrayRef<CheckpointTensor> sorted, llvm::StringRef name) {
  auto at = llvm::partition_point(sorted, [&](const CheckpointTensor &tensor) { return tensor.name < name; });
  return at != sorted.end() && at->name == name ? at : nullptr;
}

Error checkTensors(const Qwen3MoeConfig &config, llvm::ArrayRef<CheckpointTensor> sorted,
                   std::vector<std::string> &warnings) {
  if (Error error = checkVocabulary(config, sorted))
    return error;
  size_t numExpected = 0;
  auto check = [&](llvm::StringRef name, llvm::ArrayRef<uint64_t> shape) -> Error {
    ++numExpected;
    const CheckpointTensor *tensor = findTensor(sorted, name);
    if (!tensor)
      return fault("tensor '" + name + "' is missing, expects the shape " + formatShape(shape) +
                   (name == "lm_head.weight" ? "; without it config.json must say tie_word_embeddings true" : ""));
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
  return checkOthers(config, sorted, numExpected, warnings);
}

} // namespace moec
