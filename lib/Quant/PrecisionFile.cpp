// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads and writes precision plans. Main source: docs/precision.md.
#include "lib/Quant/PrecisionFile.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Json.h"
#include "lib/Support/JsonCursor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>

namespace moec {

namespace {

constexpr llvm::StringLiteral kFormat = "moec precision plan 1";

/// Sets `text` to the string member `key` if it is there.
llvm::Error readText(const JsonCursor &object, llvm::StringRef key, std::string &text) {
  std::optional<JsonCursor> member = object.find(key);
  if (!member)
    return llvm::Error::success();
  auto value = member->string();
  if (!value)
    return value.takeError();
  if (value->empty())
    return member->wrong("a text that is not empty, or no such key");
  text = std::move(*value);
  return llvm::Error::success();
}

llvm::Error refuseOtherKeys(const JsonCursor &object, llvm::ArrayRef<llvm::StringRef> known) {
  auto members = object.members();
  if (!members)
    return members.takeError();
  for (const auto &[key, member] : *members)
    if (!llvm::is_contained(known, key))
      return object.complain("has the unknown key '" + key + "', expects " + llvm::join(known, ", "));
  return llvm::Error::success();
}

/// A line of `rules`, or of `tensors`, which names one tensor.
llvm::Expected<PrecisionRule> readRule(const JsonCursor &line, const llvm::Twine &label, bool isTensorLine) {
  constexpr std::array<llvm::StringRef, 5> kRuleKeys = {"roles", "layers", "tensor", "experts", "encoding"};
  constexpr std::array<llvm::StringRef, 5> kTensorKeys = {"tensor", "encoding", "role", "layer", "bits_per_weight"};
  if (llvm::Error error = refuseOtherKeys(line, isTensorLine ? kTensorKeys : kRuleKeys))
    return std::move(error);
  PrecisionRule rule;
  rule.label = label.str();
  std::string role; // says what the tensor is for; the tensor's name decides
  for (auto [key, text] : {std::pair("roles", &rule.roles), std::pair("layers", &rule.layers),
                           std::pair("tensor", &rule.tensor), std::pair("experts", &rule.experts)})
    if (llvm::Error error = readText(line, key, *text))
      return std::move(error);
  if (isTensorLine)
    if (auto tensor = line.at("tensor"); !tensor)
      return tensor.takeError();
  auto member = line.at("encoding");
  if (!member)
    return member.takeError();
  auto encoding = member->string();
  if (!encoding)
    return encoding.takeError();
  if (auto known = parseRuleEncoding(*encoding); !known)
    return member->complain("cannot be followed: " + llvm::toString(known.takeError()));
  rule.encoding = std::move(*encoding);
  if (llvm::Error error = checkRule(rule))
    return std::move(error);
  return rule;
}

/// Adds the lines of the array `key` to `rules`.
llvm::Error readRules(const JsonCursor &root, llvm::StringRef key, llvm::StringRef label,
                      std::vector<PrecisionRule> &rules) {
  std::optional<JsonCursor> array = root.find(key);
  if (!array)
    return llvm::Error::success();
  auto lines = array->elements();
  if (!lines)
    return lines.takeError();
  for (auto [index, line] : llvm::enumerate(*lines)) {
    auto rule = readRule(line, root.fileName() + ": " + label + " " + llvm::Twine(index + 1),
                         /*isTensorLine=*/key == "tensors");
    if (!rule)
      return rule.takeError();
    rules.push_back(std::move(*rule));
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<PrecisionPlan> parsePrecisionPlan(llvm::StringRef text, llvm::StringRef file) {
  auto json = parseJson(text, file);
  if (!json)
    return json.takeError();
  JsonCursor root(file, *json);
  if (llvm::Error error = refuseOtherKeys(root, {"format", "quant", "group", "tensors", "rules"}))
    return std::move(error);
  PrecisionPlan plan;
  std::string format = kFormat.str();
  for (auto [key, target] :
       {std::pair("format", &format), std::pair("quant", &plan.quant), std::pair("group", &plan.group)})
    if (llvm::Error error = readText(root, key, *target))
      return std::move(error);
  if (format != kFormat)
    return root.at("format")->wrong("'" + kFormat + "'");
  if (llvm::Error error = readRules(root, "tensors", "tensor line", plan.rules))
    return std::move(error);
  if (llvm::Error error = readRules(root, "rules", "rule", plan.rules))
    return std::move(error);
  if (plan.quant.empty() && plan.group.empty() && plan.rules.empty())
    return root.complain("says nothing: expects 'quant', 'group', or a line in 'tensors' or 'rules'");
  return plan;
}

double bitsPerWeight(const Encoding &encoding, int64_t columns) {
  return encoding.bits() + 16.0 * static_cast<double>(encoding.numScales(columns)) / static_cast<double>(columns);
}

std::string writePrecisionPlan(llvm::StringRef quant, llvm::StringRef group, llvm::ArrayRef<WeightFacts> weights,
                               llvm::ArrayRef<Encoding> encodings) {
  JsonArray lines;
  for (const auto &[weight, encoding] : llvm::zip_equal(weights, encodings)) {
    if (weight.isVector)
      continue;
    JsonObject line;
    line.set("tensor", weight.name).set("role", weight.role);
    if (weight.layer >= 0)
      line.set("layer", weight.layer);
    line.set("encoding", nameOf(encoding)).set("bits_per_weight", bitsPerWeight(encoding, weight.columns));
    lines.push_back(std::move(line));
  }
  // A line for each tensor: JSON's own line breaks would spread one over six.
  std::string text = "{\n  \"format\": " + writeJson(Json(llvm::StringRef(kFormat)), 0) +
                     ",\n  \"quant\": " + writeJson(Json(quant), 0) + ",\n  \"group\": " + writeJson(Json(group), 0) +
                     ",\n  \"tensors\": [";
  for (auto [index, line] : llvm::enumerate(lines))
    text += (index ? ",\n    " : "\n    ") + writeJson(line, 0);
  text += lines.empty() ? "],\n" : "\n  ],\n";
  return text + "  \"rules\": []\n}\n";
}

} // namespace moec
