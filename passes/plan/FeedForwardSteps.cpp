// SPDX-License-Identifier: Apache-2.0
/// \file
/// Steps of feed-forward networks: router, experts, and the gates of dense ones; the gate of attention too.
/// Part of the plan stage. Main source: docs/architecture.md ("Plan").
#include "passes/plan/StepPlanner.h"

using namespace mlir;
using namespace mlir::moe;
using rt::Kind;

LogicalResult StepPlanner::planRouter(RouterTopkOp op) {
  FailureOr<Value> weight = weightView(op, op.getW());
  if (failed(weight))
    return failure();
  int64_t experts = op.getW().getType().getDimSize(0);
  Value logits = program->makeBuffer({tokens, experts}, builder.getF32Type());
  WeightOp router = weightOf(op.getW());
  LogicalResult emitted = emitRegion(op, router, [&] {
    emitLinear(router, *weight, viewsOf.lookup(op.getX()), Value(), Value(), logits);
    return success();
  });
  if (failed(emitted))
    return failure();
  program->nextStep();
  viewsOf[op.getIds()] = makeViews(op.getIds().getType());
  viewsOf[op.getWeights()] = makeViews(op.getWeights().getType());
  program->compute(Kind::route, {logits}, {viewsOf[op.getIds()].front(), viewsOf[op.getWeights()].front()},
                   {set("experts", experts), set("k", int64_t(op.getK())), set("score", stringifyScore(op.getScore())),
                    set("renormalize", op.getRenormalize()), set("renorm_eps", op.getRenormEps()),
                    set("factor", op.getFactor())});
  return success();
}

LogicalResult StepPlanner::planPrediction(PredictExpertsOp op) {
  // Where the same sum is about to get the output of experts, their reads come first: a guess costs them no time.
  for (Operation *user : op.getX().getUsers()) {
    auto experts = dyn_cast<ExpertsOp>(user);
    WeightOp gate = experts ? weightOf(experts.getGate()) : WeightOp();
    if (gate && int64_t(gate.getLayer()) < int64_t(op.getLayer()) && experts.getResidual() == op.getX() &&
        op->isBeforeInBlock(experts)) {
      // A second guess of the same sum for the same layer would say the same.
      SmallVector<PredictExpertsOp> &guesses = waiting[experts];
      if (llvm::none_of(guesses, [&](PredictExpertsOp other) { return other.getLayer() == op.getLayer(); }))
        guesses.push_back(op);
      return success();
    }
  }
  return emitPrediction(op);
}

LogicalResult StepPlanner::emitPrediction(PredictExpertsOp op) {
  FailureOr<Value> norm = weightView(op, op.getNorm()), router = weightView(op, op.getW());
  if (failed(norm) || failed(router))
    return failure();
  int64_t experts = op.getW().getType().getDimSize(0), k = op.getK();
  Type f32 = builder.getF32Type();
  Value y = program->makeBuffer(op.getX().getType().getShape(), f32);
  Value logits = program->makeBuffer({1, experts}, f32), weights = program->makeBuffer({1, k}, f32);
  Value ids = program->makeBuffer({1, k}, builder.getI32Type());
  auto prefetch = rt::PrefetchOp::create(builder, op.getLoc(), program->getContext(), op.getLayer(), ids);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&prefetch.getBody());
  program->compute(Kind::norm, {viewsOf.lookup(op.getX()).front(), *norm}, {y},
                   {set("eps", op.getEps()), set("unit_offset", op.getUnitOffset()), set("group", int64_t(0)),
                    set("emit_float", true)});
  emitLinear(weightOf(op.getW()), *router, {y}, Value(), Value(), logits);
  // Only the order counts, and scores are in the order of the logits.
  program->compute(Kind::route, {logits}, {ids, weights},
                   {set("experts", experts), set("k", k), set("score", StringRef("none")), set("renormalize", false),
                    set("renorm_eps", APFloat(0.0f)), set("factor", APFloat(1.0f))});
  return success();
}

LogicalResult StepPlanner::planBeside(ExpertsOp op, WeightOp weight, SmallVectorImpl<Operation *> &products) {
  // What stands between two products of a shared expert takes one thread a few microseconds: it comes first.
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    if (isa<LinearOp, MultiLinearOp>(next)) {
      WeightOp other = weightOf(next->getOperand(1));
      if (!other || other.getLayer() != weight.getLayer())
        break;
    }
    bool isReady = isa<GluOp, QuantizeActOp>(next) &&
                   llvm::all_of(next->getOperands(), [&](Value value) { return viewsOf.contains(value); });
    if (isReady && failed(plan(next)))
      return failure();
  }
  program->nextStep();
  products = readyProducts(op, weight);
  return success();
}

LogicalResult StepPlanner::planExperts(ExpertsOp op) {
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
  int64_t downGroup = storedEncodingOf(downType).group;
  Views x = viewsOf.lookup(op.getX());
  Views h = downGroup ? makeActViews(pairs, inner, downGroup)
                      : Views{program->makeBuffer({pairs, inner}, builder.getF32Type())};
  Value y = program->makeBuffer({pairs, hidden}, builder.getF32Type());
  Value ids = viewsOf.lookup(op.getIds()).front();
  SmallVector<Operation *> beside;
  if (failed(planBeside(op, gate, beside)))
    return failure();
  program->touch(ids);
  auto experts = rt::ExpertsOp::create(builder, op.getLoc(), program->getContext(), gate.getLayer(), ids);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&experts.getBody());
    Value record = body->addArgument(MemRefType::get({recordBytes}, builder.getI8Type()), op.getLoc());
    Value routed = body->addArgument(MemRefType::get({pairs}, builder.getI32Type()), op.getLoc());
    for (PredictExpertsOp prediction : waiting.lookup(op))
      if (failed(emitPrediction(prediction)))
        return failure();
    if (!beside.empty()) {
      OpBuilder::InsertionGuard parallelGuard(builder);
      builder.createBlock(&rt::ParallelOp::create(builder, op.getLoc()).getBody());
      for (Operation *product : beside)
        if (failed(emitProducts(product)))
          return failure();
    }
    SmallVector<Value> ins{record, routed};
    ins.append(x.begin(), x.end());
    if (op.getXUp())
      llvm::append_range(ins, viewsOf.lookup(op.getXUp()));
    program->compute(
        Kind::gate_up, ins, h,
        {set("inner", inner), set("hidden", hidden), set("encoding", moec::nameOf(storedEncodingOf(gateType))),
         set("up_encoding", moec::nameOf(storedEncodingOf(weights[1].getTensorType()))), set("down_group", downGroup),
         set("gate_offset", places[0].getOffset()), set("up_offset", places[1].getOffset()), set("top_k", topK)});
    ins.assign({record, routed});
    ins.append(h.begin(), h.end());
    program->compute(Kind::down, ins, {y},
                     {set("inner", inner), set("hidden", hidden),
                      set("encoding", moec::nameOf(storedEncodingOf(downType))),
                      set("down_offset", places[2].getOffset()), set("top_k", topK)});
  }
  program->nextStep();
  program->compute(Kind::combine, {*sum, y, viewsOf.lookup(op.getWeights()).front()}, {*sum}, {set("k", topK)});
  viewsOf[op.getY()] = {*sum};
  return success();
}

LogicalResult StepPlanner::planGlu(GluOp op) {
  if (op.getGlu() != GluKind::swiglu)
    return op.emitOpError("has an activation other than swiglu, which has no step on the device yet");
  auto [outs, group] = makeResult(op.getY());
  program->compute(Kind::glu, {viewsOf.lookup(op.getGate()).front(), viewsOf.lookup(op.getUp()).front()}, outs,
                   {set("glu", stringifyGluKind(op.getGlu())), set("group", group)});
  viewsOf.try_emplace(op.getY());
  return success();
}

LogicalResult StepPlanner::planGate(GateOp op) {
  SmallVector<Value> ins{viewsOf.lookup(op.getX()).front(), viewsOf.lookup(op.getG()).front()};
  Views outs;
  int64_t group = 0;
  if (Value residual = op.getResidual()) {
    FailureOr<Value> sum = inPlace(op, residual);
    if (failed(sum))
      return failure();
    ins.push_back(*sum);
    viewsOf[op.getY()] = outs = {*sum};
  } else {
    std::tie(outs, group) = makeResult(op.getY());
  }
  program->compute(Kind::gate, ins, outs,
                   {set("activation", stringifyActivationKind(op.getKind())), set("group", group),
                    set("residual", bool(op.getResidual()))});
  return success();
}
