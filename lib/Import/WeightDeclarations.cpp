// SPDX-License-Identifier: Apache-2.0
/// \file
/// The weights of each kind of layer.
#include "lib/Import/WeightDeclarations.h"

#include "lib/Support/Fault.h"

using namespace mlir;

namespace moec {

namespace {

using Role = moe::Role;

/// Which rows of a tensor make a weight: `count` pieces that begin `stride` rows apart. A row is a run of the last
/// axis.
struct RowPieces {
  uint64_t first = 0, stride = 0, count = 1;
};

/// A weight of the checkpoint, or a part of one.
struct TensorPart {
  TensorPart(std::string tensor, StringRef part = "", RowPieces rows = {})
      : tensor(std::move(tensor)), part(part), rows(rows) {}

  std::string tensor;
  StringRef part; ///< which part, for messages; "{}" stands for the number of a matrix
  RowPieces rows;
};

class Declarer {
public:
  Declarer(OpBuilder &builder, const Checkpoint &checkpoint, const std::map<uint32_t, int64_t> &fileNumbers)
      : builder(builder), checkpoint(checkpoint), config(checkpoint.config()), fileNumbers(fileNumbers) {}

  void declareAll();

  WeightMap weights;
  std::optional<std::string> message; ///< the first error

private:
  void add(const Twine &symbol, ArrayRef<uint64_t> shape, Role role, const TensorPart &part);
  void addEach(const Twine &symbol, ArrayRef<uint64_t> shape, Role role, ArrayRef<std::string> tensors);
  void create(const Twine &symbol, ArrayRef<uint64_t> shape, Role role, TensorType type, ArrayRef<int64_t> files,
              ArrayRef<int64_t> offsets, const Twine &name);
  const CheckpointTensor *find(const std::string &tensor);
  int64_t offsetOf(const CheckpointTensor &tensor, uint64_t row) const;
  void addAttention();
  void addDelta();
  void addNetwork(StringRef symbols, const std::string &tensors, uint64_t width, ArrayRef<Role> roles);
  void addExperts();
  void addLayer();

  OpBuilder &builder;
  const Checkpoint &checkpoint;
  const ModelConfig &config;
  const std::map<uint32_t, int64_t> &fileNumbers;
  int64_t layer = -1;
  std::string target, source; ///< prefixes of symbols and tensors of this layer
};

} // namespace

const CheckpointTensor *Declarer::find(const std::string &tensor) {
  const CheckpointTensor *entry = message ? nullptr : checkpoint.find(tensor);
  if (!entry && !message)
    message = "the checkpoint has no tensor " + tensor;
  return entry;
}

int64_t Declarer::offsetOf(const CheckpointTensor &tensor, uint64_t row) const {
  // Rows that are not whole blocks are refused when they are read.
  uint64_t rowValues = tensor.shape.size() == 1 ? 1 : tensor.shape.back();
  uint64_t rowBytes = tensorTypeBytes(tensor.type, rowValues).value_or(0);
  // Generated values are numbered from the begin of their tensor.
  bool isFile = checkpoint.files()[tensor.fileIndex].kind.empty();
  return static_cast<int64_t>((isFile ? tensor.offsetBytes : 0) + row * rowBytes);
}

void Declarer::create(const Twine &symbol, ArrayRef<uint64_t> shape, Role role, TensorType type,
                      ArrayRef<int64_t> files, ArrayRef<int64_t> offsets, const Twine &name) {
  SmallVector<int64_t> extents(shape.begin(), shape.end());
  auto tensor = RankedTensorType::get(extents, builder.getF32Type());
  auto where = moe::SourceAttr::get(builder.getContext(), builder.getStringAttr(tensorTypeName(type).lower()), files,
                                    offsets, builder.getStringAttr(name));
  weights[symbol.str()] =
      moe::WeightOp::create(builder, builder.getUnknownLoc(), builder.getStringAttr(symbol), TypeAttr::get(tensor),
                            moe::RoleAttr::get(builder.getContext(), role), builder.getI64IntegerAttr(layer), where,
                            moe::RecipeAttr(), Attribute());
}

void Declarer::add(const Twine &symbol, ArrayRef<uint64_t> shape, Role role, const TensorPart &part) {
  const CheckpointTensor *entry = find(part.tensor);
  if (!entry)
    return;
  SmallVector<int64_t> offsets;
  if (uint64_t head = entry->pairedRows) {
    // Only whole tensors stand in this order: each row is a piece.
    for (uint64_t row = 0; row < shape[0]; ++row) {
      uint64_t inHead = row % head, half = head / 2;
      offsets.push_back(offsetOf(*entry, row - inHead + (inHead < half ? 2 * inHead : 2 * (inHead - half) + 1)));
    }
  } else {
    for (uint64_t piece = 0; piece < part.rows.count; ++piece)
      offsets.push_back(offsetOf(*entry, part.rows.first + piece * part.rows.stride));
  }
  SmallVector<int64_t> files(offsets.size(), fileNumbers.at(entry->fileIndex));
  create(symbol, shape, role, entry->type, files, offsets, part.tensor + (part.part.empty() ? "" : ":") + part.part);
}

/// A weight of one tensor for each index of its first axis.
void Declarer::addEach(const Twine &symbol, ArrayRef<uint64_t> shape, Role role, ArrayRef<std::string> tensors) {
  SmallVector<int64_t> files, offsets;
  std::optional<TensorType> type;
  for (const std::string &name : tensors) {
    const CheckpointTensor *entry = find(name);
    if (!entry)
      return;
    if (type && *type != entry->type) {
      message = ("tensor " + name + " is " + tensorTypeName(entry->type) + ", expects " + tensorTypeName(*type) +
                 " as in " + tensors.front())
                    .str();
      return;
    }
    type = entry->type;
    files.push_back(fileNumbers.at(entry->fileIndex));
    offsets.push_back(offsetOf(*entry, 0));
  }
  // The tensors differ in their number only.
  std::string name = tensors.front();
  constexpr StringRef kFirstExpert = ".experts.0.";
  if (size_t place = name.find(kFirstExpert); tensors.size() > 1 && place != std::string::npos)
    name.replace(place, kFirstExpert.size(), ".experts.{}.");
  create(symbol, shape, role, *type, files, offsets, name);
}

void Declarer::addAttention() {
  uint64_t hidden = config.hiddenSize, head = config.headDim;
  uint64_t queries = config.numHeads * head, keys = config.numKvHeads * head;
  std::string from = source + "self_attn.";
  if (config.hasOutputGate) {
    // Each head has its query rows, then its gate rows.
    add(target + "q", {queries, hidden}, Role::attention_q,
        {from + "q_proj.weight", "query", {0, 2 * head, config.numHeads}});
    add(target + "attention_gate", {queries, hidden}, Role::attention_gate,
        {from + "q_proj.weight", "gate", {head, 2 * head, config.numHeads}});
  } else {
    add(target + "q", {queries, hidden}, Role::attention_q, {from + "q_proj.weight"});
  }
  add(target + "k", {keys, hidden}, Role::attention_k, {from + "k_proj.weight"});
  add(target + "v", {keys, hidden}, Role::attention_v, {from + "v_proj.weight"});
  if (config.hasQkvBias) {
    add(target + "q_bias", {queries}, Role::bias, {from + "q_proj.bias"});
    add(target + "k_bias", {keys}, Role::bias, {from + "k_proj.bias"});
    add(target + "v_bias", {keys}, Role::bias, {from + "v_proj.bias"});
  }
  if (config.headNorm != HeadNorm::None) {
    bool isHead = config.headNorm == HeadNorm::Head;
    add(target + "q_norm", {isHead ? head : queries}, Role::norm, {from + "q_norm.weight"});
    add(target + "k_norm", {isHead ? head : keys}, Role::norm, {from + "k_norm.weight"});
  }
  add(target + "o", {hidden, queries}, Role::attention_o, {from + "o_proj.weight"});
  if (config.hasOutputBias)
    add(target + "o_bias", {hidden}, Role::bias, {from + "o_proj.bias"});
}

void Declarer::addDelta() {
  const DeltaConfig &delta = config.delta;
  uint64_t hidden = config.hiddenSize, values = delta.numValueHeads, heads = delta.numKeyHeads;
  uint64_t keyRows = heads * delta.keyDim, valueRows = values * delta.valueDim;
  std::string from = source + "linear_attn.", to = target + "delta.";
  auto matrix = [&](StringRef symbol, uint64_t rows, Role role, StringRef tensor, StringRef part, RowPieces pieces) {
    add(to + symbol, {rows, hidden}, role, {from + tensor.str() + ".weight", part, pieces});
  };
  if (config.spelling.isInterleaved) {
    // Each key head has its rows of q, k, v and z, and of b and a.
    uint64_t perHead = values / heads, wide = perHead * delta.valueDim, stride = 2 * delta.keyDim + 2 * wide;
    matrix("q", keyRows, Role::delta_q, "in_proj_qkvz", "q", {0, stride, heads});
    matrix("k", keyRows, Role::delta_k, "in_proj_qkvz", "k", {delta.keyDim, stride, heads});
    matrix("v", valueRows, Role::delta_v, "in_proj_qkvz", "v", {2 * delta.keyDim, stride, heads});
    matrix("gate", valueRows, Role::delta_gate, "in_proj_qkvz", "z", {2 * delta.keyDim + wide, stride, heads});
    matrix("a", values, Role::recurrent_decay, "in_proj_ba", "a", {perHead, 2 * perHead, heads});
    matrix("b", values, Role::recurrent_beta, "in_proj_ba", "b", {0, 2 * perHead, heads});
  } else {
    matrix("q", keyRows, Role::delta_q, "in_proj_qkv", "q", {});
    matrix("k", keyRows, Role::delta_k, "in_proj_qkv", "k", {keyRows});
    matrix("v", valueRows, Role::delta_v, "in_proj_qkv", "v", {2 * keyRows});
    matrix("gate", valueRows, Role::delta_gate, "in_proj_z", "", {});
    matrix("a", values, Role::recurrent_decay, "in_proj_a", "", {});
    matrix("b", values, Role::recurrent_beta, "in_proj_b", "", {});
  }
  std::string convolution = from + "conv1d.weight";
  add(to + "conv_q", {keyRows, delta.kernel}, Role::recurrent_conv, {convolution, "q"});
  add(to + "conv_k", {keyRows, delta.kernel}, Role::recurrent_conv, {convolution, "k", {keyRows}});
  add(to + "conv_v", {valueRows, delta.kernel}, Role::recurrent_conv, {convolution, "v", {2 * keyRows}});
  add(to + "a_log", {values}, Role::recurrent, {from + "A_log"});
  add(to + "dt_bias", {values}, Role::recurrent, {from + "dt_bias"});
  add(to + "norm", {delta.valueDim}, Role::norm, {from + "norm.weight"});
  add(to + "out", {hidden, valueRows}, Role::delta_out, {from + "out_proj.weight"});
}

/// gate, up and down of a dense network; `roles` in this order.
void Declarer::addNetwork(StringRef symbols, const std::string &tensors, uint64_t width, ArrayRef<Role> roles) {
  uint64_t hidden = config.hiddenSize;
  add(target + symbols + "gate", {width, hidden}, roles[0], {tensors + "gate_proj.weight"});
  add(target + symbols + "up", {width, hidden}, roles[1], {tensors + "up_proj.weight"});
  add(target + symbols + "down", {hidden, width}, roles[2], {tensors + "down_proj.weight"});
}

void Declarer::addExperts() {
  uint64_t hidden = config.hiddenSize, experts = config.numExperts, width = config.moeIntermediateSize;
  std::string from = source + "mlp.", base = from + "experts.";
  add(target + "router", {experts, hidden}, Role::router, {from + "gate.weight"});
  if (config.spelling.isFusedExperts) {
    // Each expert has its gate rows, then its up rows.
    std::string both = base + "gate_up_proj";
    add(target + "experts.gate", {experts, width, hidden}, Role::expert_gate,
        {both, "{}.gate", {0, 2 * width, experts}});
    add(target + "experts.up", {experts, width, hidden}, Role::expert_up, {both, "{}.up", {width, 2 * width, experts}});
    add(target + "experts.down", {experts, hidden, width}, Role::expert_down,
        {base + "down_proj", "{}", {0, hidden, experts}});
  } else {
    auto each = [&](StringRef name) {
      std::vector<std::string> tensors;
      for (uint64_t expert = 0; expert < experts; ++expert)
        tensors.push_back((base + Twine(expert) + "." + name + "_proj.weight").str());
      return tensors;
    };
    addEach(target + "experts.gate", {experts, width, hidden}, Role::expert_gate, each("gate"));
    addEach(target + "experts.up", {experts, width, hidden}, Role::expert_up, each("up"));
    addEach(target + "experts.down", {experts, hidden, width}, Role::expert_down, each("down"));
  }
  if (!config.sharedIntermediateSize)
    return;
  addNetwork("shared.", from + "shared_expert.", config.sharedIntermediateSize,
             {Role::shared_gate, Role::shared_up, Role::shared_down});
  add(target + "shared.router", {1, hidden}, Role::shared_router, {from + "shared_expert_gate.weight"});
}

void Declarer::addLayer() {
  const LayerConfig &kind = config.layers[layer];
  target = "layers." + std::to_string(layer) + ".";
  source = config.spelling.prefix + target;
  add(target + "attention_norm", {config.hiddenSize}, Role::norm, {source + "input_layernorm.weight"});
  if (kind.mixer == MixerKind::Attention)
    addAttention();
  else
    addDelta();
  add(target + "ffn_norm", {config.hiddenSize}, Role::norm, {source + "post_attention_layernorm.weight"});
  if (kind.hasExperts)
    addExperts();
  else
    addNetwork("ffn.", source + "mlp.", config.ffnSize, {Role::ffn_gate, Role::ffn_up, Role::ffn_down});
}

void Declarer::declareAll() {
  uint64_t hidden = config.hiddenSize, vocab = config.vocabSize;
  add("embed", {vocab, hidden}, Role::embedding, {embeddingName(config)});
  for (layer = 0; layer < static_cast<int64_t>(config.numLayers) && !message; ++layer)
    addLayer();
  layer = -1;
  add("output_norm", {hidden}, Role::norm, {config.spelling.prefix + "norm.weight"});
  add("output_head", {vocab, hidden}, Role::head,
      {config.tieWordEmbeddings ? embeddingName(config) : "lm_head.weight"});
}

llvm::Expected<WeightMap> declareWeights(OpBuilder &builder, const Checkpoint &checkpoint,
                                         const std::map<uint32_t, int64_t> &fileNumbers) {
  Declarer declarer(builder, checkpoint, fileNumbers);
  declarer.declareAll();
  if (declarer.message)
    return fault(*declarer.message);
  return std::move(declarer.weights);
}

} // namespace moec
