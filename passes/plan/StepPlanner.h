// SPDX-License-Identifier: Apache-2.0
/// \file
/// The planner of one entry function: each L2 op becomes one or a few steps on buffers. Its steps are in
/// FunctionPlanner.cpp, those of attention in AttentionSteps.cpp, of feed-forward networks in FeedForwardSteps.cpp,
/// of Gated DeltaNet in RecurrentSteps.cpp.
/// Part of the plan stage. Main source: docs/architecture.md ("Plan").
#ifndef PASSES_PLAN_STEPPLANNER_H
#define PASSES_PLAN_STEPPLANNER_H

#include "passes/plan/FunctionPlanner.h"
#include "passes/plan/ProgramBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace mlir::moe {

/// The views that hold a tensor: one for floats, codes | scales | sums for an encoded activation.
using Views = SmallVector<Value, 3>;

/// Plans one function; used once. Not thread-safe.
class StepPlanner {
public:
  StepPlanner(func::FuncOp function, int64_t tokens, const KvPlan &kv, const StatePlan &state, const ArenaPlan &arena,
              DictionaryAttr pack)
      : function(function), symbols(function->getParentOfType<ModuleOp>()), tokens(tokens), kv(kv), state(state),
        arena(arena), pack(pack), builder(function.getContext()) {}

  FailureOr<int64_t> run();

private:
  LogicalResult plan(Operation *op);
  LogicalResult planEmbed(EmbedOp op);
  /// An embedding that is a resident matrix: the head of a tied model.
  LogicalResult planGather(EmbedOp op, WeightOp table);
  LogicalResult planNorm(Operation *op, Value x, Value w, APFloat eps, bool unitOffset, Value y, Value q);
  LogicalResult planQuantize(QuantizeActOp op);
  LogicalResult planLinear(LinearOp op);
  LogicalResult planMultiLinear(MultiLinearOp op);
  LogicalResult planRopeAppend(RopeAppendOp op);
  LogicalResult planAttention(AttentionOp op);
  LogicalResult planRouter(RouterTopkOp op);
  LogicalResult planExperts(ExpertsOp op);
  /// Plans the steps behind `op` in its layer, that of `weight`, that need no expert, and then finds the products that
  /// can share the experts' region.
  LogicalResult planBeside(ExpertsOp op, WeightOp weight, SmallVectorImpl<Operation *> &products);
  LogicalResult planPrediction(PredictExpertsOp op);
  /// Emits the steps of a prediction at the current place.
  LogicalResult emitPrediction(PredictExpertsOp op);
  LogicalResult planGlu(GluOp op);
  LogicalResult planGate(GateOp op);
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
  /// A product: bias and residual may be null.
  void emitLinear(WeightOp weight, Value w, const Views &x, Value bias, Value residual, Value y);
  /// Emits the products of `op`, a linear without residual or a multi_linear, at the current place.
  LogicalResult emitProducts(Operation *op);
  /// The products behind `op` in its layer that could start with it: their activations are there.
  SmallVector<Operation *> readyProducts(Operation *op, WeightOp weight);
  /// Emits a product of `weight`, by `emitFirst`, and those that are ready with it as one region: threads join once.
  LogicalResult emitRegion(Operation *op, WeightOp weight, llvm::function_ref<LogicalResult()> emitFirst);
  /// The quantization that is the only user of `y`, or nothing: the step that computes y can do it.
  QuantizeActOp onlyQuantized(Value y);
  /// Views for `y` or for the activation that its only user makes of it, and the group of that, or 0.
  std::pair<Views, int64_t> makeResult(Value y);
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
  /// Predictions that wait until the reads of these experts have begun.
  llvm::DenseMap<ExpertsOp, SmallVector<PredictExpertsOp>> waiting;
};

/// Of a weight that has been placed: its encoding has a stored form.
inline moec::Encoding storedEncodingOf(RankedTensorType type) {
  return llvm::cantFail(moe::encodingOf(moe::getQuant(type)));
}

} // namespace mlir::moe

#endif
