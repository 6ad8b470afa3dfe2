// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which encoding each weight gets: rules in order, of which a later one wins. Used by the quantize stage, by the
/// reader of plan files and by the search for a size. Main source: docs/precision.md.
#ifndef LIB_QUANT_PRECISIONRULES_H
#define LIB_QUANT_PRECISIONRULES_H

#include "lib/Quant/Encoding.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace moec {

/// What rules see of one weight. The experts of a layer are one weight for each of gate, up and down: they share an
/// encoding.
struct WeightFacts {
  std::string name;                ///< "model.layers.0.self_attn.q_proj.weight"; `*` for the number of an expert
  std::vector<std::string> pieces; ///< the names of the experts' matrices; empty for other weights
  std::string role;
  int64_t layer = -1; ///< -1: outside layers
  int64_t columns = 0;
  bool isVector = false; ///< vectors stay f32
  std::string source{};  ///< type in the checkpoint: "bf16", "q4_1"
  bool isTied = false;   ///< an embedding that has the values of the head

  /// Why the weight stays f32 under every preset; empty if presets encode it.
  std::string reasonForF32() const;
  /// Why a rule cannot give it this encoding; empty if it can. What presets leave alone is floats: of two bytes too
  /// where it is a matrix; the projections of decay and beta take any encoding.
  std::string reasonAgainst(const Encoding &encoding) const;
};

/// Selectors that are empty select everything.
struct PrecisionRule {
  std::string roles;   ///< names or globs of roles, separated by commas: "expert_gate,attention_*"
  std::string layers;  ///< numbers and ranges: "0-3,7"
  std::string tensor;  ///< a name or glob of a tensor
  std::string experts; ///< numbers and ranges; must be all experts of the layer
  std::string encoding;
  std::string label;         ///< for messages: "rule 3", "--quant-role expert_down=i8/32"
  bool isGroupLimit = false; ///< where the group does not divide the columns, the largest that does, or f16

  bool operator==(const PrecisionRule &) const = default;
};

/// Numbers and ranges, such as "0-3,7".
class NumberSet {
public:
  static llvm::Expected<NumberSet> parse(llvm::StringRef text);
  bool contains(int64_t number) const;
  int64_t largest() const;

private:
  std::vector<std::pair<int64_t, int64_t>> ranges;
};

/// "0-3,7": the inverse of `NumberSet::parse`. `numbers` ascend.
std::string formatNumbers(llvm::ArrayRef<int64_t> numbers);

/// `parseEncoding`, with the reason for 4 bits as the floor where less is asked for.
llvm::Expected<Encoding> parseRuleEncoding(llvm::StringRef text);
/// Why `name` ("int3", "i2/32", "q3_k") asks for less than 4 bits; nothing if it does not.
std::optional<std::string> reasonForFloor(llvm::StringRef name);

/// The names of all roles, for messages and globs.
llvm::ArrayRef<llvm::StringRef> roleNames();

/// Says whether a rule can be followed by some model: its roles, numbers, pattern and encoding. Errors name the rule.
llvm::Error checkRule(const PrecisionRule &rule);

/// Changes `encodings` (one for each weight) by `rules`, in order. A tied embedding gets what the head gets, unless a
/// rule selects it without the head.
///
/// Errors name the rule: an unknown role or encoding, a layer out of range, a tensor's group that does not divide its
/// columns, experts that are not all of a layer, only weights that cannot have that encoding, no weight at all.
llvm::Error applyRules(llvm::ArrayRef<WeightFacts> weights, llvm::ArrayRef<PrecisionRule> rules,
                       std::vector<Encoding> &encodings);

} // namespace moec

#endif
