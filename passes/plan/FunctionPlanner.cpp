// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plans one entry function: each L2 op becomes one or a few steps on buffers.
/// Main source: docs/architecture.md ("Plan").
#include "passes/plan/StepPlanner.h"

#include "include/moert/Generated.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;
using rt::Kind;

//===-- Views -----------------------------------------------------------------------------------------------------===//

Views StepPlanner::makeActViews(int64_t rows, int64_t columns, int64_t group) {
  return {program->makeBuffer({rows, columns}, builder.getI8Type()),
          program->makeBuffer({rows, columns / group}, builder.getF32Type()),
          program->makeBuffer({rows, columns / group}, builder.getI32Type())};
}

Views StepPlanner::makeViews(RankedTensorType type, int64_t rows) {
  rows = rows ? rows : tokens;
  if (ActAttr act = moe::getAct(type))
    return makeActViews(rows, type.getDimSize(1), act.getGroup());
  return {program->makeBuffer({rows, type.getDimSize(1)}, type.getElementType())};
}

WeightOp StepPlanner::weightOf(Value value) {
  auto param = value.getDefiningOp<ParamOp>();
  return param ? symbols.lookup<WeightOp>(param.getWeight()) : WeightOp();
}

FailureOr<Value> StepPlanner::weightView(Operation *user, Value value) {
  WeightOp weight = weightOf(value);
  auto place = weight ? dyn_cast_if_present<rt::ResidentPlaceAttr>(weight.getPlacementAttr()) : rt::ResidentPlaceAttr();
  if (!place)
    return user->emitOpError("expects a weight with a resident placement; run moe-place-weights first");
  RankedTensorType type = weight.getTensorType();
  if (type.getRank() == 1)
    return program->makeResident({type.getDimSize(0)}, builder.getF32Type(), place.getOffset());
  return program->makeResident({place.getBytes()}, builder.getI8Type(), place.getOffset());
}

FailureOr<Value> StepPlanner::inPlace(Operation *op, Value residual) {
  if (llvm::any_of(residual.getUsers(), [&](Operation *user) { return op->isBeforeInBlock(user); }))
    return op->emitOpError("expects a residual whose last use is the addition, so that it can be summed in place");
  return viewsOf.lookup(residual).front();
}

void StepPlanner::pollAtLayer(Operation *op) {
  if (isa<PredictExpertsOp>(op)) // its weights are those of a later layer
    return;
  for (Value operand : op->getOperands())
    if (WeightOp weight = weightOf(operand); weight && int64_t(weight.getLayer()) > currentLayer) {
      currentLayer = weight.getLayer();
      program->poll(currentLayer);
    }
}

//===-- Steps -----------------------------------------------------------------------------------------------------===//

LogicalResult StepPlanner::planEmbed(EmbedOp op) {
  WeightOp table = weightOf(op.getTable());
  if (table && isa_and_present<rt::ResidentPlaceAttr>(table.getPlacementAttr()))
    return planGather(op, table);
  auto place = table ? dyn_cast_if_present<rt::StreamedPlaceAttr>(table.getPlacementAttr()) : rt::StreamedPlaceAttr();
  if (!place)
    return op.emitOpError("expects a table with a streamed placement; run moe-place-weights first");
  Value rows = program->makeBuffer({tokens * place.getRowBytes()}, builder.getI8Type());
  int64_t columns = op.getY().getType().getDimSize(1);
  Value x = program->makeFixed({tokens, columns}, builder.getF32Type(), arena.hiddenOffset, false);
  program->readRows(place.getTable(), rows);
  program->compute(Kind::embed, {rows}, {x},
                   {set("columns", columns), set("row_bytes", place.getRowBytes()),
                    set("encoding", moec::nameOf(storedEncodingOf(table.getTensorType())))});
  viewsOf[op.getY()] = {x};
  return success();
}

LogicalResult StepPlanner::planGather(EmbedOp op, WeightOp table) {
  FailureOr<Value> weight = weightView(op, op.getTable());
  if (failed(weight))
    return failure();
  RankedTensorType type = table.getTensorType();
  Value x = program->makeFixed({tokens, type.getDimSize(1)}, builder.getF32Type(), arena.hiddenOffset, false);
  program->compute(Kind::gather, {*weight, program->makeTokens(tokens)}, {x},
                   {set("rows", type.getDimSize(0)), set("columns", type.getDimSize(1)),
                    set("encoding", moec::nameOf(storedEncodingOf(type)))});
  viewsOf[op.getY()] = {x};
  return success();
}

LogicalResult StepPlanner::planNorm(Operation *op, Value x, Value w, APFloat eps, bool unitOffset, Value y, Value q) {
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

QuantizeActOp StepPlanner::onlyQuantized(Value y) {
  return y.hasOneUse() ? dyn_cast<QuantizeActOp>(*y.getUsers().begin()) : QuantizeActOp();
}

std::pair<Views, int64_t> StepPlanner::makeResult(Value y) {
  QuantizeActOp quantize = onlyQuantized(y);
  Value result = quantize ? Value(quantize.getY()) : y;
  viewsOf[result] = makeViews(cast<RankedTensorType>(result.getType()));
  return {viewsOf[result], quantize ? moe::getAct(result.getType()).getGroup() : 0};
}

LogicalResult StepPlanner::planQuantize(QuantizeActOp op) {
  viewsOf[op.getY()] = makeViews(op.getY().getType());
  program->compute(Kind::quantize, {viewsOf.lookup(op.getX()).front()}, viewsOf[op.getY()],
                   {set("group", moe::getAct(op.getY().getType()).getGroup())});
  return success();
}

void StepPlanner::emitLinear(WeightOp weight, Value w, const Views &x, Value bias, Value residual, Value y) {
  RankedTensorType type = weight.getTensorType();
  SmallVector<Value> ins{w};
  ins.append(x.begin(), x.end());
  for (Value term : {bias, residual})
    if (term)
      ins.push_back(term);
  program->compute(Kind::linear, ins, {y},
                   {set("rows", type.getDimSize(0)), set("columns", type.getDimSize(1)),
                    set("encoding", moec::nameOf(storedEncodingOf(type))), set("bias", bool(bias)),
                    set("residual", bool(residual))});
}

LogicalResult StepPlanner::planLinear(LinearOp op) {
  WeightOp product = weightOf(op.getW());
  if (product && !op.getResidual() && product.getRole() != Role::head)
    return emitRegion(op, product, [&] { return emitProducts(op); });
  FailureOr<Value> weight = weightView(op, op.getW());
  FailureOr<Value> bias = op.getBias() ? weightView(op, op.getBias()) : FailureOr<Value>(Value());
  if (failed(weight) || failed(bias))
    return failure();
  Value y, residual;
  if (op.getResidual()) {
    FailureOr<Value> place = inPlace(op, op.getResidual());
    if (failed(place))
      return failure();
    y = residual = *place;
  } else {
    y = program->makeFixed({tokens, op.getY().getType().getDimSize(1)}, builder.getF32Type(), arena.logitsOffset,
                           false);
  }
  emitLinear(product, *weight, viewsOf.lookup(op.getX()), *bias, residual, y);
  viewsOf[op.getY()] = {y};
  if (residual)
    return success();
  int64_t numTiles = llvm::divideCeil(op.getY().getType().getDimSize(1), MOERT_LOGIT_TILE);
  program->compute(Kind::tile_max, {y},
                   {program->makeFixed({tokens, numTiles}, builder.getF32Type(), arena.maximaOffset, false)}, {});
  return success();
}

LogicalResult StepPlanner::planMultiLinear(MultiLinearOp op) {
  WeightOp first = weightOf(op.getWeights().front());
  if (!first)
    return op.emitOpError("expects weights that are parameters of the module");
  return emitRegion(op, first, [&] { return emitProducts(op); });
}

LogicalResult StepPlanner::emitProducts(Operation *op) {
  auto single = dyn_cast<LinearOp>(op);
  auto multiple = dyn_cast<MultiLinearOp>(op);
  ValueRange weights = single ? ValueRange(single.getODSOperands(1)) : ValueRange(multiple.getWeights());
  SmallVector<Value> biases(weights.size());
  if (single)
    biases[0] = single.getBias();
  else
    llvm::copy(multiple.getBiases(), biases.begin());
  for (auto [w, b, y] : llvm::zip_equal(weights, biases, op->getResults())) {
    FailureOr<Value> weight = weightView(op, w);
    FailureOr<Value> bias = b ? weightView(op, b) : FailureOr<Value>(Value());
    if (failed(weight) || failed(bias))
      return failure();
    viewsOf[y] = makeViews(cast<RankedTensorType>(y.getType()));
    emitLinear(weightOf(w), *weight, viewsOf.lookup(op->getOperand(0)), *bias, Value(), viewsOf[y].front());
  }
  return success();
}

SmallVector<Operation *> StepPlanner::readyProducts(Operation *op, WeightOp weight) {
  SmallVector<Operation *> products;
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    auto single = dyn_cast<LinearOp>(next);
    if (!single && !isa<MultiLinearOp>(next))
      continue;
    WeightOp other = weightOf(next->getOperand(1));
    if (!other || other.getLayer() != weight.getLayer())
      break;
    bool isPlanned = viewsOf.contains(next->getResult(0));
    if (!isPlanned && !(single && single.getResidual()) && viewsOf.contains(next->getOperand(0)))
      products.push_back(next);
  }
  return products;
}

LogicalResult StepPlanner::emitRegion(Operation *op, WeightOp weight, llvm::function_ref<LogicalResult()> emitFirst) {
  SmallVector<Operation *> others = readyProducts(op, weight);
  OpBuilder::InsertionGuard guard(builder);
  if (!others.empty() || isa<MultiLinearOp>(op))
    builder.createBlock(&rt::ParallelOp::create(builder, op->getLoc()).getBody());
  if (failed(emitFirst()))
    return failure();
  return success(llvm::all_of(others, [&](Operation *other) { return succeeded(emitProducts(other)); }));
}

LogicalResult StepPlanner::planReturn(func::ReturnOp op) {
  // What a call leaves behind lies at a place that the runtime knows: hidden rows, or logits.
  auto view = op.getNumOperands() ? viewsOf.lookup(op.getOperand(0)) : Views();
  auto fixed = view.size() == 1 ? view.front().getDefiningOp<rt::ArenaOp>() : rt::ArenaOp();
  int64_t expected = function.getName() == "head" ? arena.logitsOffset : arena.hiddenOffset;
  if (!fixed || int64_t(fixed.getOffset()) != expected)
    return op.emitOpError(
        "expects the result in its fixed place: residual sums of the embedding, or the head's logits");
  // Caches and states are updated where they lie: the next call finds each at the place of its argument.
  SmallVector<Value> given;
  for (BlockArgument argument : op->getBlock()->getArguments())
    if (isa<CacheType, StateType>(argument.getType()))
      given.push_back(argument);
  if (given.size() + 1 != op.getNumOperands() && op.getNumOperands() > 1)
    return op.emitOpError("expects ") << given.size() << " caches and states behind the result, as in the arguments, "
                                      << "but got " << op.getNumOperands() - 1;
  for (auto [number, pair] : llvm::enumerate(llvm::zip(given, op.getOperands().drop_front()))) {
    auto [argument, returned] = pair;
    bool isCache = isa<CacheType>(argument.getType());
    bool isSame = isCache ? layerOfCache.contains(returned) && layerOfCache[returned] == layerOfCache[argument]
                          : viewsOf.lookup(returned) == viewsOf.lookup(argument);
    if (!isSame)
      return op.emitOpError("expects as operand ") << number + 1 << " what became of the function's own "
                                                   << (isCache ? "cache" : "state") << ", but got another one";
  }
  func::ReturnOp::create(builder, op.getLoc());
  return success();
}

LogicalResult StepPlanner::plan(Operation *op) {
  // A step before may have done this one's work: a quantization, or a product that joined another region.
  if (op->getNumResults() && viewsOf.contains(op->getResult(0)))
    return success();
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
      .Case([&](PredictExpertsOp op) { return planPrediction(op); })
      .Case([&](GluOp op) { return planGlu(op); })
      .Case([&](GateOp op) { return planGate(op); })
      .Case([&](DeltaStepOp op) { return planDeltaStep(op); })
      .Case([&](func::ReturnOp op) { return planReturn(op); })
      .Default([](Operation *op) { return op->emitOpError("has no step on the device; run the fuse stage first"); });
}

FailureOr<int64_t> StepPlanner::run() {
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
  return StepPlanner(function, tokens, kv, state, arena, pack).run();
}
