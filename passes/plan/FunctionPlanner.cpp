// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plans one entry function: each L2 op becomes one or a few steps on buffers.
/// Main source: docs/architecture.md ("Plan").
#include "passes/plan/FunctionPlanner.h"

#include "passes/plan/ProgramBuilder.h"
#include "passes/plan/RecurrentSteps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moe;
using rt::Kind;

namespace {

/// The views that hold a tensor: one for floats, codes | scales | sums for an encoded activation.
using Views = SmallVector<Value, 3>;

class FunctionPlanner {
public:
  FunctionPlanner(func::FuncOp function, int64_t tokens, const KvPlan &kv, const StatePlan &state,
                  const ArenaPlan &arena, DictionaryAttr pack)
      : function(function), symbols(function->getParentOfType<ModuleOp>()), tokens(tokens), kv(kv), state(state),
        arena(arena), pack(pack), builder(function.getContext()) {}

  FailureOr<int64_t> run();

private:
  LogicalResult plan(Operation *op);
  LogicalResult planEmbed(EmbedOp op);
  LogicalResult planNorm(Operation *op, Value x, Value w, APFloat eps, bool unitOffset, Value y, Value q);
  LogicalResult planQuantize(QuantizeActOp op);
  LogicalResult planLinear(LinearOp op);
  LogicalResult planMultiLinear(MultiLinearOp op);
  LogicalResult planRopeAppend(RopeAppendOp op);
  LogicalResult planAttention(AttentionOp op);
  LogicalResult planRouter(RouterTopkOp op);
  LogicalResult planExperts(ExpertsOp op);
  LogicalResult planDeltaStep(DeltaStepOp op);
  LogicalResult planStates(Block &old);
  LogicalResult planReturn(func::ReturnOp op);

  /// New views for a tensor of `rows` rows (`tokens` unless given).
  Views makeViews(RankedTensorType type, int64_t rows = 0);
  Views makeActViews(int64_t rows, int64_t columns, int64_t group);
  /// The view of a resident weight's bytes or floats. Emits an error if it has no resident placement.
  FailureOr<Value> weightView(Operation *user, Value weight);
  WeightOp weightOf(Value value);
  /// The view that `op` may write its result to: that of the residual when this is its last use.
  FailureOr<Value> inPlace(Operation *op, Value residual);
  void emitLinear(WeightOp weight, Value w, const Views &x, Value residual, Value y);
  void pollAtLayer(Operation *op);

  NamedAttribute set(StringRef key, int64_t value) {
    return {builder.getStringAttr(key), builder.getI64IntegerAttr(value)};
  }
  NamedAttribute set(StringRef key, bool value) { return {builder.getStringAttr(key), builder.getBoolAttr(value)}; }
  NamedAttribute set(StringRef key, StringRef value) {
    return {builder.getStringAttr(key), builder.getStringAttr(value)};
  }
  NamedAttribute set(StringRef key, APFloat value) {
    return {builder.getStringAttr(key), builder.getF32FloatAttr(value.convertToFloat())};
  }

  func::FuncOp function;
  SymbolTable symbols;
  int64_t tokens;
  const KvPlan &kv;
  const StatePlan &state;
  const ArenaPlan &arena;
  DictionaryAttr pack;
  OpBuilder builder;
  std::optional<rt::ProgramBuilder> program;
  llvm::DenseMap<Value, Views> viewsOf;
  llvm::DenseMap<Value, int64_t> layerOfCache;
  int64_t currentLayer = -1;
};

/// Of a weight that has been placed: its encoding has a stored form.
moec::Encoding encodingOf(RankedTensorType type) { return llvm::cantFail(moe::encodingOf(moe::getQuant(type))); }

/// Key and value codes of a cache, as `spec` entries need it.
std::string elemName(CacheType cache) {
  Type type = cache.getElem();
  return (type.isInteger() ? "i" : "f") + std::to_string(type.getIntOrFloatBitWidth());
}

} // namespace

//===-- Views -----------------------------------------------------------------------------------------------------===//

Views FunctionPlanner::makeActViews(int64_t rows, int64_t columns, int64_t group) {
  return {program->makeBuffer({rows, columns}, builder.getI8Type()),
          program->makeBuffer({rows, columns / group}, builder.getF32Type()),
          program->makeBuffer({rows, columns / group}, builder.getI32Type())};
}

Views FunctionPlanner::makeViews(RankedTensorType type, int64_t rows) {
  rows = rows ? rows : tokens;
  if (ActAttr act = moe::getAct(type))
    return makeActViews(rows, type.getDimSize(1), act.getGroup());
  return {program->makeBuffer({rows, type.getDimSize(1)}, type.getElementType())};
}

WeightOp FunctionPlanner::weightOf(Value value) {
  auto param = value.getDefiningOp<ParamOp>();
  return param ? symbols.lookup<WeightOp>(param.getWeight()) : WeightOp();
}

FailureOr<Value> FunctionPlanner::weightView(Operation *user, Value value) {
  WeightOp weight = weightOf(value);
  auto place = weight ? dyn_cast_if_present<rt::ResidentPlaceAttr>(weight.getPlacementAttr()) : rt::ResidentPlaceAttr();
  if (!place)
    return user->emitOpError("expects a weight with a resident placement; run moe-place-weights first");
  RankedTensorType type = weight.getTensorType();
  if (type.getRank() == 1)
    return program->makeResident({type.getDimSize(0)}, builder.getF32Type(), place.getOffset());
  return program->makeResident({place.getBytes()}, builder.getI8Type(), place.getOffset());
}

FailureOr<Value> FunctionPlanner::inPlace(Operation *op, Value residual) {
  if (llvm::any_of(residual.getUsers(), [&](Operation *user) { return op->isBeforeInBlock(user); }))
    return op->emitOpError("expects a residual whose last use is the addition, so that it can be summed in place");
  return viewsOf.lookup(residual).front();
}

void FunctionPlanner::pollAtLayer(Operation *op) {
  for (Value operand : op->getOperands())
    if (WeightOp weight = weightOf(operand); weight && int64_t(weight.getLayer()) > currentLayer) {
      currentLayer = weight.getLayer();
      program->poll(currentLayer);
    }
}

//===-- Steps -----------------------------------------------------------------------------------------------------===//

LogicalResult FunctionPlanner::planEmbed(EmbedOp op) {
  WeightOp table = weightOf(op.getTable());
  auto place = table ? dyn_cast_if_present<rt::StreamedPlaceAttr>(table.getPlacementAttr()) : rt::StreamedPlaceAttr();
  if (!place)
    return op.emitOpError("expects a table with a streamed placement; run moe-place-weights first");
  Value rows = program->makeBuffer({tokens * place.getRowBytes()}, builder.getI8Type());
  int64_t columns = op.getY().getType().getDimSize(1);
  Value x = program->makeFixed({tokens, columns}, builder.getF32Type(), arena.hiddenOffset, false);
  program->readRows(place.getTable(), rows);
  program->compute(Kind::embed, {rows}, {x},
                   {set("columns", columns), set("row_bytes", place.getRowBytes()),
                    set("encoding", moec::nameOf(encodingOf(table.getTensorType())))});
  viewsOf[op.getY()] = {x};
  return success();
}

LogicalResult FunctionPlanner::planNorm(Operation *op, Value x, Value w, APFloat eps, bool unitOffset, Value y,
                                        Value q) {
  FailureOr<Value> weight = weightView(op, w);
  if (failed(weight))
    return failure();
  auto type = cast<RankedTensorType>(x.getType());
  if (cast<RankedTensorType>(w.getType()).getDimSize(0) != type.getDimSize(1))
    return op->emitOpError("expects a norm over whole rows; head norms need moe-fuse-rope-append");
  SmallVector<Value> outs;
  bool emitFloat = !q || !y.use_empty();
  if (emitFloat) {
    viewsOf[y] = makeViews(cast<RankedTensorType>(y.getType()));
    outs.append(viewsOf[y].begin(), viewsOf[y].end());
  }
  int64_t group = 0;
  if (q) {
    group = moe::getAct(q.getType()).getGroup();
    viewsOf[q] = makeViews(cast<RankedTensorType>(q.getType()));
    outs.append(viewsOf[q].begin(), viewsOf[q].end());
  }
  program->compute(
      Kind::norm, {viewsOf.lookup(x).front(), *weight}, outs,
      {set("eps", eps), set("unit_offset", unitOffset), set("group", group), set("emit_float", emitFloat)});
  return success();
}

LogicalResult FunctionPlanner::planQuantize(QuantizeActOp op) {
  if (viewsOf.contains(op.getY())) // the step before has written it
    return success();
  viewsOf[op.getY()] = makeViews(op.getY().getType());
  program->compute(Kind::quantize, {viewsOf.lookup(op.getX()).front()}, viewsOf[op.getY()],
                   {set("group", moe::getAct(op.getY().getType()).getGroup())});
  return success();
}

void FunctionPlanner::emitLinear(WeightOp weight, Value w, const Views &x, Value residual, Value y) {
  RankedTensorType type = weight.getTensorType();
  SmallVector<Value> ins{w};
  ins.append(x.begin(), x.end());
  if (residual)
    ins.push_back(residual);
  program->compute(Kind::linear, ins, {y},
                   {set("rows", type.getDimSize(0)), set("columns", type.getDimSize(1)),
                    set("encoding", moec::nameOf(encodingOf(type))), set("residual", bool(residual))});
}

LogicalResult FunctionPlanner::planLinear(LinearOp op) {
  if (op.getBias())
    return op.emitOpError("has a bias, which has no step on the device yet");
  FailureOr<Value> weight = weightView(op, op.getW());
  if (failed(weight))
    return failure();
  Value y, residual;
  if (op.getResidual()) {
    FailureOr<Value> place = inPlace(op, op.getResidual());
    if (failed(place))
      return failure();
    y = residual = *place;
  } else if (weightOf(op.getW()).getRole() == Role::head) {
    y = program->makeFixed({tokens, op.getY().getType().getDimSize(1)}, builder.getF32Type(), arena.logitsOffset,
                           false);
  } else {
    y = makeViews(op.getY().getType()).front();
  }
  emitLinear(weightOf(op.getW()), *weight, viewsOf.lookup(op.getX()), residual, y);
  viewsOf[op.getY()] = {y};
  return success();
}

LogicalResult FunctionPlanner::planMultiLinear(MultiLinearOp op) {
  SmallVector<Value> weights;
  for (Value w : op.getWeights()) {
    FailureOr<Value> weight = weightView(op, w);
    if (failed(weight))
      return failure();
    weights.push_back(*weight);
  }
  auto parallel = rt::ParallelOp::create(builder, op.getLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&parallel.getBody());
  for (auto [w, view, y] : llvm::zip_equal(op.getWeights(), weights, op.getYs())) {
    viewsOf[y] = makeViews(cast<RankedTensorType>(y.getType()));
    emitLinear(weightOf(w), view, viewsOf.lookup(op.getX()), Value(), viewsOf[y].front());
  }
  return success();
}

LogicalResult FunctionPlanner::planRopeAppend(RopeAppendOp op) {
  CacheType cache = op.getCache().getType();
  if (!op.getQ().hasOneUse())
    return op.emitOpError("expects queries with one use, so that they can be rotated in place");
  if (op.getStyle() != RopeStyle::half || op.getUnitOffset())
    return op.emitOpError("has a rotary style or norm offset that has no step on the device yet");
  int64_t layer = layerOfCache.lookup(op.getCache());
  SmallVector<Value> ins;
  for (Value value : {op.getQ(), op.getK(), op.getV()})
    ins.push_back(viewsOf.lookup(value).front());
  for (Value norm : {Value(op.getQNorm()), Value(op.getKNorm())})
    if (norm) {
      FailureOr<Value> view = weightView(op, norm);
      if (failed(view))
        return failure();
      ins.push_back(*view);
    }
  for (StringRef table : {"cos", "sin"}) {
    auto entry = pack.getAs<IntegerAttr>(("rope_" + table + "_offset").str());
    if (!entry)
      return op.emitOpError("expects rotary tables in rt.pack; run moe-place-weights first");
    ins.push_back(
        program->makeResident({cache.getCapacity(), int64_t(op.getDim()) / 2}, builder.getF32Type(), entry.getInt()));
  }
  ins.push_back(program->makeKvWindow());
  Value region = program->makeKv(kv.numBlocks * kv.blockBytes, kv.layerOffsets[layer]);
  program->compute(Kind::rope_append, ins, {region},
                   {set("heads", op.getQ().getType().getDimSize(1) / cache.getQkDim()),
                    set("kv_heads", cache.getKvHeads()), set("qk_dim", cache.getQkDim()), set("v_dim", cache.getVDim()),
                    set("dim", int64_t(op.getDim())), set("eps", op.getEps()), set("norms", bool(op.getQNorm())),
                    set("elem", elemName(cache)), set("block_bytes", kv.blockBytes)});
  viewsOf[op.getRoped()] = viewsOf.lookup(op.getQ());
  layerOfCache[op.getUpdated()] = layer;
  return success();
}

LogicalResult FunctionPlanner::planAttention(AttentionOp op) {
  CacheType cache = op.getCache().getType();
  int64_t layer = layerOfCache.lookup(op.getCache());
  viewsOf[op.getO()] = makeViews(op.getO().getType());
  Value region = program->makeKv(kv.numBlocks * kv.blockBytes, kv.layerOffsets[layer]);
  program->compute(Kind::attention, {viewsOf.lookup(op.getQ()).front(), region, program->makeKvWindow()},
                   viewsOf[op.getO()],
                   {set("heads", int64_t(op.getHeads())), set("kv_heads", cache.getKvHeads()),
                    set("qk_dim", cache.getQkDim()), set("v_dim", cache.getVDim()), set("scale", op.getScale()),
                    set("elem", elemName(cache)), set("block_bytes", kv.blockBytes)});
  layerOfCache[op.getUpdated()] = layer;
  return success();
}

LogicalResult FunctionPlanner::planRouter(RouterTopkOp op) {
  FailureOr<Value> weight = weightView(op, op.getW());
  if (failed(weight))
    return failure();
  int64_t experts = op.getW().getType().getDimSize(0);
  Value logits = program->makeBuffer({tokens, experts}, builder.getF32Type());
  emitLinear(weightOf(op.getW()), *weight, viewsOf.lookup(op.getX()), Value(), logits);
  program->nextStep();
  viewsOf[op.getIds()] = makeViews(op.getIds().getType());
  viewsOf[op.getWeights()] = makeViews(op.getWeights().getType());
  program->compute(Kind::route, {logits}, {viewsOf[op.getIds()].front(), viewsOf[op.getWeights()].front()},
                   {set("experts", experts), set("k", int64_t(op.getK())), set("score", stringifyScore(op.getScore())),
                    set("renormalize", op.getRenormalize()), set("renorm_eps", op.getRenormEps()),
                    set("factor", op.getFactor())});
  return success();
}

LogicalResult FunctionPlanner::planExperts(ExpertsOp op) {
  WeightOp weights[3] = {weightOf(op.getGate()), weightOf(op.getUp()), weightOf(op.getDown())};
  WeightOp gate = weights[0], down = weights[2];
  rt::PagedPlaceAttr places[3];
  for (auto [place, weight] : llvm::zip_equal(places, MutableArrayRef<WeightOp>(weights)))
    if (!weight || !(place = dyn_cast_if_present<rt::PagedPlaceAttr>(weight.getPlacementAttr())))
      return op.emitOpError("expects weights with paged placements; run moe-place-weights first");
  if (!op.getResidual())
    return op.emitOpError("expects a residual; run moe-fuse-residual first");
  if (op.getGlu() != GluKind::swiglu)
    return op.emitOpError("has an activation other than swiglu, which has no step on the device yet");
  FailureOr<Value> sum = inPlace(op, op.getResidual());
  if (failed(sum))
    return failure();
  RankedTensorType gateType = gate.getTensorType(), downType = down.getTensorType();
  int64_t inner = gateType.getDimSize(1), hidden = gateType.getDimSize(2), topK = op.getIds().getType().getDimSize(1);
  int64_t pairs = tokens * topK, recordBytes = pack.getAs<IntegerAttr>("record_bytes").getInt();
  int64_t downGroup = encodingOf(downType).group;
  Views x = viewsOf.lookup(op.getX());
  Views h = downGroup ? makeActViews(pairs, inner, downGroup)
                      : Views{program->makeBuffer({pairs, inner}, builder.getF32Type())};
  Value y = program->makeBuffer({pairs, hidden}, builder.getF32Type());
  Value ids = viewsOf.lookup(op.getIds()).front();
  program->touch(ids);
  auto experts = rt::ExpertsOp::create(builder, op.getLoc(), program->getContext(), gate.getLayer(), ids);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&experts.getBody());
    Value record = body->addArgument(MemRefType::get({recordBytes}, builder.getI8Type()), op.getLoc());
    Value routed = body->addArgument(MemRefType::get({pairs}, builder.getI32Type()), op.getLoc());
    SmallVector<Value> ins{record, routed};
    ins.append(x.begin(), x.end());
    if (op.getXUp())
      llvm::append_range(ins, viewsOf.lookup(op.getXUp()));
    program->compute(Kind::gate_up, ins, h,
                     {set("inner", inner), set("hidden", hidden), set("encoding", moec::nameOf(encodingOf(gateType))),
                      set("up_encoding", moec::nameOf(encodingOf(weights[1].getTensorType()))),
                      set("down_group", downGroup), set("gate_offset", places[0].getOffset()),
                      set("up_offset", places[1].getOffset()), set("top_k", topK)});
    ins.assign({record, routed});
    ins.append(h.begin(), h.end());
    program->compute(Kind::down, ins, {y},
                     {set("inner", inner), set("hidden", hidden), set("encoding", moec::nameOf(encodingOf(downType))),
                      set("down_offset", places[2].getOffset()), set("top_k", topK)});
  }
  program->nextStep();
  program->compute(Kind::combine, {*sum, y, viewsOf.lookup(op.getWeights()).front()}, {*sum}, {set("k", topK)});
  viewsOf[op.getY()] = {*sum};
  return success();
}

LogicalResult FunctionPlanner::planDeltaStep(DeltaStepOp op) {
  rt::DeltaViews views;
  for (Value value : {op.getQ(), op.getK(), op.getV()})
    if (!value.hasOneUse())
      return op.emitOpError("expects q, k and v with one use, so that they can be convolved in place");
  for (Value value : {op.getQ(), op.getK(), op.getV(), op.getZ(), op.getA(), op.getB()})
    views.inputs.push_back(viewsOf.lookup(value).front());
  for (Value value : {op.getQConv(), op.getKConv(), op.getVConv(), op.getALog(), op.getDtBias(), op.getW()}) {
    FailureOr<Value> weight = weightView(op, value);
    if (failed(weight))
      return failure();
    views.weights.push_back(*weight);
  }
  for (auto [value, updated] :
       llvm::zip_equal(SmallVector<Value>{op.getQState(), op.getKState(), op.getVState(), op.getState()},
                       SmallVector<Value>{op.getQUpdated(), op.getKUpdated(), op.getVUpdated(), op.getUpdated()})) {
    viewsOf[updated] = viewsOf.lookup(value);
    if (viewsOf[updated].empty())
      return op.emitOpError("expects states that are arguments of the function, or updated ones");
    views.states.push_back(viewsOf[updated].front());
  }
  // The step quantizes its result itself where whole groups lie in a head and nobody reads the floats.
  auto quantize = op.getY().hasOneUse() ? dyn_cast<QuantizeActOp>(*op.getY().getUsers().begin()) : QuantizeActOp();
  int64_t group = quantize ? moe::getAct(quantize.getY().getType()).getGroup() : 0;
  if (!group || op.getW().getType().getDimSize(0) % group)
    group = 0;
  Views y = group ? makeViews(quantize.getY().getType()) : viewsOf.lookup(op.getV());
  viewsOf[group ? quantize.getY() : op.getY()] = y;
  rt::emitDeltaSteps(*program, op, views, y, tokens, group);
  return success();
}

LogicalResult FunctionPlanner::planStates(Block &old) {
  size_t index = 0;
  for (BlockArgument argument : old.getArguments()) {
    auto type = dyn_cast<StateType>(argument.getType());
    if (!type)
      continue;
    if (index == state.offsets.size())
      return function.emitError("expects the states of @prefill, but got another one: ") << type;
    viewsOf[argument] = {program->makeState(type.getShape(), state.offsets[index++])};
  }
  return success();
}

LogicalResult FunctionPlanner::planReturn(func::ReturnOp op) {
  // What a call leaves behind lies at a place that the runtime knows: hidden rows, or logits.
  auto view = op.getNumOperands() ? viewsOf.lookup(op.getOperand(0)) : Views();
  auto fixed = view.size() == 1 ? view.front().getDefiningOp<rt::ArenaOp>() : rt::ArenaOp();
  int64_t expected = function.getName() == "head" ? arena.logitsOffset : arena.hiddenOffset;
  if (!fixed || int64_t(fixed.getOffset()) != expected)
    return op.emitOpError(
        "expects the result in its fixed place: residual sums of the embedding, or the head's logits");
  func::ReturnOp::create(builder, op.getLoc());
  return success();
}

LogicalResult FunctionPlanner::plan(Operation *op) {
  program->nextStep();
  pollAtLayer(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ParamOp) { return success(); })
      .Case([&](EmbedOp op) { return planEmbed(op); })
      .Case([&](RmsNormOp op) {
        return planNorm(op, op.getX(), op.getW(), op.getEps(), op.getUnitOffset(), op.getY(), Value());
      })
      .Case([&](NormQuantizeOp op) {
        return planNorm(op, op.getX(), op.getW(), op.getEps(), op.getUnitOffset(), op.getY(), op.getQ());
      })
      .Case([&](QuantizeActOp op) { return planQuantize(op); })
      .Case([&](LinearOp op) { return planLinear(op); })
      .Case([&](MultiLinearOp op) { return planMultiLinear(op); })
      .Case([&](RopeAppendOp op) { return planRopeAppend(op); })
      .Case([&](AttentionOp op) { return planAttention(op); })
      .Case([&](RouterTopkOp op) { return planRouter(op); })
      .Case([&](ExpertsOp op) { return planExperts(op); })
      .Case([&](DeltaStepOp op) { return planDeltaStep(op); })
      .Case([&](func::ReturnOp op) { return planReturn(op); })
      .Default([](Operation *op) { return op->emitOpError("has no step on the device; run the fuse stage first"); });
}

FailureOr<int64_t> FunctionPlanner::run() {
  Block &old = function.getBody().front();
  Block *entry = new Block();
  Value context = entry->addArgument(rt::ContextType::get(function.getContext()), function.getLoc());
  function.getBody().push_back(entry);
  // Views stand at the start, steps follow this marker's place: insertion at the end keeps both orders apart.
  builder.setInsertionPointToEnd(entry);
  program.emplace(builder, function.getLoc(), context);
  if (function.getName() == "head") {
    auto type = cast<RankedTensorType>(old.getArgument(0).getType());
    viewsOf[old.getArgument(0)] = {
        program->makeFixed({tokens, type.getDimSize(1)}, builder.getF32Type(), arena.hiddenOffset, true)};
  }
  int64_t cacheIndex = 0;
  for (BlockArgument argument : old.getArguments())
    if (isa<CacheType>(argument.getType()))
      layerOfCache[argument] = cacheIndex++;
  if (failed(planStates(old)))
    return failure();
  for (Operation &op : old)
    if (failed(plan(&op))) {
      return failure();
    }
  auto end = program->place(arena.sharedOffset);
  if (!end)
    return function.emitError(llvm::toString(end.takeError()));
  old.dropAllDefinedValueUses();
  old.dropAllReferences();
  old.erase();
  function.setFunctionType(FunctionType::get(function.getContext(), {context.getType()}, {}));
  function.setAllArgAttrs(ArrayRef<DictionaryAttr>{DictionaryAttr::get(function.getContext())});
  function.removeResAttrsAttr();
  return *end;
}

FailureOr<int64_t> moe::planFunction(func::FuncOp function, int64_t tokens, const KvPlan &kv, const StatePlan &state,
                                     const ArenaPlan &arena, DictionaryAttr pack) {
  return FunctionPlanner(function, tokens, kv, state, arena, pack).run();
}
