// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gives each weight an encoding by presets and rules, and inserts the int8 activations that quantized products read.
/// Main source: passes/quantize/Passes.td, docs/precision.md.
#include "passes/quantize/Options.h"
#include "passes/quantize/Passes.h"
#include "passes/quantize/PrecisionRecord.h"

#include "lib/Quant/Presets.h"
#include "lib/Quant/SourceEncoding.h"

namespace mlir::moe {
#define GEN_PASS_DEF_ASSIGNPRECISION
#include "passes/quantize/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct AssignPrecision : moe::impl::AssignPrecisionBase<AssignPrecision> {
  using AssignPrecisionBase::AssignPrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<moec::WeightFacts> weights = factsOf(module);
    auto encodings = moec::presetEncodings(weights, optionOr(module, preset, "quant", "mixed"),
                                           optionOr(module, group, "group", "auto"));
    if (!encodings) {
      module.emitError(llvm::toString(encodings.takeError()));
      return signalPassFailure();
    }
    FailureOr<std::vector<moec::PrecisionRule>> rules = rulesOf(module);
    if (failed(rules))
      return signalPassFailure();
    if (llvm::Error error = moec::applyRules(weights, *rules, *encodings)) {
      module.emitError(llvm::toString(std::move(error)));
      return signalPassFailure();
    }
    for (auto [weight, encoding] : llvm::zip_equal(module.getOps<WeightOp>(), *encodings))
      if (failed(encode(weight, encoding)))
        return signalPassFailure();
    SymbolTable symbols(module);
    module.walk([&](ParamOp param) {
      param.getValue().setType(cast<RankedTensorType>(symbols.lookup<WeightOp>(param.getWeight()).getType()));
    });
    module.walk([&](LinearOp linear) { encodeOperand(linear.getXMutable(), linear.getW()); });
    module.walk([&](ExpertsOp experts) { encodeOperands(experts); });
  }

  LogicalResult encode(WeightOp weight, moec::Encoding encoding) {
    RankedTensorType type = weight.getTensorType();
    if (encoding == moec::Encoding::f32() || weight.getQuant())
      return success();
    if (llvm::Error error = moec::checkEncoding(encoding, type.getShape().back(), weight.getLabel()))
      return weight.emitOpError(llvm::toString(std::move(error)));
    weight.setType(
        RankedTensorType::get(type.getShape(), type.getElementType(), moe::quantOf(&getContext(), encoding)));
    bool isVerbatim = moec::isVerbatim(weight.getSource().getDtype(), encoding);
    StringRef method = isVerbatim ? StringRef(kVerbatim) : StringRef("round_to_nearest");
    weight.setRecipeAttr(RecipeAttr::get(&getContext(), StringAttr::get(&getContext(), method)));
    return success();
  }

  /// `x` in the form that products with `weight` read: itself, or int8 codes in the weight's groups.
  Value encodedFor(Operation *user, Value x, Value weight) {
    QuantAttr quant = moe::getQuant(weight.getType());
    if (!quant || !quant.isInteger() || moe::getAct(x.getType()))
      return x;
    OpBuilder builder(user);
    auto type = cast<RankedTensorType>(x.getType());
    auto encoded =
        RankedTensorType::get(type.getShape(), type.getElementType(), ActAttr::get(&getContext(), quant.getGroup()));
    return QuantizeActOp::create(builder, user->getLoc(), encoded, x);
  }

  void encodeOperand(OpOperand &x, Value weight) { x.set(encodedFor(x.getOwner(), x.get(), weight)); }

  /// Up gets an operand of its own where it needs another form of x than gate.
  void encodeOperands(ExpertsOp experts) {
    Value x = experts.getX(), gateInput = encodedFor(experts, x, experts.getGate());
    QuantAttr gate = moe::getQuant(experts.getGate().getType()), up = moe::getQuant(experts.getUp().getType());
    auto groupOf = [](QuantAttr quant) { return quant && quant.isInteger() ? quant.getGroup() : 0; };
    if (groupOf(gate) != groupOf(up) && !experts.getXUp() && !moe::getAct(x.getType()))
      experts.getXUpMutable().assign(encodedFor(experts, x, experts.getUp()));
    experts.getXMutable().assign(gateInput);
  }
};

} // namespace
