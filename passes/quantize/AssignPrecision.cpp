// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gives each weight an encoding by its role and inserts the int8 activations that quantized products read.
/// Main source: passes/quantize/Passes.td, docs/architecture.md ("Precision").
#include "passes/quantize/Options.h"
#include "passes/quantize/Passes.h"

namespace mlir::moe {
#define GEN_PASS_DEF_ASSIGNPRECISION
#include "passes/quantize/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

enum class Preset { F32, Int8, Int4, Mixed };

/// The scheme of a role under a preset, or nothing for f32.
std::optional<Scheme> schemeFor(Preset preset, Role role) {
  if (preset == Preset::F32 || role == Role::norm || role == Role::router || role == Role::bias ||
      role == Role::recurrent)
    return std::nullopt;
  if (preset == Preset::Int8)
    return Scheme::i8;
  if (preset == Preset::Int4)
    return Scheme::i4;
  bool sensitive =
      role == Role::embedding || role == Role::head || role == Role::attention_v || role == Role::attention_o;
  return sensitive ? Scheme::i8 : Scheme::i4;
}

struct AssignPrecision : moe::impl::AssignPrecisionBase<AssignPrecision> {
  using AssignPrecisionBase::AssignPrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string presetName = optionOr(module, preset, "quant", "mixed");
    auto known = llvm::StringSwitch<std::optional<Preset>>(presetName)
                     .Case("f32", Preset::F32)
                     .Case("int8", Preset::Int8)
                     .Case("int4", Preset::Int4)
                     .Case("mixed", Preset::Mixed)
                     .Default(std::nullopt);
    if (!known) {
      module.emitError("expects a precision preset f32, int8, int4 or mixed, but got '") << presetName << "'";
      return signalPassFailure();
    }
    std::string groupName = optionOr(module, group, "group", "auto");
    int64_t groupSize = 32; // auto: the smallest group has the smallest error
    if (groupName != "auto" && (StringRef(groupName).getAsInteger(10, groupSize) ||
                                (groupSize != 32 && groupSize != 64 && groupSize != 128))) {
      module.emitError("expects a group of auto, 32, 64 or 128, but got '") << groupName << "'";
      return signalPassFailure();
    }
    for (WeightOp weight : module.getOps<WeightOp>())
      if (failed(encode(weight, *known, groupSize)))
        return signalPassFailure();
    SymbolTable symbols(module);
    module.walk([&](ParamOp param) {
      param.getValue().setType(cast<RankedTensorType>(symbols.lookup<WeightOp>(param.getWeight()).getType()));
    });
    module.walk([&](Operation *op) { quantizeOperand(op); });
  }

  LogicalResult encode(WeightOp weight, Preset preset, int64_t groupSize) {
    std::optional<Scheme> scheme = schemeFor(preset, weight.getRole());
    RankedTensorType type = weight.getTensorType();
    if (!scheme || weight.getQuant())
      return success();
    if (type.getShape().back() % groupSize)
      return weight.emitOpError("'") << weight.getLabel() << "' has " << type.getShape().back()
                                     << " columns, which groups of " << groupSize
                                     << " do not divide; choose a smaller group or f32";
    weight.setType(RankedTensorType::get(type.getShape(), type.getElementType(),
                                         QuantAttr::get(&getContext(), *scheme, groupSize, false)));
    weight.setRecipeAttr(RecipeAttr::get(&getContext(), StringAttr::get(&getContext(), "round_to_nearest")));
    return success();
  }

  /// Puts a quantize_act before the activation of a product whose weight has become quantized.
  void quantizeOperand(Operation *op) {
    OpOperand *x = nullptr;
    QuantAttr quant;
    if (auto linear = dyn_cast<LinearOp>(op)) {
      x = &linear.getXMutable();
      quant = moe::getQuant(linear.getW().getType());
    } else if (auto experts = dyn_cast<ExpertsOp>(op)) {
      x = &experts.getXMutable();
      quant = moe::getQuant(experts.getGate().getType());
    }
    if (!quant || moe::getAct(x->get().getType()))
      return;
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(x->get().getType());
    auto encoded =
        RankedTensorType::get(type.getShape(), type.getElementType(), ActAttr::get(&getContext(), quant.getGroup()));
    x->set(QuantizeActOp::create(builder, op->getLoc(), encoded, x->get()));
  }
};

} // namespace
