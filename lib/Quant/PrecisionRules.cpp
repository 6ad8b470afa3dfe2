// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matches rules against weights. Main source: docs/precision.md.
#include "lib/Quant/PrecisionRules.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

#include <algorithm>
#include <limits>

namespace moec {

//===-- Numbers and names -----------------------------------------------------------------------------------------===//

llvm::Expected<NumberSet> NumberSet::parse(llvm::StringRef text) {
  NumberSet set;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    auto [first, last] = part.trim().split('-');
    int64_t begin = 0, end = 0;
    if (first.getAsInteger(10, begin) || begin < 0 ||
        (part.contains('-') ? last.getAsInteger(10, end) || end < begin : (end = begin, false)))
      return fault("is '" + text + "', expects numbers and ranges such as 0-3,7");
    set.ranges.emplace_back(begin, end);
  }
  return set;
}

bool NumberSet::contains(int64_t number) const {
  return llvm::any_of(ranges, [&](auto range) { return range.first <= number && number <= range.second; });
}

int64_t NumberSet::largest() const {
  int64_t largest = -1;
  for (auto [first, last] : ranges)
    largest = std::max(largest, last);
  return largest;
}

std::string formatNumbers(llvm::ArrayRef<int64_t> numbers) {
  std::string text;
  for (size_t begin = 0; begin < numbers.size();) {
    size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[begin]);
    if (end - begin > 1)
      text += "-" + std::to_string(numbers[end - 1]);
    begin = end;
  }
  return text;
}

llvm::ArrayRef<llvm::StringRef> roleNames() {
  static constexpr llvm::StringRef kNames[] = {"embedding",      "head",           "norm",
                                               "attention_q",    "attention_k",    "attention_v",
                                               "attention_o",    "router",         "expert_gate",
                                               "expert_up",      "expert_down",    "ffn_gate",
                                               "ffn_up",         "ffn_down",       "shared_gate",
                                               "shared_up",      "shared_down",    "recurrent",
                                               "bias",           "attention_gate", "delta_q",
                                               "delta_k",        "delta_v",        "delta_gate",
                                               "delta_out",      "shared_router",  "recurrent_decay",
                                               "recurrent_beta", "recurrent_conv"};
  return kNames;
}

std::optional<std::string> reasonForFloor(llvm::StringRef name) {
  llvm::StringRef rest = name;
  if (!rest.consume_front("int") && !rest.consume_front("i") && !rest.consume_front("q") && !rest.consume_front("iq"))
    return std::nullopt;
  unsigned bits = 0;
  if (rest.consumeInteger(10, bits) || bits < 1 || bits > 3)
    return std::nullopt;
  return ("'" + name + "' has " + llvm::Twine(bits) +
          " bits: 4 bits are the floor for quality; at the same size a smaller model with 4 bits is better than a "
          "larger one with fewer; 'moec precision MODEL --pack-size 1' names the smallest pack")
      .str();
}

llvm::Expected<Encoding> parseRuleEncoding(llvm::StringRef text) {
  if (std::optional<std::string> reason = reasonForFloor(text))
    return fault(*reason);
  return parseEncoding(text);
}

std::string WeightFacts::reasonForF32() const {
  if (role == "router")
    return "the router chooses the experts: a wrong choice costs more than its few bytes";
  if (role == "shared_router")
    return "the gate of the shared expert scales all of its output and is one row";
  if (llvm::StringRef(role).starts_with("recurrent"))
    return "recurrent parameters act on the state of all positions";
  if (isVector || role == "norm" || role == "bias")
    return "vectors are few bytes and scale every channel";
  return "";
}

std::string WeightFacts::reasonAgainst(const Encoding &encoding) const {
  if (encoding == Encoding::f32() || role == "recurrent_decay" || role == "recurrent_beta")
    return "";
  bool isHalfEnough = role == "router" || role == "recurrent_conv";
  if (encoding == Encoding::f16() && isHalfEnough)
    return "";
  std::string reason = reasonForF32();
  if (reason.empty())
    return "";
  return (isHalfEnough ? "which stay f32 or become f16: " : "which stay f32: ") + reason;
}

//===-- Rules -----------------------------------------------------------------------------------------------------===//

namespace {

/// A rule whose selectors are parsed.
class Matcher {
public:
  static llvm::Expected<Matcher> create(const PrecisionRule &rule, int64_t numLayers);

  /// Whether `weight` is selected. Errors: only some of its experts are.
  llvm::Expected<bool> matches(const WeightFacts &weight) const;
  llvm::Error apply(const WeightFacts &weight, Encoding &target) const;
  std::string reasonAgainst(const WeightFacts &weight) const { return weight.reasonAgainst(encoding); }
  bool selectsByRoleOrName() const { return !rule->roles.empty() || !rule->tensor.empty(); }
  llvm::Error complain(const llvm::Twine &text) const { return fault(rule->label + " " + text); }

private:
  explicit Matcher(const PrecisionRule &rule) : rule(&rule) {}
  llvm::Error parseRoles();
  bool isSelected(const WeightFacts &weight, size_t piece) const {
    return (!glob || glob->match(weight.pieces[piece])) && (!experts || experts->contains(int64_t(piece)));
  }

  const PrecisionRule *rule;
  Encoding encoding;
  std::vector<llvm::StringRef> roles;
  std::optional<NumberSet> layers, experts;
  std::optional<llvm::GlobPattern> glob;
};

} // namespace

llvm::Error Matcher::parseRoles() {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(rule->roles).split(names, ',');
  for (llvm::StringRef name : names) {
    auto pattern = llvm::GlobPattern::create(name.trim());
    size_t before = roles.size();
    if (pattern)
      llvm::copy_if(roleNames(), std::back_inserter(roles), [&](llvm::StringRef role) { return pattern->match(role); });
    else
      llvm::consumeError(pattern.takeError());
    if (roles.size() == before)
      return complain("names the role '" + name.trim() + "', expects one of " + llvm::join(roleNames(), ", "));
  }
  return llvm::Error::success();
}

llvm::Expected<Matcher> Matcher::create(const PrecisionRule &rule, int64_t numLayers) {
  Matcher matcher(rule);
  auto encoding = parseRuleEncoding(rule.encoding);
  if (!encoding)
    return matcher.complain("cannot be followed: " + llvm::toString(encoding.takeError()));
  matcher.encoding = *encoding;
  if (!rule.roles.empty())
    if (llvm::Error error = matcher.parseRoles())
      return std::move(error);
  for (auto [text, set, what] :
       {std::tuple(&rule.layers, &matcher.layers, "layers"), std::tuple(&rule.experts, &matcher.experts, "experts")}) {
    if (text->empty())
      continue;
    auto numbers = NumberSet::parse(*text);
    if (!numbers)
      return matcher.complain(llvm::Twine(what) + " " + llvm::toString(numbers.takeError()));
    *set = *numbers;
  }
  if (matcher.layers && matcher.layers->largest() >= numLayers)
    return matcher.complain("names layer " + llvm::Twine(matcher.layers->largest()) +
                            ", which is out of range: the model has layers 0 to " + llvm::Twine(numLayers - 1));
  if (!rule.tensor.empty()) {
    auto glob = llvm::GlobPattern::create(rule.tensor);
    if (!glob)
      return matcher.complain("has the tensor pattern '" + rule.tensor + "': " + llvm::toString(glob.takeError()));
    matcher.glob = std::move(*glob);
  }
  return matcher;
}

llvm::Expected<bool> Matcher::matches(const WeightFacts &weight) const {
  if ((!roles.empty() && !llvm::is_contained(roles, weight.role)) || (layers && !layers->contains(weight.layer)))
    return false;
  if (weight.pieces.empty())
    return !experts && (!glob || glob->match(weight.name));
  std::vector<int64_t> selected, others;
  for (size_t piece = 0; piece < weight.pieces.size(); ++piece)
    (isSelected(weight, piece) ? selected : others).push_back(static_cast<int64_t>(piece));
  if (experts && experts->largest() >= int64_t(weight.pieces.size()))
    return complain("names expert " + llvm::Twine(experts->largest()) + ", which is out of range: layer " +
                    llvm::Twine(weight.layer) + " has experts 0 to " + llvm::Twine(weight.pieces.size() - 1));
  if (!selected.empty() && !others.empty())
    return complain("selects experts " + formatNumbers(selected) + " of layer " + llvm::Twine(weight.layer) +
                    ", but not " + formatNumbers(others) + " ('" + weight.name +
                    "'): the experts of a layer share one encoding; select all of them, or by layer");
  return !selected.empty() || (glob && !experts && glob->match(weight.name));
}

llvm::Error Matcher::apply(const WeightFacts &weight, Encoding &target) const {
  Encoding wanted = encoding;
  while (rule->isGroupLimit && wanted.group > 32 && weight.columns % wanted.group)
    wanted.group /= 2;
  if (rule->isGroupLimit && wanted.isInteger() && weight.columns % wanted.group)
    wanted = Encoding::f16();
  if (llvm::Error error = checkEncoding(wanted, weight.columns, weight.name))
    return complain("cannot be followed: " + llvm::toString(std::move(error)));
  target = wanted;
  return llvm::Error::success();
}

llvm::Error checkRule(const PrecisionRule &rule) {
  return Matcher::create(rule, std::numeric_limits<int64_t>::max()).takeError();
}

llvm::Error applyRules(llvm::ArrayRef<WeightFacts> weights, llvm::ArrayRef<PrecisionRule> rules,
                       std::vector<Encoding> &encodings) {
  int64_t numLayers = 0;
  for (const WeightFacts &weight : weights)
    numLayers = std::max(numLayers, weight.layer + 1);
  const WeightFacts *tied = llvm::find_if(weights, [](const WeightFacts &weight) { return weight.isTied; });
  const WeightFacts *head = llvm::find_if(weights, [](const WeightFacts &weight) { return weight.role == "head"; });
  bool follows = tied != weights.end() && head != weights.end();
  for (const PrecisionRule &rule : rules) {
    auto matcher = Matcher::create(rule, numLayers);
    if (!matcher)
      return matcher.takeError();
    bool isUsed = false, hasTied = false, hasHead = false;
    std::string refused;
    for (auto [weight, encoding] : llvm::zip_equal(weights, encodings)) {
      auto matches = matcher->matches(weight);
      if (!matches)
        return matches.takeError();
      if (!*matches)
        continue;
      if (std::string reason = matcher->reasonAgainst(weight); !reason.empty()) {
        refused = "'" + weight.name + "' and the like, " + reason;
        continue;
      }
      isUsed = true;
      hasTied |= &weight == tied;
      hasHead |= &weight == head;
      if (llvm::Error error = matcher->apply(weight, encoding))
        return error;
    }
    follows &= !hasTied || hasHead;
    if (!isUsed && !refused.empty())
      return matcher->complain("selects only " + refused);
    if (!isUsed)
      return matcher->complain("matches no tensor of the model");
  }
  if (follows)
    encodings[tied - weights.begin()] = encodings[head - weights.begin()];
  return llvm::Error::success();
}

} // namespace moec
