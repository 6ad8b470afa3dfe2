// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gives each weight an encoding by its role and inserts the int8 activations that quantized products read.
/// Main source: passes/quantize/Passes.td, docs/architecture.md ("Precision").
#include "passes/quantize/Options.h"
#include "passes/quantize/Passes.h"

#include "llvm/ADT/StringExtras.h"

namespace mlir::moe {
#define GEN_PASS_DEF_ASSIGNPRECISION
#include "passes/quantize/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// What a preset gives to the weights whose error matters most (embedding, head, V, O), and to all others. Router,
/// norms, biases and recurrences stay f32.
struct Preset {
  llvm::StringLiteral name;
  moec::Encoding sensitive, other;
};

constexpr moec::Encoding kF32 = moec::Encoding::f32(), kF16 = moec::Encoding::f16();
/// Groups are those of the option `group`; 32 only stands here for an integer kind.
constexpr moec::Encoding kI8 = moec::Encoding::i8(32), kI6 = moec::Encoding::i6(32), kI4 = moec::Encoding::i4(32);
constexpr moec::Encoding kI8m = moec::Encoding::i8m(32), kI4m = moec::Encoding::i4m(32);

constexpr Preset kPresets[] = {{"f32", kF32, kF32}, {"f16", kF16, kF16},   {"int8", kI8, kI8},    {"int6", kI6, kI6},
                               {"int4", kI4, kI4},  {"int8m", kI8m, kI8m}, {"int4m", kI4m, kI4m}, {"mixed", kI8, kI4}};

/// The encoding of a role under a preset.
moec::Encoding encodingFor(const Preset &preset, Role role, int64_t group) {
  if (role == Role::norm || role == Role::router || role == Role::bias || role == Role::recurrent)
    return kF32;
  bool isSensitive =
      role == Role::embedding || role == Role::head || role == Role::attention_v || role == Role::attention_o;
  moec::Encoding encoding = isSensitive ? preset.sensitive : preset.other;
  encoding.group = encoding.isInteger() ? group : 0;
  return encoding;
}

struct AssignPrecision : moe::impl::AssignPrecisionBase<AssignPrecision> {
  using AssignPrecisionBase::AssignPrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string presetName = optionOr(module, preset, "quant", "mixed");
    const Preset *known = llvm::find_if(kPresets, [&](const Preset &preset) { return preset.name == presetName; });
    if (known == std::end(kPresets)) {
      module.emitError("expects a precision preset ")
          << llvm::join(llvm::map_range(kPresets, [](const Preset &preset) { return preset.name; }), ", ")
          << ", but got '" << presetName << "'";
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

  LogicalResult encode(WeightOp weight, const Preset &preset, int64_t groupSize) {
    moec::Encoding encoding = encodingFor(preset, weight.getRole(), groupSize);
    RankedTensorType type = weight.getTensorType();
    if (encoding == kF32 || weight.getQuant())
      return success();
    if (encoding.isInteger() && type.getShape().back() % groupSize)
      return weight.emitOpError("'") << weight.getLabel() << "' has " << type.getShape().back()
                                     << " columns, which groups of " << groupSize
                                     << " do not divide; choose a smaller group or f16";
    weight.setType(
        RankedTensorType::get(type.getShape(), type.getElementType(), moe::quantOf(&getContext(), encoding)));
    weight.setRecipeAttr(RecipeAttr::get(&getContext(), StringAttr::get(&getContext(), "round_to_nearest")));
    return success();
  }

  /// Puts a quantize_act before the activation of a product whose weight has become integer.
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
    if (!quant || !quant.isInteger() || moe::getAct(x->get().getType()))
      return;
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(x->get().getType());
    auto encoded =
        RankedTensorType::get(type.getShape(), type.getElementType(), ActAttr::get(&getContext(), quant.getGroup()));
    x->set(QuantizeActOp::create(builder, op->getLoc(), encoded, x->get()));
  }
};

} // namespace
