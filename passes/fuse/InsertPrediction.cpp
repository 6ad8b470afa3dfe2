// SPDX-License-Identifier: Apache-2.0
/// \file
/// Guesses the experts of each layer ahead of its router. Main source: passes/fuse/Passes.td.
#include "passes/fuse/Passes.h"

namespace mlir::moe {
#define GEN_PASS_DEF_INSERTPREDICTION
#include "passes/fuse/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// What stands in front of a layer's experts.
struct RoutedLayer {
  RouterTopkOp router;
  Value sum, norm; ///< the residual sum that the router sees normalized, and the factors of that norm
  FloatAttr eps;
  UnitAttr unitOffset;
  int64_t layer;
};

/// The sum to which `value` adds a term, or null.
Value summand(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto linear = dyn_cast_if_present<LinearOp>(op))
    return linear.getResidual();
  if (auto experts = dyn_cast_if_present<ExpertsOp>(op))
    return experts.getResidual();
  if (auto gate = dyn_cast_if_present<GateOp>(op))
    return gate.getResidual();
  return Value();
}

struct InsertPrediction : moe::impl::InsertPredictionBase<InsertPrediction> {
  using InsertPredictionBase::InsertPredictionBase;

  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    auto options = module->getAttrOfType<DictionaryAttr>("moe.options");
    auto recorded = options ? options.getAs<StringAttr>("predict") : StringAttr();
    StringRef chosen = !points.empty() ? StringRef(points) : recorded ? recorded.getValue() : "on";
    if (!llvm::is_contained({"on", "far", "early", "late", "off"}, chosen)) {
      getOperation().emitError("expects points of on, far, early, late or off, but got '") << chosen << "'";
      return signalPassFailure();
    }
    auto isChosen = [&](StringRef point) { return chosen == "on" || chosen == point; };
    SymbolTable symbols(module);
    SmallVector<ExpertsOp> layers(getOperation().getOps<ExpertsOp>());
    for (ExpertsOp experts : layers) {
      std::optional<RoutedLayer> routed = describe(experts, symbols);
      // The sum before the layer's own attention was added.
      Value before = routed ? summand(routed->sum) : Value();
      if (!before || !before.getDefiningOp())
        continue;
      if (isChosen("late"))
        insert(*routed, before, before.getDefiningOp()->getNextNode());
      ExpertsOp previous = expertsBehind(before);
      if (previous && isChosen("early"))
        insert(*routed, previous.getResidual(), previous);
      if (ExpertsOp second = previous ? expertsBehind(previous.getResidual()) : ExpertsOp(); second && isChosen("far"))
        insert(*routed, second.getResidual(), second);
    }
  }

  /// Of a layer that computes one token and whose router reads a normalized sum.
  std::optional<RoutedLayer> describe(ExpertsOp experts, SymbolTable &symbols) {
    auto router = experts.getIds().getDefiningOp<RouterTopkOp>();
    auto gate = experts.getGate().getDefiningOp<ParamOp>();
    auto weight = gate ? symbols.lookup<WeightOp>(gate.getWeight()) : WeightOp();
    if (!router || !weight || router.getX().getType().getDimSize(0) != 1 || !router.getW().getDefiningOp<ParamOp>())
      return std::nullopt;
    auto layer = static_cast<int64_t>(weight.getLayer());
    if (auto norm = router.getX().getDefiningOp<NormQuantizeOp>())
      return RoutedLayer{router, norm.getX(), norm.getW(), norm.getEpsAttr(), norm.getUnitOffsetAttr(), layer};
    auto norm = router.getX().getDefiningOp<RmsNormOp>();
    if (norm && norm.getBlock() == norm.getX().getType().getDimSize(1))
      return RoutedLayer{router, norm.getX(), norm.getW(), norm.getEpsAttr(), norm.getUnitOffsetAttr(), layer};
    return std::nullopt;
  }

  /// The experts that are part of `sum`, those of the latest layer.
  static ExpertsOp expertsBehind(Value sum) {
    while (sum && !sum.getDefiningOp<ExpertsOp>())
      sum = summand(sum);
    auto experts = sum ? sum.getDefiningOp<ExpertsOp>() : ExpertsOp();
    return experts && experts.getResidual() ? experts : ExpertsOp();
  }

  static void insert(RoutedLayer &routed, Value x, Operation *place) {
    auto norm = routed.norm.getDefiningOp<ParamOp>();
    if (!norm)
      return;
    OpBuilder builder(place);
    Location loc = routed.router.getLoc();
    // The layer's own uses of the two weights come later.
    auto factors = cast<ParamOp>(builder.clone(*norm));
    auto router = cast<ParamOp>(builder.clone(*routed.router.getW().getDefiningOp()));
    PredictExpertsOp::create(builder, loc, x, factors.getValue(), router.getValue(),
                             builder.getI64IntegerAttr(routed.layer), routed.router.getKAttr(), routed.eps,
                             routed.unitOffset);
  }
};

} // namespace
