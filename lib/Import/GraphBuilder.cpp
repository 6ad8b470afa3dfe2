// SPDX-License-Identifier: Apache-2.0
/// \file
/// Builds the L1 module of a qwen3_moe checkpoint: attributes, weights, then the three entry points.
#include "lib/Import/GraphBuilder.h"

#include "dialects/moe/MoeDialect.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace moec {
namespace {

/// Positions in one block of a KV cache; capacities are multiples.
constexpr uint64_t kKvBlockPositions = 64;

class GraphBuilder {
public:
  GraphBuilder(MLIRContext &context, const Checkpoint &checkpoint, const GraphOptions &options)
      : builder(&context), loc(builder.getUnknownLoc()), checkpoint(checkpoint), config(checkpoint.config()),
        options(options), module(ModuleOp::create(loc)) {
    builder.setInsertionPointToEnd(module->getBody());
  }

  llvm::Expected<OwningOpRef<ModuleOp>> build();

private:
  // Module attributes.
  llvm::Error setSizes();
  llvm::Error setFiles();
  void setModel();
  void setGeneration();
  llvm::Expected<DictionaryAttr> describeFile(uint32_t index);
  NamedAttribute number(StringRef key, uint64_t value) {
    return builder.getNamedAttr(key, builder.getI64IntegerAttr(static_cast<int64_t>(value)));
  }

  // Weights.
  llvm::Error addWeights();
  llvm::Error addLayerWeights(uint64_t layer);
  llvm::Error addWeight(StringRef symbol, ArrayRef<int64_t> shape, moe::Role role, int64_t layer,
                        ArrayRef<std::string> tensors);

  // Functions.
  void addStep(StringRef name, int64_t numTokens);
  void addHead();
  func::FuncOp startFunction(StringRef name, ArrayRef<Type> inputs, ArrayRef<Type> results);
  Value layer(uint64_t index, Value x, Value position, Value &cache);
  Value attention(uint64_t index, Value x, Value position, Value &cache);
  Value experts(uint64_t index, Value x);
  Value param(const Twine &symbol);
  Value norm(Value x, const Twine &symbol);
  Value linear(Value x, const Twine &symbol);
  RankedTensorType activation(Value like, int64_t columns) {
    return tensor({cast<RankedTensorType>(like.getType()).getDimSize(0), columns});
  }
  RankedTensorType tensor(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, builder.getF32Type()); }
  moe::CacheType cacheType() {
    return moe::CacheType::get(builder.getContext(), config.numKvHeads, config.headDim, config.headDim,
                               static_cast<int64_t>(capacity), builder.getF32Type(), static_cast<int64_t>(window),
                               static_cast<int64_t>(options.sinks));
  }

  OpBuilder builder;
  Location loc;
  const Checkpoint &checkpoint;
  const Qwen3MoeConfig &config;
  const GraphOptions &options;
  OwningOpRef<ModuleOp> module;
  uint64_t capacity = 0, chunk = 0, window = 0;
  std::map<uint32_t, int64_t> fileNumbers; // checkpoint file -> index in moe.files
  std::map<std::string, moe::WeightOp> weights;
};

} // namespace

//===-- Module attributes -----------------------------------------------------------------------------------------===//

llvm::Error GraphBuilder::setSizes() {
  uint64_t limit = config.maxPositionEmbeddings;
  uint64_t wanted = options.context ? options.context : limit;
  if (wanted > limit)
    return fault("expects a context of 1 to " + llvm::Twine(limit) + " positions (max_position_embeddings), but got " +
                 llvm::Twine(wanted));
  if (options.maxChunk == 0)
    return fault("expects a chunk of at least 1 token, but got 0");
  std::optional<uint64_t> rounded = checkedAlignUp(wanted, kKvBlockPositions);
  if (!rounded)
    return fault("expects a context below 2^63, but got " + llvm::Twine(wanted));
  capacity = *rounded;
  if (options.window > wanted)
    return fault("expects a window of 1 to " + llvm::Twine(wanted) + " positions (the context; --window), but got " +
                 llvm::Twine(options.window));
  if (options.window && options.sinks >= wanted)
    return fault("expects fewer sinks than the context has positions, which are " + llvm::Twine(wanted) +
                 " (--sinks), but got " + llvm::Twine(options.sinks));
  window = options.window ? options.window : config.slidingWindow < wanted ? config.slidingWindow : 0;
  chunk = std::min(options.maxChunk, wanted);
  (*module)->setAttr("moe.context", builder.getI64IntegerAttr(static_cast<int64_t>(wanted)));
  (*module)->setAttr("moe.chunk", builder.getI64IntegerAttr(static_cast<int64_t>(chunk)));
  (*module)->setAttr("moe.window", builder.getI64IntegerAttr(static_cast<int64_t>(window)));
  (*module)->setAttr("moe.sinks", builder.getI64IntegerAttr(static_cast<int64_t>(options.sinks)));
  return llvm::Error::success();
}

llvm::Expected<DictionaryAttr> GraphBuilder::describeFile(uint32_t index) {
  const CheckpointFile &file = checkpoint.files()[index];
  llvm::Expected<Digest128> digest = checkpoint.fileHash(index);
  if (!digest)
    return digest.takeError();
  SmallVector<NamedAttribute> entries = {builder.getNamedAttr("path", builder.getStringAttr(file.path)),
                                         number("size", file.sizeBytes),
                                         builder.getNamedAttr("hash", builder.getStringAttr(digest->toHex()))};
  if (!file.kind.empty())
    entries.push_back(builder.getNamedAttr("kind", builder.getStringAttr(file.kind)));
  return builder.getDictionaryAttr(entries);
}

llvm::Error GraphBuilder::setFiles() {
  for (const CheckpointTensor &entry : checkpoint.tensors())
    fileNumbers[entry.fileIndex];
  SmallVector<Attribute> files;
  for (auto &[index, position] : fileNumbers) {
    position = static_cast<int64_t>(files.size());
    llvm::Expected<DictionaryAttr> file = describeFile(index);
    if (!file)
      return file.takeError();
    files.push_back(*file);
  }
  (*module)->setAttr("moe.files", builder.getArrayAttr(files));
  for (auto [index, file] : llvm::enumerate(checkpoint.files())) {
    if (file.name != "tokenizer.json")
      continue;
    llvm::Expected<DictionaryAttr> tokenizer = describeFile(static_cast<uint32_t>(index));
    if (!tokenizer)
      return tokenizer.takeError();
    (*module)->setAttr("moe.tokenizer", *tokenizer);
  }
  return llvm::Error::success();
}

void GraphBuilder::setModel() {
  StringRef folder = StringRef(checkpoint.folder()).rtrim('/');
  StringRef name = options.name.empty() ? llvm::sys::path::filename(folder) : StringRef(options.name);
  (*module)->setAttr("moe.model", builder.getDictionaryAttr({
                                      builder.getNamedAttr("architecture", builder.getStringAttr("qwen3_moe")),
                                      builder.getNamedAttr("name", builder.getStringAttr(name)),
                                      number("vocab_size", config.vocabSize),
                                      number("hidden_size", config.hiddenSize),
                                      number("num_layers", config.numLayers),
                                      number("num_heads", config.numHeads),
                                      number("num_kv_heads", config.numKvHeads),
                                      number("head_dim", config.headDim),
                                      number("num_experts", config.numExperts),
                                      number("top_k", config.topK),
                                      number("expert_size", config.moeIntermediateSize),
                                  }));
}

void GraphBuilder::setGeneration() {
  const GenerationConfig &generation = checkpoint.generation();
  SmallVector<int64_t> stopIds(generation.eosIds.begin(), generation.eosIds.end());
  (*module)->setAttr("moe.generation",
                     builder.getDictionaryAttr({
                         builder.getNamedAttr("temperature", builder.getF64FloatAttr(generation.temperature)),
                         number("top_k", generation.topK),
                         builder.getNamedAttr("top_p", builder.getF64FloatAttr(generation.topP)),
                         builder.getNamedAttr("stop_ids", builder.getDenseI64ArrayAttr(stopIds)),
                     }));
}

//===-- Weights ---------------------------------------------------------------------------------------------------===//

llvm::Error GraphBuilder::addWeight(StringRef symbol, ArrayRef<int64_t> shape, moe::Role role, int64_t layer,
                                    ArrayRef<std::string> tensors) {
  SmallVector<int64_t> files, offsets;
  std::optional<TensorType> type;
  for (const std::string &name : tensors) {
    const CheckpointTensor *entry = checkpoint.find(name);
    if (!entry)
      return fault("the checkpoint has no tensor " + name);
    if (type && *type != entry->type)
      return fault("tensor " + name + " is " + tensorTypeName(entry->type) + ", expects " + tensorTypeName(*type) +
                   " as in " + tensors.front());
    type = entry->type;
    files.push_back(fileNumbers[entry->fileIndex]);
    offsets.push_back(static_cast<int64_t>(entry->offsetBytes));
  }
  // The experts' tensors differ in their number only.
  std::string name = tensors.front();
  constexpr StringRef kFirstExpert = ".experts.0.";
  if (size_t place = name.find(kFirstExpert); tensors.size() > 1 && place != std::string::npos)
    name.replace(place, kFirstExpert.size(), ".experts.{}.");
  auto source = moe::SourceAttr::get(builder.getContext(), builder.getStringAttr(tensorTypeName(*type).lower()), files,
                                     offsets, builder.getStringAttr(name));
  weights[symbol.str()] =
      moe::WeightOp::create(builder, loc, builder.getStringAttr(symbol), TypeAttr::get(tensor(shape)),
                            moe::RoleAttr::get(builder.getContext(), role), builder.getI64IntegerAttr(layer), source,
                            moe::RecipeAttr(), Attribute());
  return llvm::Error::success();
}

llvm::Error GraphBuilder::addLayerWeights(uint64_t layer) {
  int64_t hidden = config.hiddenSize, queries = config.numHeads * config.headDim;
  int64_t keys = config.numKvHeads * config.headDim, head = config.headDim;
  int64_t experts = config.numExperts, inner = config.moeIntermediateSize;
  std::string source = "model.layers." + std::to_string(layer) + ".";
  std::string target = "layers." + std::to_string(layer) + ".";
  struct Row {
    const char *symbol, *tensor;
    SmallVector<int64_t, 2> shape;
    moe::Role role;
  };
  const Row rows[] = {{"attention_norm", "input_layernorm", {hidden}, moe::Role::norm},
                      {"q", "self_attn.q_proj", {queries, hidden}, moe::Role::attention_q},
                      {"k", "self_attn.k_proj", {keys, hidden}, moe::Role::attention_k},
                      {"v", "self_attn.v_proj", {keys, hidden}, moe::Role::attention_v},
                      {"q_norm", "self_attn.q_norm", {head}, moe::Role::norm},
                      {"k_norm", "self_attn.k_norm", {head}, moe::Role::norm},
                      {"o", "self_attn.o_proj", {hidden, queries}, moe::Role::attention_o},
                      {"ffn_norm", "post_attention_layernorm", {hidden}, moe::Role::norm},
                      {"router", "mlp.gate", {experts, hidden}, moe::Role::router}};
  for (const Row &row : rows)
    if (llvm::Error error =
            addWeight(target + row.symbol, row.shape, row.role, layer, {source + row.tensor + ".weight"}))
      return error;
  const Row matrices[] = {{"gate", "gate_proj", {inner, hidden}, moe::Role::expert_gate},
                          {"up", "up_proj", {inner, hidden}, moe::Role::expert_up},
                          {"down", "down_proj", {hidden, inner}, moe::Role::expert_down}};
  for (const Row &row : matrices) {
    std::vector<std::string> pieces;
    for (int64_t e = 0; e < experts; ++e)
      pieces.push_back(source + "mlp.experts." + std::to_string(e) + "." + row.tensor + ".weight");
    if (llvm::Error error =
            addWeight(target + "experts." + row.symbol, {experts, row.shape[0], row.shape[1]}, row.role, layer, pieces))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error GraphBuilder::addWeights() {
  int64_t hidden = config.hiddenSize, vocab = config.vocabSize;
  std::string embedding = "model.embed_tokens.weight";
  if (llvm::Error error = addWeight("embed", {vocab, hidden}, moe::Role::embedding, -1, {embedding}))
    return error;
  for (uint64_t layer = 0; layer < config.numLayers; ++layer)
    if (llvm::Error error = addLayerWeights(layer))
      return error;
  if (llvm::Error error = addWeight("output_norm", {hidden}, moe::Role::norm, -1, {"model.norm.weight"}))
    return error;
  return addWeight("output_head", {vocab, hidden}, moe::Role::head, -1,
                   {config.tieWordEmbeddings ? embedding : "lm_head.weight"});
}

//===-- Functions -------------------------------------------------------------------------------------------------===//

Value GraphBuilder::param(const Twine &symbol) {
  moe::WeightOp weight = weights.at(symbol.str());
  return moe::ParamOp::create(builder, loc, weight.getTensorType(), FlatSymbolRefAttr::get(weight));
}

Value GraphBuilder::norm(Value x, const Twine &symbol) {
  return moe::RmsNormOp::create(builder, loc, x.getType(), x, param(symbol),
                                builder.getF32FloatAttr(static_cast<float>(config.rmsNormEps)), UnitAttr());
}

Value GraphBuilder::linear(Value x, const Twine &symbol) {
  Value w = param(symbol);
  return moe::LinearOp::create(builder, loc, activation(x, cast<RankedTensorType>(w.getType()).getDimSize(0)), x, w,
                               /*bias=*/Value(), /*residual=*/Value());
}

Value GraphBuilder::attention(uint64_t index, Value x, Value position, Value &cache) {
  std::string prefix = "layers." + std::to_string(index) + ".";
  int64_t head = config.headDim;
  auto rope = [&](Value heads) -> Value {
    return moe::RopeOp::create(builder, loc, heads.getType(), heads, position, builder.getI64IntegerAttr(head),
                               builder.getI64IntegerAttr(head), builder.getF64FloatAttr(config.ropeTheta),
                               moe::RopeStyleAttr::get(builder.getContext(), moe::RopeStyle::half),
                               moe::RopeScalingAttr());
  };
  Value q = linear(x, prefix + "q"), k = linear(x, prefix + "k"), v = linear(x, prefix + "v");
  q = rope(norm(q, prefix + "q_norm"));
  k = rope(norm(k, prefix + "k_norm"));
  Value appended = moe::CacheAppendOp::create(builder, loc, cache.getType(), cache, k, v, position);
  float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head)));
  auto attended = moe::AttentionOp::create(builder, loc, q.getType(), cache.getType(), q, appended, position,
                                           builder.getI64IntegerAttr(config.numHeads), builder.getF32FloatAttr(scale));
  cache = attended.getUpdated();
  return linear(attended.getO(), prefix + "o");
}

Value GraphBuilder::experts(uint64_t index, Value x) {
  std::string prefix = "layers." + std::to_string(index) + ".";
  Value logits = linear(x, prefix + "router");
  auto weightsType = activation(x, config.topK);
  auto route = moe::RouteOp::create(
      builder, loc, weightsType, RankedTensorType::get(weightsType.getShape(), builder.getI32Type()), logits,
      builder.getI64IntegerAttr(config.topK), moe::ScoreAttr::get(builder.getContext(), moe::Score::softmax),
      config.normTopkProb ? builder.getUnitAttr() : UnitAttr(), builder.getF32FloatAttr(0.0f),
      builder.getF32FloatAttr(1.0f));
  Value gate = param(prefix + "experts.gate"), up = param(prefix + "experts.up");
  Value down = param(prefix + "experts.down");
  return moe::ExpertsOp::create(builder, loc, x.getType(), x, route.getWeights(), route.getIds(), gate, up, down,
                                /*x_up=*/Value(), /*residual=*/Value(),
                                moe::GluKindAttr::get(builder.getContext(), moe::GluKind::swiglu));
}

Value GraphBuilder::layer(uint64_t index, Value x, Value position, Value &cache) {
  std::string prefix = "layers." + std::to_string(index) + ".";
  x = arith::AddFOp::create(builder, loc, x, attention(index, norm(x, prefix + "attention_norm"), position, cache));
  return arith::AddFOp::create(builder, loc, x, experts(index, norm(x, prefix + "ffn_norm")));
}

func::FuncOp GraphBuilder::startFunction(StringRef name, ArrayRef<Type> inputs, ArrayRef<Type> results) {
  builder.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(inputs, results));
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

/// @prefill and @decode: the same graph over a chunk or one token.
void GraphBuilder::addStep(StringRef name, int64_t numTokens) {
  auto hidden = tensor({numTokens, static_cast<int64_t>(config.hiddenSize)});
  SmallVector<Type> inputs = {RankedTensorType::get({numTokens}, builder.getI32Type()), builder.getIndexType()};
  SmallVector<Type> results = {hidden};
  inputs.append(config.numLayers, cacheType());
  results.append(config.numLayers, cacheType());
  func::FuncOp function = startFunction(name, inputs, results);
  Value x = moe::EmbedOp::create(builder, loc, hidden, function.getArgument(0), param("embed"));
  SmallVector<Value> outputs = {x};
  for (uint64_t index = 0; index < config.numLayers; ++index) {
    Value cache = function.getArgument(2 + index);
    outputs.front() = layer(index, outputs.front(), function.getArgument(1), cache);
    outputs.push_back(cache);
  }
  func::ReturnOp::create(builder, loc, outputs);
}

void GraphBuilder::addHead() {
  int64_t rows = ShapedType::kDynamic;
  auto hidden = tensor({rows, static_cast<int64_t>(config.hiddenSize)});
  func::FuncOp function = startFunction("head", {hidden}, {tensor({rows, static_cast<int64_t>(config.vocabSize)})});
  func::ReturnOp::create(builder, loc, linear(norm(function.getArgument(0), "output_norm"), "output_head"));
}

llvm::Expected<OwningOpRef<ModuleOp>> GraphBuilder::build() {
  if (llvm::Error error = setSizes())
    return error;
  if (llvm::Error error = setFiles())
    return error;
  setModel();
  setGeneration();
  if (llvm::Error error = addWeights())
    return error;
  addStep("prefill", ShapedType::kDynamic);
  addStep("decode", 1);
  addHead();
  if (failed(verify(*module)))
    return fault("the imported module does not pass its verifier");
  return std::move(module);
}

llvm::Expected<OwningOpRef<ModuleOp>> buildQwen3MoeModule(MLIRContext &context, const Checkpoint &checkpoint,
                                                          const GraphOptions &options) {
  context.loadDialect<moe::MoeDialect, arith::ArithDialect, func::FuncDialect>();
  return GraphBuilder(context, checkpoint, options).build();
}

} // namespace moec
