// SPDX-License-Identifier: Apache-2.0
/// \file
/// Walks down the ladder until the size fits, then spends what is left. Main source: docs/precision.md.
#include "lib/Quant/PrecisionTarget.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Sizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

namespace moec {

namespace {

/// From the least to the most sensitive kind of weight: lowered in this order, raised again in the opposite one.
constexpr llvm::StringLiteral kKinds[] = {"expert_gate,expert_up",
                                          "expert_down",
                                          "ffn_gate,ffn_up,shared_gate,shared_up",
                                          "ffn_down,shared_down",
                                          "attention_q,attention_k,attention_gate,delta_q,delta_k,delta_gate",
                                          "attention_o,attention_v,delta_v,delta_out",
                                          "embedding",
                                          "head"};

/// How far a kind of weight can go down. At equal bits, 4 bits with a minimum and a wider group lose less than without
/// (measured, docs/architecture.md, "Precision").
constexpr Encoding kRungs[] = {Encoding::i8(32),  Encoding::i6(64),   Encoding::i4m(32),
                               Encoding::i4m(64), Encoding::i4m(128), Encoding::i4(128)};
/// Rungs up to which all kinds go before any goes further.
constexpr size_t kStages[] = {3, 4, 5};

struct Ladder {
  std::vector<std::string> kinds; ///< those of kKinds that the model has, without roles that it has not
  std::vector<Encoding> rungs;
  std::vector<size_t> steps; ///< the kind that each step lowers by one rung

  std::vector<PrecisionRule> rulesAt(llvm::ArrayRef<size_t> rungOf) const {
    std::vector<PrecisionRule> rules;
    for (auto [kind, rung] : llvm::zip_equal(kinds, rungOf)) {
      PrecisionRule rule;
      rule.roles = kind;
      rule.encoding = nameOf(rungs[rung]);
      rule.label = "size rule " + std::to_string(rules.size() + 1);
      rule.isGroupLimit = true;
      rules.push_back(std::move(rule));
    }
    return rules;
  }
  std::vector<size_t> rungsAfter(size_t numSteps) const {
    std::vector<size_t> rungOf(kinds.size());
    for (size_t kind : llvm::ArrayRef(steps).take_front(numSteps))
      ++rungOf[kind];
    return rungOf;
  }
};

Ladder makeLadder(llvm::ArrayRef<WeightFacts> weights, int64_t group) {
  Ladder ladder;
  for (llvm::StringRef kind : kKinds) {
    llvm::SmallVector<llvm::StringRef> roles, present;
    kind.split(roles, ',');
    llvm::copy_if(roles, std::back_inserter(present), [&](llvm::StringRef role) {
      // A tied embedding goes with the head.
      return llvm::any_of(weights, [&](const WeightFacts &weight) { return role == weight.role && !weight.isTied; });
    });
    if (!present.empty())
      ladder.kinds.push_back(llvm::join(present, ","));
  }
  if (group)
    ladder.rungs = {Encoding::i8(group), Encoding::i6(group), Encoding::i4m(group), Encoding::i4(group)};
  else
    ladder.rungs.assign(std::begin(kRungs), std::end(kRungs));
  size_t from = 0;
  for (size_t last : kStages) {
    if (last >= ladder.rungs.size())
      break;
    for (size_t kind = 0; kind < ladder.kinds.size(); ++kind)
      ladder.steps.insert(ladder.steps.end(), last - from, kind);
    from = last;
  }
  return ladder;
}

/// "router (the router chooses ...), norm (vectors ...)": what no rule can encode.
std::string describeFixed(llvm::ArrayRef<WeightFacts> weights) {
  std::map<std::string, std::string> reasons;
  for (const WeightFacts &weight : weights)
    if (std::string reason = weight.reasonForF32(); !reason.empty())
      reasons[weight.role] = reason;
  std::string text;
  for (const auto &[role, reason] : reasons)
    text += (text.empty() ? "" : ", ") + role + " (" + reason + ")";
  return text.empty() ? "nothing" : text;
}

} // namespace

llvm::Expected<FittedPrecision> fitPrecision(llvm::ArrayRef<WeightFacts> weights, uint64_t limitBytes, int64_t group,
                                             llvm::StringRef flag, SizeOfRules sizeOf) {
  Ladder ladder = makeLadder(weights, group);
  std::map<std::vector<size_t>, uint64_t> known;
  auto sizeAt = [&](const std::vector<size_t> &rungOf) -> llvm::Expected<uint64_t> {
    if (auto found = known.find(rungOf); found != known.end())
      return found->second;
    auto size = sizeOf(ladder.rulesAt(rungOf));
    if (size)
      known[rungOf] = *size;
    return size;
  };
  size_t fits = ladder.steps.size();
  auto smallest = sizeAt(ladder.rungsAfter(fits));
  if (!smallest)
    return smallest.takeError();
  if (*smallest > limitBytes)
    return fault(flag + " is " + formatSizeExact(limitBytes) + ", but the smallest pack of this model has " +
                 formatSizeExact(*smallest) + ": every matrix with 4 bits and a scale for " +
                 llvm::Twine(ladder.rungs.back().group) + " values where the columns allow it; f32 remain " +
                 describeFixed(weights) + ". 4 bits are the floor for quality: take a smaller model or a larger size");
  // The first step at which the size fits; sizes fall along the ladder.
  size_t tooLarge = 0; // exclusive lower end: steps below it are known to be too large
  while (tooLarge < fits) {
    size_t middle = (tooLarge + fits) / 2;
    auto size = sizeAt(ladder.rungsAfter(middle));
    if (!size)
      return size.takeError();
    if (*size <= limitBytes)
      fits = middle;
    else
      tooLarge = middle + 1;
  }
  // What is left, such as the padding of a page, goes to the most sensitive kinds first.
  std::vector<size_t> rungOf = ladder.rungsAfter(fits);
  for (size_t kind = ladder.kinds.size(); kind-- > 0;)
    while (rungOf[kind] > 0) {
      --rungOf[kind];
      auto size = sizeAt(rungOf);
      if (!size)
        return size.takeError();
      if (*size > limitBytes) {
        ++rungOf[kind];
        break;
      }
    }
  auto size = sizeAt(rungOf);
  if (!size)
    return size.takeError();
  return FittedPrecision{ladder.rulesAt(rungOf), *size};
}

} // namespace moec
