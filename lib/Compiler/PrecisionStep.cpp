// SPDX-License-Identifier: Apache-2.0
/// \file
/// Precision plans and the search for a size. Main source: docs/precision.md.
#include "lib/Compiler/PrecisionStep.h"

#include "lib/Compiler/ModuleFiles.h"
#include "lib/Compiler/PackStep.h"

#include "lib/Quant/PrecisionFile.h"
#include "lib/Quant/PrecisionTarget.h"
#include "lib/Quant/Presets.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "passes/plan/Passes.h"
#include "passes/quantize/PrecisionRecord.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace moec {

llvm::Expected<PrecisionRule> parseRuleFlag(llvm::StringRef flag, llvm::StringRef text, bool isTensor) {
  auto [what, encoding] = text.rsplit('=');
  if (!text.contains('=') || what.empty() || encoding.empty())
    return fault("is '" + text + "', expects " +
                 (isTensor ? "GLOB=ENCODING such as '*.v_proj.weight=i8/32'"
                           : "ROLE=ENCODING or ROLE@LAYERS=ENCODING such as expert_down@0-3=i8/32"));
  PrecisionRule rule;
  rule.encoding = encoding.str();
  if (isTensor) {
    rule.tensor = what.str();
  } else {
    auto [roles, layers] = what.split('@');
    rule.roles = roles.str();
    rule.layers = layers.str();
    if (what.contains('@') && layers.empty())
      return fault("is '" + text + "', expects layers such as 0-3,7 after '@'");
  }
  rule.label = ("'" + text + "'").str();
  if (llvm::Error error = checkRule(rule))
    return std::move(error);
  rule.label = (flag + " " + text).str();
  return rule;
}

llvm::Error readPlanFile(CompileOptions &options) {
  if (options.planFile.empty())
    return llvm::Error::success();
  constexpr uint64_t kMaxPlanBytes = uint64_t(256) << 20;
  auto text = readTextFile(options.planFile, kMaxPlanBytes);
  if (!text)
    return text.takeError();
  auto plan = parsePrecisionPlan(*text, options.planFile);
  if (!plan)
    return plan.takeError();
  if (!plan->quant.empty())
    if (llvm::Error error = checkPreset(plan->quant))
      return fault(options.planFile + ": quant " + llvm::toString(std::move(error)));
  if (!plan->group.empty())
    if (llvm::Error error = checkGroup(plan->group))
      return fault(options.planFile + ": group " + llvm::toString(std::move(error)));
  if (options.quant.empty() && !options.packBytes)
    options.quant = plan->quant;
  if (options.group.empty())
    options.group = plan->group;
  options.rules.insert(options.rules.begin(), plan->rules.begin(), plan->rules.end());
  return llvm::Error::success();
}

/// Bytes of the pack of `module` under `rules`, by the passes that decide it.
static llvm::Expected<uint64_t> packBytesUnder(ModuleOp module, llvm::ArrayRef<PrecisionRule> rules) {
  OwningOpRef<ModuleOp> copy = module.clone();
  moe::setRules(*copy, rules);
  DiagnosticCollector diagnostics(*module.getContext());
  PassManager manager(module.getContext());
  for (Phase phase : {Phase::Graph, Phase::Quantize, Phase::Fuse})
    buildPhasePipeline(manager, phase);
  manager.addPass(moe::createPlaceWeights());
  if (failed(manager.run(*copy)))
    return diagnostics.take("the size under --pack-size cannot be computed");
  auto pack = planPack(*copy, /*partBytes=*/0);
  if (!pack)
    return pack.takeError();
  return pack->plan.header().total_bytes;
}

llvm::Error fitPackSize(llvm::ArrayRef<ModuleOp> modules, const CompileOptions &options) {
  auto withFixed = [&](llvm::ArrayRef<PrecisionRule> rules) {
    std::vector<PrecisionRule> all(rules);
    all.insert(all.end(), options.rules.begin(), options.rules.end());
    return all;
  };
  int64_t group = 0;
  if (!options.group.empty() && options.group != "auto")
    llvm::StringRef(options.group).getAsInteger(10, group);
  auto fitted = fitPrecision(moe::factsOf(modules.front()), *options.packBytes, group, "--pack-size",
                             [&](llvm::ArrayRef<PrecisionRule> rules) -> llvm::Expected<uint64_t> {
                               uint64_t largest = 0;
                               for (ModuleOp module : modules) {
                                 auto bytes = packBytesUnder(module, withFixed(rules));
                                 if (!bytes)
                                   return bytes.takeError();
                                 largest = std::max(largest, *bytes);
                               }
                               return largest;
                             });
  if (!fitted)
    return fitted.takeError();
  for (ModuleOp module : modules)
    moe::setRules(module, withFixed(fitted->rules));
  return llvm::Error::success();
}

std::string writePlanOf(ModuleOp module) {
  std::vector<Encoding> encodings;
  for (auto weight : module.getOps<moe::WeightOp>())
    encodings.push_back(llvm::cantFail(moe::encodingOf(weight.getQuant())));
  return writePrecisionPlan(textOf(module, "moe.options", "quant"), textOf(module, "moe.options", "group"),
                            moe::factsOf(module), encodings);
}

} // namespace moec
