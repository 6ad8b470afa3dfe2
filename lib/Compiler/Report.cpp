// SPDX-License-Identifier: Apache-2.0
/// \file
/// The compile report. Main source: docs/reference/report.schema.json.
#include "lib/Compiler/Report.h"

#include "lib/Compiler/ModuleFiles.h"
#include "lib/Compiler/PackStep.h"

#include "dialects/moe/MoeDialect.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Json.h"
#include "lib/Support/Sizes.h"

#include <map>

using namespace mlir;

namespace moec {

/// Bits that a weight of each role has on average, and how many values there are.
static JsonArray describePrecision(ModuleOp module) {
  struct Sum {
    std::string encoding;
    int64_t values = 0;
  };
  std::map<std::string, Sum> byRole;
  for (auto weight : module.getOps<moe::WeightOp>()) {
    Sum &sum = byRole[moe::stringifyRole(weight.getRole()).str()];
    // The plan has stored every weight, so each encoding has a name.
    sum.encoding = nameOf(llvm::cantFail(moe::encodingOf(weight.getQuant())));
    sum.values += weight.getTensorType().getNumElements();
  }
  JsonArray roles;
  for (const auto &[role, sum] : byRole)
    roles.push_back(JsonObject().set("role", role).set("encoding", sum.encoding).set("weights", sum.values));
  return roles;
}

std::string writeReport(ModuleOp module, const PackPlan &pack, const moert_plan_info &plan,
                        const TargetDescription &target) {
  JsonObject classes;
  classes.set("resident", plan.resident_bytes)
      .set("experts", plan.num_experts * plan.slot_bytes)
      .set("kv", plan.kv_bytes)
      .set("arena", plan.arena_bytes)
      .set("state", plan.state_bytes)
      .set("code", plan.code_bytes)
      .set("overhead", plan.overhead_bytes);
  JsonObject report;
  report.set("schema_version", 1)
      .set("compiler", compilerVersion())
      .set("model", textOf(module, "moe.model", "name"))
      .set("target", target.name)
      .set("quant", textOf(module, "moe.options", "quant"))
      .set("group", textOf(module, "moe.options", "group"))
      .set("kv", textOf(module, "moe.options", "kv"))
      .set("context", integerOf(module, "rt.plan", "kv_capacity"))
      .set("window", integerOf(module, "rt.plan", "kv_window"))
      .set("sinks", integerOf(module, "rt.plan", "kv_sinks"))
      .set("chunk", integerOf(module, "rt.plan", "chunk"))
      .set("plan_bytes", plan.plan_bytes)
      .set("min_bytes", plan.min_bytes)
      .set("default_budget_bytes", plan.budget_bytes)
      .set("bytes_by_class", std::move(classes))
      .set("page_slots", plan.num_slots)
      .set("min_slots", plan.min_slots)
      .set("expert_records", plan.num_experts)
      .set("expert_record_bytes", plan.slot_bytes)
      .set("pack_bytes", pack.header().total_bytes)
      .set("plan_id", pack.planId().toHex())
      .set("joins_per_token", cast<IntegerAttr>(module->getAttr("rt.joins_per_token")).getInt())
      .set("precision", describePrecision(module));
  return writeJson(std::move(report));
}

llvm::Expected<std::string> formatReport(llvm::StringRef json) {
  auto root = parseJson(json, "report");
  if (!root)
    return root.takeError();
  const JsonObject *report = root->asObject();
  const Json *classes = report ? report->find("bytes_by_class") : nullptr;
  if (!classes || !classes->asObject())
    return fault("the report has no bytes_by_class");
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto show = [&](llvm::StringRef key) {
    const Json *value = report->find(key);
    if (!value)
      return std::string("?");
    if (const std::string *string = value->asString())
      return *string;
    return std::to_string(value->asUint64().value_or(0));
  };
  auto size = [&](const Json *value) { return formatSize(value ? value->asUint64().value_or(0) : 0); };
  stream << "model " << show("model") << ", target " << show("target") << ", weights " << show("quant") << ", KV cache "
         << show("kv") << ", context " << show("context") << ", chunk " << show("chunk");
  if (show("window") != "0")
    stream << ", window " << show("window") << " with " << show("sinks") << " sinks";
  stream << "\n";
  stream << "memory plan (estimated from the compiled tables; the budget with every expert resident)\n";
  for (const JsonMember &member : classes->asObject()->members())
    stream << "  " << llvm::left_justify(member.key, 10) << llvm::right_justify(size(&member.value), 12) << "\n";
  stream << "  " << llvm::left_justify("plan", 10) << llvm::right_justify(size(report->find("plan_bytes")), 12) << "\n";
  stream << "  " << llvm::left_justify("minimum", 10) << llvm::right_justify(size(report->find("min_bytes")), 12)
         << "\n";
  stream << "  " << llvm::left_justify("default", 10)
         << llvm::right_justify(size(report->find("default_budget_bytes")), 12) << " (" << show("page_slots") << " of "
         << show("expert_records") << " expert records of " << size(report->find("expert_record_bytes")) << ")\n";
  stream << "pack " << size(report->find("pack_bytes")) << ", joins per decoded token " << show("joins_per_token")
         << "\n";
  if (const Json *roles = report->find("precision"); roles && roles->asArray()) {
    stream << "precision by role\n";
    for (const Json &role : *roles->asArray())
      if (const JsonObject *entry = role.asObject())
        if (const Json *name = entry->find("role"), *encoding = entry->find("encoding"),
            *weights = entry->find("weights");
            name && encoding && weights && name->asString() && encoding->asString())
          stream << "  " << llvm::left_justify(*name->asString(), 14) << llvm::left_justify(*encoding->asString(), 8)
                 << weights->asUint64().value_or(0) << " weights\n";
  }
  return text;
}

} // namespace moec
