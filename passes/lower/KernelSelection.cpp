// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the spec of a compute step to a kernel generator. Part of the lower stage.
/// Main source: dialects/rt/RtOps.td (table of `rt.compute`).
#include "passes/lower/KernelSelection.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::moe;
using rt::ComputeOp;
using rt::Kind;
using rt::Per;
using rt::TilesAttr;

namespace {

/// Typed access to the spec of a step; the verifier has checked that the keys are there.
struct Spec {
  DictionaryAttr dictionary;
  int64_t integer(StringRef key) const {
    auto value = dictionary.getAs<IntegerAttr>(key);
    return value ? value.getInt() : 0;
  }
  float real(StringRef key) const {
    auto value = dictionary.getAs<FloatAttr>(key);
    return value ? static_cast<float>(value.getValueAsDouble()) : 0.0f;
  }
  bool flag(StringRef key) const {
    auto value = dictionary.getAs<BoolAttr>(key);
    return value && value.getValue();
  }
  StringRef text(StringRef key) const {
    auto value = dictionary.getAs<StringAttr>(key);
    return value ? value.getValue() : StringRef();
  }
};

/// Of a spec with the key; kernelFor has checked that it can be parsed.
moec::Encoding encodingOf(const Spec &spec, StringRef key = "encoding") {
  return llvm::cantFail(moec::parseEncoding(spec.text(key)));
}

/// The first size of a view; 0 where it has none, which no generator takes.
int64_t rowsOf(Value value) {
  auto type = cast<MemRefType>(value.getType());
  return type.getRank() ? type.getDimSize(0) : 0;
}

moec::KvLayout kvLayoutOf(const Spec &spec, Value region) {
  moec::KvLayout kv;
  kv.kvHeads = spec.integer("kv_heads");
  kv.keyDim = spec.integer("qk_dim");
  kv.valueDim = spec.integer("v_dim");
  kv.element = llvm::StringSwitch<moec::KvElement>(spec.text("elem"))
                   .Case("f16", moec::KvElement::f16)
                   .Case("i8", moec::KvElement::i8)
                   .Case("i4", moec::KvElement::i4)
                   .Default(moec::KvElement::f32);
  kv.blockBytes = spec.integer("block_bytes");
  kv.regionBytes = rowsOf(region);
  return kv;
}

/// Both matrices of a half of an expert step; the other half only has to be of the right shape.
moec::ExpertsSpec expertsSpecOf(ComputeOp step, const Spec &spec) {
  moec::ExpertsSpec experts;
  int64_t inner = spec.integer("inner"), hidden = spec.integer("hidden");
  experts.recordBytes = rowsOf(step.getIns()[0]);
  experts.topK = spec.integer("top_k");
  experts.maxTokens = rowsOf(step.getIns()[1]) / std::max<int64_t>(experts.topK, 1);
  moec::Encoding encoding = encodingOf(spec);
  if (step.getKind() == Kind::gate_up) {
    experts.gate = {inner, hidden, encoding, spec.integer("gate_offset")};
    experts.up = {inner, hidden, encodingOf(spec, "up_encoding"), spec.integer("up_offset")};
    // Only the form of the hidden activation depends on `down`: no format with that form is larger than the record.
    int64_t downGroup = spec.integer("down_group");
    experts.down = {hidden, inner, downGroup ? moec::Encoding::i8(downGroup) : moec::Encoding::f16(), 0};
  } else {
    // Nothing depends on the other two but the shape.
    experts.gate = experts.up = {inner, hidden, hidden % 32 ? moec::Encoding::f16() : moec::Encoding::i4(32), 0};
    experts.down = {hidden, inner, encoding, spec.integer("down_offset")};
  }
  return experts;
}

/// What a step of a Gated DeltaNet layer is generated from; the sizes that are not in the spec are those of operands.
moec::DeltaSpec deltaSpecOf(ComputeOp step, const Spec &spec) {
  moec::DeltaSpec delta;
  delta.maxTokens = rowsOf(step.getIns()[0]);
  delta.keyHeads = std::max<int64_t>(spec.integer("key_heads"), 1);
  delta.valueHeads = spec.integer("value_heads");
  delta.keyDim = std::max<int64_t>(spec.integer("qk_dim"), 1);
  delta.valueDim = spec.integer("v_dim");
  delta.l2Epsilon = spec.real("l2_eps");
  delta.scale = spec.real("scale");
  delta.epsilon = spec.real("eps");
  delta.tiled = spec.text("head_map") == "tiled";
  delta.silu = spec.flag("silu");
  delta.sigmoidGate = spec.text("activation") == "sigmoid";
  delta.group = spec.integer("group");
  auto sizeOf = [](Value value) {
    ArrayRef<int64_t> shape = cast<MemRefType>(value.getType()).getShape();
    return shape.empty() ? 0 : shape.back();
  };
  delta.rateColumns = delta.logLength = delta.valueHeads; // of a norm, which has no rates
  if (step.getKind() == Kind::delta_rule || step.getKind() == Kind::delta_step) {
    delta.rateColumns = sizeOf(step.getIns()[step.getKind() == Kind::delta_rule ? 3 : 4]);
    delta.logLength = sizeOf(step.getIns()[step.getKind() == Kind::delta_rule ? 5 : 9]);
  }
  if (step.getKind() == Kind::delta_step) {
    delta.convEncoding = encodingOf(spec);
    delta.length = rowsOf(step.getOuts().drop_back().back()) + 1;
  }
  return delta;
}

LogicalResult report(ComputeOp step, llvm::Error error) {
  if (!error)
    return success();
  return step.emitOpError(llvm::toString(std::move(error)));
}

} // namespace

SmallVector<Value> KernelCache::operandsOf(ComputeOp step) {
  SmallVector<Value> operands(step.getIns());
  operands.append(step.getOuts().begin(), step.getOuts().end());
  return operands;
}

FailureOr<Kernel> KernelCache::kernelFor(ComputeOp step) {
  // The key holds everything that the code depends on: kind, constants and operand types.
  Builder builder(module.getContext());
  SmallVector<Attribute> key{step.getKindAttr(), step.getSpec(), builder.getI64IntegerAttr(step.getIns().size())};
  for (Value operand : operandsOf(step))
    key.push_back(TypeAttr::get(operand.getType()));
  Attribute full = builder.getArrayAttr(key);
  if (auto found = kernels.find(full); found != kernels.end())
    return found->second;
  for (StringRef key : {"encoding", "up_encoding"})
    if (step.getSpec().contains(key) &&
        failed(report(step, moec::parseEncoding(Spec{step.getSpec()}.text(key)).takeError())))
      return failure();
  std::string name = (stringifyKind(step.getKind()) + "_" + Twine(kernels.size())).str();
  FailureOr<TilesAttr> tiles = generate(step, name);
  if (failed(tiles) || failed(checkOperands(step, name)))
    return failure();
  Kernel kernel{SymbolRefAttr::get(module.getContext(), "kernels", {FlatSymbolRefAttr::get(module.getContext(), name)}),
                *tiles};
  kernels[full] = kernel;
  return kernel;
}

LogicalResult KernelCache::checkOperands(ComputeOp step, StringRef name) {
  // The planner makes views from the same constants; a plan that was edited may contradict itself.
  ArrayRef<Type> taken = module.lookupSymbol<func::FuncOp>(name).getFunctionType().getInputs();
  for (auto [i, operand] : llvm::enumerate(operandsOf(step)))
    if (i >= taken.size() || operand.getType() != taken[i])
      return step.emitOpError("has operand ")
             << i << " of type " << operand.getType() << ", which contradicts its spec: the kernel takes "
             << (i < taken.size() ? taken[i] : Type());
  return success();
}

FailureOr<TilesAttr> KernelCache::generate(ComputeOp step, StringRef name) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  moec::KernelContext context{builder, step.getLoc(), isa};
  Spec spec{step.getSpec()};
  auto perToken = [&](int64_t count) { return TilesAttr::get(module.getContext(), count, Per::token); };
  TilesAttr perRankedToken = TilesAttr::get(module.getContext(), 1, Per::ranked_token);
  auto make = [&](auto build, const auto &kernelSpec, TilesAttr tiles) -> FailureOr<TilesAttr> { // checks first
    if (failed(report(step, moec::check(kernelSpec))))
      return failure();
    build(context, module, name, kernelSpec);
    return tiles;
  };
  auto columns = [](Value value) { return cast<MemRefType>(value.getType()).getDimSize(1); };
  switch (step.getKind()) {
  case Kind::embed:
    return make(moec::buildEmbed,
                moec::EmbedSpec{rowsOf(step.getOuts()[0]), spec.integer("columns"), spec.integer("row_bytes"),
                                encodingOf(spec)},
                perToken(1));
  case Kind::gather:
    return make(
        moec::buildGather,
        moec::GatherSpec{rowsOf(step.getOuts()[0]), spec.integer("rows"), spec.integer("columns"), encodingOf(spec)},
        perToken(1));
  case Kind::tile_max:
    return make(moec::buildTileMax, moec::TileMaxSpec{rowsOf(step.getIns()[0]), columns(step.getIns()[0])},
                perToken(1));
  case Kind::norm:
    return make(moec::buildNorm,
                moec::NormSpec{rowsOf(step.getIns()[0]), columns(step.getIns()[0]), spec.real("eps"),
                               spec.flag("unit_offset"), spec.flag("emit_float"), spec.integer("group")},
                perToken(1));
  case Kind::quantize:
    return make(moec::buildQuantize,
                moec::QuantizeSpec{rowsOf(step.getIns()[0]), columns(step.getIns()[0]), spec.integer("group")},
                perToken(1));
  case Kind::route: {
    auto score = spec.text("score") == "softmax"   ? moec::RouterScore::softmax
                 : spec.text("score") == "sigmoid" ? moec::RouterScore::sigmoid
                                                   : moec::RouterScore::none;
    return make(moec::buildRouterTopk,
                moec::RouterSpec{rowsOf(step.getIns()[0]), spec.integer("experts"), spec.integer("k"), score,
                                 spec.flag("renormalize"), spec.real("renorm_eps"), spec.real("factor")},
                perRankedToken);
  }
  case Kind::combine:
    return make(moec::buildCombine,
                moec::CombineSpec{rowsOf(step.getIns()[0]), columns(step.getIns()[0]), spec.integer("k")},
                perRankedToken);
  case Kind::glu:
    if (spec.text("glu") != "swiglu")
      return step.emitOpError("expects a glu of swiglu, but got '") << spec.text("glu") << "'";
    return make(moec::buildGlu,
                moec::GluSpec{rowsOf(step.getIns()[0]), columns(step.getIns()[0]), spec.integer("group")}, perToken(1));
  case Kind::gate: {
    if (!llvm::is_contained({"silu", "sigmoid"}, spec.text("activation")))
      return step.emitOpError("expects an activation of silu or sigmoid, but got '") << spec.text("activation") << "'";
    auto activation = spec.text("activation") == "silu" ? moec::Activation::silu : moec::Activation::sigmoid;
    bool isPerToken = columns(step.getIns()[1]) == 1 && columns(step.getIns()[0]) != 1;
    return make(moec::buildGate,
                moec::GateSpec{rowsOf(step.getIns()[0]), columns(step.getIns()[0]), isPerToken, activation,
                               spec.flag("residual"), spec.integer("group")},
                perToken(1));
  }
  case Kind::rope_append:
  case Kind::attention:
  case Kind::merge_spans:
    return generateKv(step, name, context);
  case Kind::conv:
  case Kind::delta_rule:
  case Kind::gated_norm:
  case Kind::delta_step:
    return generateDelta(step, name, context);
  case Kind::linear:
  case Kind::gate_up:
  case Kind::down:
    return generateMatrix(step, name, context);
  }
  return failure();
}

FailureOr<TilesAttr> KernelCache::generateKv(ComputeOp step, StringRef name, moec::KernelContext &context) {
  Spec spec{step.getSpec()};
  if (step.getKind() == Kind::attention) {
    moec::AttentionSpec attention{rowsOf(step.getIns()[0]), spec.integer("heads"), spec.real("scale"),
                                  kvLayoutOf(spec, step.getIns()[1]), spec.integer("splits")};
    attention.maxSpans = attention.splits > 0 ? rowsOf(step.getOuts()[0]) : 0;
    if (failed(report(step, moec::check(attention))))
      return failure();
    moec::buildAttention(context, module, name, attention);
    bool isSplit = attention.splits > 0;
    return TilesAttr::get(module.getContext(), attention.numUnits() * (isSplit ? attention.splits : 1),
                          isSplit ? Per::call : Per::token);
  }
  if (step.getKind() == Kind::merge_spans) {
    moec::MergeSpansSpec merge{spec.integer("heads"), rowsOf(step.getIns()[0]), kvLayoutOf(spec, step.getIns()[0])};
    merge.kv.kvHeads = 1;
    merge.kv.keyDim = merge.kv.valueDim;
    if (failed(report(step, moec::check(merge))))
      return failure();
    moec::buildMergeSpans(context, module, name, merge);
    return TilesAttr::get(module.getContext(), 1, Per::call);
  }
  moec::RopeAppendSpec rope;
  rope.maxTokens = rowsOf(step.getIns()[0]);
  rope.heads = spec.integer("heads");
  rope.rotaryDim = spec.integer("dim");
  rope.context = rowsOf(step.getIns().drop_back().back());
  rope.headNorms = spec.flag("norms");
  rope.epsilon = spec.real("eps");
  rope.unitOffset = spec.flag("unit_offset");
  rope.kv = kvLayoutOf(spec, step.getOuts()[0]);
  if (failed(report(step, moec::check(rope))))
    return failure();
  moec::buildRopeAppend(context, module, name, rope);
  return TilesAttr::get(module.getContext(), 1, Per::token);
}

FailureOr<TilesAttr> KernelCache::generateDelta(ComputeOp step, StringRef name, moec::KernelContext &context) {
  Spec spec{step.getSpec()};
  auto tiles = [&](int64_t count, Per per) { return TilesAttr::get(module.getContext(), count, per); };
  if (step.getKind() == Kind::conv) {
    auto x = cast<MemRefType>(step.getIns()[0].getType());
    int64_t channels = x.getRank() ? x.getShape().back() : 0;
    moec::ConvSpec conv{rowsOf(step.getIns()[0]), channels, rowsOf(step.getOuts()[1]) + 1, spec.flag("silu"),
                        encodingOf(spec)};
    if (failed(report(step, moec::check(conv))))
      return failure();
    moec::buildConv(context, module, name, conv);
    return tiles(conv.numTiles(), Per::call);
  }
  moec::DeltaSpec delta = deltaSpecOf(step, spec);
  if (failed(report(step, moec::check(delta))))
    return failure();
  switch (step.getKind()) {
  case Kind::delta_rule:
    moec::buildDeltaRule(context, module, name, delta);
    return tiles(delta.valueHeads * moec::numDeltaStrips(delta, isa), Per::call);
  case Kind::gated_norm:
    moec::buildGatedNorm(context, module, name, delta);
    return tiles(1, Per::token);
  default:
    moec::buildDeltaStep(context, module, name, delta);
    return tiles(delta.keyHeads, Per::call);
  }
}

FailureOr<TilesAttr> KernelCache::generateMatrix(ComputeOp step, StringRef name, moec::KernelContext &context) {
  Spec spec{step.getSpec()};
  if (step.getKind() == Kind::linear) {
    moec::LinearSpec linear;
    linear.matrix = {spec.integer("rows"), spec.integer("columns"), encodingOf(spec), 0};
    linear.maxTokens = rowsOf(step.getOuts()[0]);
    linear.hasBias = spec.flag("bias");
    linear.hasResidual = spec.flag("residual");
    if (failed(report(step, moec::check(linear, context.family()))))
      return failure();
    moec::buildLinear(context, module, name, linear);
    return TilesAttr::get(module.getContext(), linear.numTiles(), Per::call);
  }
  moec::ExpertsSpec experts = expertsSpecOf(step, spec);
  if (failed(report(step, moec::check(experts, context.family()))))
    return failure();
  bool isGateUp = step.getKind() == Kind::gate_up;
  (isGateUp ? moec::buildExpertsGateUp : moec::buildExpertsDown)(context, module, name, experts);
  return TilesAttr::get(module.getContext(), isGateUp ? experts.numGateUpTiles() : experts.numDownTiles(), Per::expert);
}
