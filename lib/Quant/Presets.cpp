// SPDX-License-Identifier: Apache-2.0
/// \file
/// The table of presets. Main source: docs/precision.md ("Presets").
#include "lib/Quant/Presets.h"

#include "lib/Quant/SourceEncoding.h"
#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace moec {

namespace {
/// What a preset gives to the weights whose error matters most (embedding, head, V, O and what does the same in Gated
/// DeltaNet), and to all others.
struct Preset {
  Encoding sensitive, other;
};
} // namespace

static constexpr llvm::StringLiteral kNames[] = {"f32",   "f16",   "int8",  "int6",  "int4",
                                                 "int8m", "int4m", "mixed", "source"};
/// Groups are those that the caller asks for; 32 only stands here for an integer kind.
static constexpr Preset kPresets[] = {{Encoding::f32(), Encoding::f32()},     {Encoding::f16(), Encoding::f16()},
                                      {Encoding::i8(32), Encoding::i8(32)},   {Encoding::i6(32), Encoding::i6(32)},
                                      {Encoding::i4(32), Encoding::i4(32)},   {Encoding::i8m(32), Encoding::i8m(32)},
                                      {Encoding::i4m(32), Encoding::i4m(32)}, {Encoding::i8(32), Encoding::i4(32)}};
static_assert(std::size(kNames) == std::size(kPresets) + 1, "a preset for each name but the last");
/// Its encodings follow from the checkpoint.
static constexpr llvm::StringLiteral kSource = kNames[std::size(kPresets)];

llvm::ArrayRef<llvm::StringLiteral> presetNames() { return kNames; }

llvm::Error checkPreset(llvm::StringRef preset) {
  if (llvm::is_contained(kNames, preset))
    return llvm::Error::success();
  std::optional<std::string> reason = reasonForFloor(preset);
  return fault("expects a precision preset " + llvm::join(presetNames(), ", ") + ", but got '" + preset + "'" +
               (reason ? "; " + *reason : ""));
}

llvm::Error checkGroup(llvm::StringRef group) {
  if (llvm::is_contained({"auto", "32", "64", "128"}, group))
    return llvm::Error::success();
  return fault("expects a group of auto, 32, 64 or 128, but got '" + group + "'");
}

llvm::Expected<std::vector<Encoding>> presetEncodings(llvm::ArrayRef<WeightFacts> weights, llvm::StringRef preset,
                                                      llvm::StringRef group) {
  if (llvm::Error error = checkPreset(preset))
    return std::move(error);
  int64_t size = 32; // auto: the smallest group has the smallest error
  if (llvm::Error error = checkGroup(group))
    return std::move(error);
  if (group != "auto")
    llvm::to_integer(group, size, 10);
  if (preset == kSource && group != "auto")
    return fault("expects the group auto with the preset source, which keeps the checkpoint's own groups, but got '" +
                 group + "'");
  const Preset *chosen = preset == kSource ? nullptr : &kPresets[llvm::find(kNames, preset) - std::begin(kNames)];
  std::vector<Encoding> encodings;
  for (const WeightFacts &weight : weights) {
    bool isSensitive =
        llvm::is_contained({"embedding", "head", "attention_v", "attention_o", "delta_v", "delta_out"}, weight.role);
    Encoding encoding = !chosen       ? sourceEncodingOf(weight.source).encoding
                        : isSensitive ? chosen->sensitive
                                      : chosen->other;
    if (!weight.reasonForF32().empty())
      encoding = Encoding::f32();
    else if (encoding.isInteger())
      encoding.group = size;
    if (group == "auto" && encoding.isInteger() && weight.columns % size)
      encoding = Encoding::f16();
    encodings.push_back(encoding);
  }
  return encodings;
}

} // namespace moec
