// SPDX-License-Identifier: Apache-2.0
/// \file
/// Steps of a Gated DeltaNet layer. Main source: docs/architecture.md ("Recurrent layers").
#include "passes/plan/RecurrentSteps.h"

#include "passes/plan/StepPlanner.h"

using namespace mlir;
using namespace mlir::rt;
using moe::StepPlanner;

namespace {

/// The constants of the steps.
struct DeltaSpecs {
  Builder builder;
  moe::DeltaStepOp op;
  int64_t group;

  void integer(SmallVectorImpl<NamedAttribute> &spec, StringRef key, int64_t value) {
    spec.push_back(builder.getNamedAttr(key, builder.getI64IntegerAttr(value)));
  }
  void conv(SmallVectorImpl<NamedAttribute> &spec) {
    spec.push_back(builder.getNamedAttr("silu", builder.getBoolAttr(true)));
    moec::Encoding encoding = moe::storedEncodingOf(op.getQConv().getType());
    spec.push_back(builder.getNamedAttr("encoding", builder.getStringAttr(moec::nameOf(encoding))));
  }
  void rule(SmallVectorImpl<NamedAttribute> &spec) {
    ArrayRef<int64_t> shape = op.getState().getType().getShape();
    integer(spec, "key_heads", op.getK().getType().getDimSize(1) / shape[1]);
    integer(spec, "qk_dim", shape[1]);
    spec.push_back(builder.getNamedAttr("l2_eps", op.getL2EpsAttr()));
    spec.push_back(builder.getNamedAttr("scale", op.getScaleAttr()));
    spec.push_back(builder.getNamedAttr("head_map", builder.getStringAttr(moe::stringifyHeadMap(op.getHeadMap()))));
  }
  /// What rule and norm share.
  void heads(SmallVectorImpl<NamedAttribute> &spec) {
    ArrayRef<int64_t> shape = op.getState().getType().getShape();
    integer(spec, "value_heads", shape[0]);
    integer(spec, "v_dim", shape[2]);
  }
  void norm(SmallVectorImpl<NamedAttribute> &spec) {
    spec.push_back(builder.getNamedAttr("eps", op.getEpsAttr()));
    spec.push_back(
        builder.getNamedAttr("activation", builder.getStringAttr(moe::stringifyActivationKind(op.getKind()))));
    integer(spec, "group", group);
  }
};

/// The convolutions of q, k and v, in place, as one region.
void emitConvolutions(ProgramBuilder &program, DeltaSpecs &specs, const DeltaViews &views) {
  SmallVector<NamedAttribute> spec;
  specs.conv(spec);
  OpBuilder &builder = program.getBuilder();
  auto parallel = ParallelOp::create(builder, program.getLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&parallel.getBody());
  for (int i = 0; i < 3; ++i)
    program.compute(Kind::conv, {views.inputs[i], views.weights[i]}, {views.inputs[i], views.states[i]}, spec);
}

} // namespace

void rt::emitDeltaSteps(ProgramBuilder &program, moe::DeltaStepOp op, const DeltaViews &views, ValueRange y,
                        int64_t tokens, int64_t group) {
  DeltaSpecs specs{Builder(op.getContext()), op, group};
  const auto &in = views.inputs, &weights = views.weights;
  SmallVector<NamedAttribute> rule, norm;
  specs.heads(rule);
  specs.rule(rule);
  if (tokens == 1) {
    specs.conv(rule);
    specs.norm(rule);
    SmallVector<Value> ins(in), outs(y);
    ins.append(weights.begin(), weights.end());
    outs.append(views.states.begin(), views.states.end());
    return program.compute(Kind::delta_step, ins, outs, rule);
  }
  emitConvolutions(program, specs, views);
  program.nextStep();
  program.compute(Kind::delta_rule, {in[0], in[1], in[2], in[4], in[5], weights[3], weights[4]},
                  {in[2], views.states[3]}, rule);
  program.nextStep();
  specs.heads(norm);
  specs.norm(norm);
  program.compute(Kind::gated_norm, {in[2], in[3], weights[5]}, y, norm);
}

LogicalResult StepPlanner::planDeltaStep(moe::DeltaStepOp op) {
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
  QuantizeActOp quantize = onlyQuantized(op.getY());
  int64_t group = quantize ? moe::getAct(quantize.getY().getType()).getGroup() : 0;
  if (!group || op.getW().getType().getDimSize(0) % group)
    group = 0;
  Views y = group ? makeViews(quantize.getY().getType()) : viewsOf.lookup(op.getV());
  viewsOf[group ? quantize.getY() : op.getY()] = y;
  rt::emitDeltaSteps(*program, op, views, y, tokens, group);
  return success();
}

LogicalResult StepPlanner::planStates(Block &old) {
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
