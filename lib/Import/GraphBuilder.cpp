// SPDX-License-Identifier: Apache-2.0
/// \file
/// Builds the L1 module of a checkpoint: attributes, weights, then the three entry points.
#include "lib/Import/GraphBuilder.h"

#include "dialects/moe/MoeDialect.h"
#include "lib/Import/WeightDeclarations.h"
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

  // Functions.
  void addStep(StringRef name, int64_t numTokens);
  void addHead();
  func::FuncOp startFunction(StringRef name, ArrayRef<Type> inputs, ArrayRef<Type> results);
  Value layer(uint64_t index, Value x, Value position, MutableArrayRef<Value> states);
  Value attention(Value x, Value position, Value &cache);
  Value delta(Value x, MutableArrayRef<Value> states);
  Value network(Value x, const Twine &symbols);
  Value experts(Value x);
  Value param(const Twine &symbol);
  Value norm(Value x, const Twine &symbol);
  Value linear(Value x, const Twine &symbol, Value bias = Value());
  Value add(Value x, Value y) { return arith::AddFOp::create(builder, loc, x, y); }
  Value gate(Value x, Value gate) {
    return moe::GateOp::create(builder, loc, x.getType(), x, gate, /*residual=*/Value(),
                               activationKind(moe::ActivationKind::sigmoid));
  }
  moe::ActivationKindAttr activationKind(moe::ActivationKind kind) {
    return moe::ActivationKindAttr::get(builder.getContext(), kind);
  }
  FloatAttr real(double value) { return builder.getF32FloatAttr(static_cast<float>(value)); }
  moe::RopeScalingAttr ropeScaling();
  /// What layer `index` keeps from token to token.
  SmallVector<Type> stateTypes(uint64_t index);
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
  const ModelConfig &config;
  const GraphOptions &options;
  OwningOpRef<ModuleOp> module;
  uint64_t capacity = 0, chunk = 0, window = 0;
  std::map<uint32_t, int64_t> fileNumbers; // checkpoint file -> index in moe.files
  WeightMap weights;
  std::string prefix; // of the symbols of the layer that is being built
};

} // namespace

uint64_t defaultChunk(const ModelConfig &config) {
  constexpr uint64_t kSmallest = 64, kLargest = 2048;
  constexpr double kWeightsPerByte = 128;
  // Estimates in floating point: sizes of a config may be of any magnitude.
  const double hidden = static_cast<double>(config.hiddenSize);
  const double routed = 3.0 * static_cast<double>(config.numLayers) * static_cast<double>(config.numExperts) *
                        static_cast<double>(config.moeIntermediateSize) * hidden;
  const double rowBytes = static_cast<double>(config.topK) * hidden * sizeof(float);
  uint64_t chunk = kSmallest;
  while (routed > 0 && chunk < kLargest && 2.0 * static_cast<double>(chunk) * rowBytes * kWeightsPerByte <= routed)
    chunk *= 2;
  return chunk;
}

//===-- Module attributes -----------------------------------------------------------------------------------------===//

llvm::Error GraphBuilder::setSizes() {
  uint64_t limit = config.maxPositionEmbeddings;
  uint64_t wanted = options.context ? options.context : limit;
  if (wanted > limit)
    return fault("expects a context of 1 to " + llvm::Twine(limit) + " positions (max_position_embeddings), but got " +
                 llvm::Twine(wanted));
  uint64_t most = options.maxChunk ? *options.maxChunk : defaultChunk(config);
  if (most == 0)
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
  chunk = std::min(most, wanted);
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
                                      builder.getNamedAttr("architecture", builder.getStringAttr(config.architecture)),
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

//===-- Functions -------------------------------------------------------------------------------------------------===//

Value GraphBuilder::param(const Twine &symbol) {
  moe::WeightOp weight = weights.at(symbol.str());
  return moe::ParamOp::create(builder, loc, weight.getTensorType(), FlatSymbolRefAttr::get(weight));
}

Value GraphBuilder::norm(Value x, const Twine &symbol) {
  return moe::RmsNormOp::create(builder, loc, x.getType(), x, param(symbol), real(config.rmsNormEps),
                                config.isZeroCentred ? builder.getUnitAttr() : UnitAttr());
}

Value GraphBuilder::linear(Value x, const Twine &symbol, Value bias) {
  Value w = param(symbol);
  return moe::LinearOp::create(builder, loc, activation(x, cast<RankedTensorType>(w.getType()).getDimSize(0)), x, w,
                               bias, /*residual=*/Value());
}

moe::RopeScalingAttr GraphBuilder::ropeScaling() {
  const RopeConfig &rope = config.rope;
  if (rope.kind == RopeKind::Plain)
    return {};
  bool isLlama = rope.kind == RopeKind::Llama3;
  return moe::RopeScalingAttr::get(
      builder.getContext(), isLlama ? moe::RopeScalingKind::llama3 : moe::RopeScalingKind::linear,
      builder.getF64FloatAttr(rope.factor), isLlama ? builder.getF64FloatAttr(rope.lowFactor) : FloatAttr(),
      isLlama ? builder.getF64FloatAttr(rope.highFactor) : FloatAttr(), static_cast<int64_t>(rope.originalPositions));
}

Value GraphBuilder::attention(Value x, Value position, Value &cache) {
  int64_t head = config.headDim;
  auto rope = [&](Value heads) -> Value {
    return moe::RopeOp::create(builder, loc, heads.getType(), heads, position, builder.getI64IntegerAttr(head),
                               builder.getI64IntegerAttr(static_cast<int64_t>(config.rope.dim)),
                               builder.getF64FloatAttr(config.rope.theta),
                               moe::RopeStyleAttr::get(builder.getContext(), moe::RopeStyle::half), ropeScaling());
  };
  auto biased = [&](StringRef name, bool hasBias) {
    return linear(x, prefix + name, hasBias ? param(prefix + name + "_bias") : Value());
  };
  Value q = biased("q", config.hasQkvBias), k = biased("k", config.hasQkvBias), v = biased("v", config.hasQkvBias);
  Value outputGate = config.hasOutputGate ? linear(x, prefix + "attention_gate") : Value();
  bool hasNorms = config.headNorm != HeadNorm::None;
  q = rope(hasNorms ? norm(q, prefix + "q_norm") : q);
  k = rope(hasNorms ? norm(k, prefix + "k_norm") : k);
  Value appended = moe::CacheAppendOp::create(builder, loc, cache.getType(), cache, k, v, position);
  auto attended = moe::AttentionOp::create(builder, loc, q.getType(), cache.getType(), q, appended, position,
                                           builder.getI64IntegerAttr(config.numHeads),
                                           real(1.0 / std::sqrt(static_cast<double>(head))));
  cache = attended.getUpdated();
  Value o = attended.getO();
  if (outputGate)
    o = gate(o, outputGate);
  return linear(o, prefix + "o", config.hasOutputBias ? param(prefix + "o_bias") : Value());
}

/// A layer of Gated DeltaNet; `states` are those of the three convolutions, then of the delta rule.
Value GraphBuilder::delta(Value x, MutableArrayRef<Value> states) {
  constexpr double kL2Eps = 1e-6;
  const DeltaConfig &sizes = config.delta;
  std::string base = prefix + "delta.";
  auto silu = activationKind(moe::ActivationKind::silu), sigmoid = activationKind(moe::ActivationKind::sigmoid);
  Value mixed[3];
  for (auto [index, name] : llvm::enumerate(ArrayRef<StringRef>{"q", "k", "v"})) {
    Value projected = linear(x, base + name.str());
    auto convolution = moe::CausalConv1dOp::create(builder, loc, projected.getType(), states[index].getType(),
                                                   projected, param(base + "conv_" + name.str()), states[index], silu);
    mixed[index] = convolution.getY();
    states[index] = convolution.getUpdated();
  }
  Value z = linear(x, base + "gate"), a = linear(x, base + "a"), b = linear(x, base + "b");
  for (Value &keys : MutableArrayRef(mixed).take_front(2))
    keys = moe::L2NormOp::create(builder, loc, keys.getType(), keys,
                                 builder.getI64IntegerAttr(static_cast<int64_t>(sizes.keyDim)), real(kL2Eps));
  Value g = moe::DecayOp::create(builder, loc, a.getType(), a, param(base + "a_log"), param(base + "dt_bias"));
  Value beta = moe::ActivationOp::create(builder, loc, b.getType(), b, sigmoid);
  auto rule =
      moe::DeltaRuleOp::create(builder, loc, mixed[2].getType(), states[3].getType(), mixed[0], mixed[1], mixed[2], g,
                               beta, states[3], real(1.0 / std::sqrt(static_cast<double>(sizes.keyDim))),
                               moe::HeadMapAttr::get(builder.getContext(), moe::HeadMap::grouped));
  states[3] = rule.getUpdated();
  Value y = moe::GatedNormOp::create(builder, loc, z.getType(), rule.getO(), z, param(base + "norm"),
                                     real(config.rmsNormEps), sizes.isSigmoidGate ? sigmoid : silu);
  return linear(y, base + "out");
}

/// A dense feed-forward network.
Value GraphBuilder::network(Value x, const Twine &symbols) {
  std::string base = symbols.str();
  Value gated = linear(x, base + "gate"), up = linear(x, base + "up");
  Value hidden = moe::GluOp::create(builder, loc, up.getType(), gated, up,
                                    moe::GluKindAttr::get(builder.getContext(), moe::GluKind::swiglu));
  return linear(hidden, base + "down");
}

Value GraphBuilder::experts(Value x) {
  Value logits = linear(x, prefix + "router");
  auto weightsType = activation(x, config.topK);
  auto route = moe::RouteOp::create(
      builder, loc, weightsType, RankedTensorType::get(weightsType.getShape(), builder.getI32Type()), logits,
      builder.getI64IntegerAttr(config.topK), moe::ScoreAttr::get(builder.getContext(), moe::Score::softmax),
      config.normTopkProb ? builder.getUnitAttr() : UnitAttr(), real(0), real(1));
  Value gate = param(prefix + "experts.gate"), up = param(prefix + "experts.up");
  Value down = param(prefix + "experts.down");
  return moe::ExpertsOp::create(builder, loc, x.getType(), x, route.getWeights(), route.getIds(), gate, up, down,
                                /*x_up=*/Value(), /*residual=*/Value(),
                                moe::GluKindAttr::get(builder.getContext(), moe::GluKind::swiglu));
}

Value GraphBuilder::layer(uint64_t index, Value x, Value position, MutableArrayRef<Value> states) {
  prefix = "layers." + std::to_string(index) + ".";
  Value normed = norm(x, prefix + "attention_norm");
  x = add(x, config.layers[index].mixer == MixerKind::Attention ? attention(normed, position, states.front())
                                                                : delta(normed, states));
  normed = norm(x, prefix + "ffn_norm");
  if (!config.layers[index].hasExperts)
    return add(x, network(normed, prefix + "ffn."));
  x = add(x, experts(normed));
  if (!config.sharedIntermediateSize)
    return x;
  Value shared = network(normed, prefix + "shared.");
  return add(x, gate(shared, linear(normed, prefix + "shared.router")));
}

SmallVector<Type> GraphBuilder::stateTypes(uint64_t index) {
  if (config.layers[index].mixer == MixerKind::Attention)
    return {cacheType()};
  const DeltaConfig &sizes = config.delta;
  int64_t values = sizes.numValueHeads, keyDim = sizes.keyDim, valueDim = sizes.valueDim;
  int64_t keyRows = sizes.numKeyHeads * sizes.keyDim, rows = sizes.kernel - 1;
  auto state = [&](ArrayRef<int64_t> shape) -> Type {
    return moe::StateType::get(builder.getContext(), shape, builder.getF32Type());
  };
  return {state({rows, keyRows}), state({rows, keyRows}), state({rows, values * valueDim}),
          state({values, keyDim, valueDim})};
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
  SmallVector<size_t> counts;
  for (uint64_t index = 0; index < config.numLayers; ++index) {
    SmallVector<Type> states = stateTypes(index);
    inputs.append(states);
    results.append(states);
    counts.push_back(states.size());
  }
  func::FuncOp function = startFunction(name, inputs, results);
  Value x = moe::EmbedOp::create(builder, loc, hidden, function.getArgument(0), param("embed"));
  SmallVector<Value> outputs(function.getArguments().drop_front(1));
  MutableArrayRef<Value> states = MutableArrayRef(outputs).drop_front();
  for (auto [index, count] : llvm::enumerate(counts)) {
    x = layer(index, x, function.getArgument(1), states.take_front(count));
    states = states.drop_front(count);
  }
  outputs.front() = x;
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
  if (llvm::Error error = declareWeights(builder, checkpoint, fileNumbers).moveInto(weights))
    return error;
  addStep("prefill", ShapedType::kDynamic);
  addStep("decode", 1);
  addHead();
  if (failed(verify(*module)))
    return fault("the imported module does not pass its verifier");
  return std::move(module);
}

llvm::Expected<OwningOpRef<ModuleOp>> buildModelModule(MLIRContext &context, const Checkpoint &checkpoint,
                                                       const GraphOptions &options) {
  context.loadDialect<moe::MoeDialect, arith::ArithDialect, func::FuncDialect>();
  return GraphBuilder(context, checkpoint, options).build();
}

} // namespace moec
