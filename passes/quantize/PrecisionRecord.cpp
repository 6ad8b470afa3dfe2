// SPDX-License-Identifier: Apache-2.0
/// \file
/// Precision rules in module attributes. Main source: docs/precision.md.
#include "passes/quantize/PrecisionRecord.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::moe;

namespace {
struct TextField {
  StringLiteral key;
  std::string moec::PrecisionRule::*text;
};
} // namespace

static constexpr StringLiteral kAttribute = "moe.precision", kGroupLimit = "group_limit";
static constexpr TextField kFields[] = {
    {"roles", &moec::PrecisionRule::roles},       {"layers", &moec::PrecisionRule::layers},
    {"tensor", &moec::PrecisionRule::tensor},     {"experts", &moec::PrecisionRule::experts},
    {"encoding", &moec::PrecisionRule::encoding}, {"label", &moec::PrecisionRule::label}};

std::vector<moec::WeightFacts> moe::factsOf(ModuleOp module) {
  std::vector<moec::WeightFacts> weights;
  for (WeightOp weight : module.getOps<WeightOp>()) {
    RankedTensorType type = weight.getTensorType();
    moec::WeightFacts facts;
    facts.name = weight.getLabel();
    facts.source = weight.getSource().getDtype().str();
    facts.role = stringifyRole(weight.getRole()).str();
    facts.layer = static_cast<int64_t>(weight.getLayer());
    facts.columns = type.getShape().back();
    facts.isVector = type.getRank() == 1;
    facts.isTied = bool(tiedHeadOf(weight));
    if (type.getRank() == 3)
      for (int64_t piece = 0; piece < type.getDimSize(0); ++piece)
        facts.pieces.push_back(weight.getLabel(piece));
    weights.push_back(std::move(facts));
  }
  return weights;
}

FailureOr<std::vector<moec::PrecisionRule>> moe::rulesOf(ModuleOp module) {
  std::vector<moec::PrecisionRule> rules;
  Attribute attribute = module->getAttr(kAttribute);
  if (!attribute)
    return rules;
  auto entries = dyn_cast<ArrayAttr>(attribute);
  if (!entries)
    return module.emitError("expects an array of rules in ") << kAttribute << ", but got " << attribute;
  for (Attribute entry : entries) {
    auto dictionary = dyn_cast<DictionaryAttr>(entry);
    moec::PrecisionRule rule;
    rule.label = "rule " + std::to_string(rules.size() + 1);
    for (NamedAttribute member : dictionary ? dictionary.getValue() : ArrayRef<NamedAttribute>()) {
      const TextField *field =
          llvm::find_if(kFields, [&](const TextField &field) { return member.getName() == field.key; });
      auto text = dyn_cast<StringAttr>(member.getValue());
      if (field != std::end(kFields) && text)
        rule.*(field->text) = text.str();
      else if (member.getName() == kGroupLimit && isa<UnitAttr>(member.getValue()))
        rule.isGroupLimit = true;
      else
        dictionary = {};
    }
    if (!dictionary || rule.encoding.empty())
      return module.emitError("expects rules of texts with an encoding in ") << kAttribute << ", but got " << entry;
    rules.push_back(std::move(rule));
  }
  return rules;
}

void moe::setRules(ModuleOp module, ArrayRef<moec::PrecisionRule> rules) {
  module->removeAttr(kAttribute);
  if (rules.empty())
    return;
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  for (const moec::PrecisionRule &rule : rules) {
    SmallVector<NamedAttribute> members;
    for (const TextField &field : kFields)
      if (const std::string &text = rule.*(field.text); !text.empty())
        members.push_back(builder.getNamedAttr(field.key, builder.getStringAttr(text)));
    if (rule.isGroupLimit)
      members.push_back(builder.getNamedAttr(kGroupLimit, builder.getUnitAttr()));
    entries.push_back(builder.getDictionaryAttr(members));
  }
  module->setAttr(kAttribute, builder.getArrayAttr(entries));
}
