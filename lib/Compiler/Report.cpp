// SPDX-License-Identifier: Apache-2.0
/// \file
/// The compile report. Main source: docs/reference/report.schema.json.
#include "lib/Compiler/Report.h"

#include "lib/Compiler/ModuleFiles.h"
#include "lib/Compiler/PackStep.h"
#include "lib/Compiler/TokenEstimate.h"

#include "dialects/moe/MoeDialect.h"
#include "lib/Plan/KvLayout.h"
#include "lib/Quant/PrecisionFile.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Json.h"
#include "lib/Support/Sizes.h"

#include "llvm/Support/Format.h"

#include <cmath>
#include <map>

using namespace mlir;

namespace moec {

namespace {
/// What weights are summed by.
struct PrecisionKey {
  std::string role, encoding, source; ///< source: type in the checkpoint
  bool isVerbatim;
  auto operator<=>(const PrecisionKey &) const = default;
};
struct PrecisionSum {
  std::vector<int64_t> layers; ///< ascending; empty outside layers
  int64_t values = 0;
  double bits = 0;
};
struct PrecisionTotals {
  std::map<PrecisionKey, PrecisionSum> sums;
  int64_t values = 0;
  double bits = 0;
};
} // namespace

static PrecisionTotals sumPrecision(ModuleOp module) {
  PrecisionTotals totals;
  for (auto weight : module.getOps<moe::WeightOp>()) {
    RankedTensorType type = weight.getTensorType();
    // The plan has stored every weight, so each encoding has a name.
    Encoding encoding = llvm::cantFail(moe::encodingOf(weight.getQuant()));
    PrecisionSum &sum = totals.sums[{moe::stringifyRole(weight.getRole()).str(), nameOf(encoding),
                                     weight.getSource().getDtype().str(), weight.isVerbatim()}];
    double bits = bitsPerWeight(encoding, type.getShape().back()) * static_cast<double>(type.getNumElements());
    if (int64_t layer = weight.getLayer(); layer >= 0 && (sum.layers.empty() || sum.layers.back() != layer))
      sum.layers.push_back(layer);
    sum.values += type.getNumElements();
    sum.bits += bits;
    if (moe::isHeadEmbedding(weight))
      continue; // counted with the head
    totals.values += type.getNumElements();
    totals.bits += bits;
  }
  return totals;
}

static double average(double bits, int64_t values) {
  // Three digits: the exact value is a quotient of sums that nobody needs.
  return values ? std::round(bits / static_cast<double>(values) * 1000) / 1000 : 0;
}

static JsonArray describePrecision(const PrecisionTotals &totals) {
  JsonArray entries;
  for (const auto &[key, sum] : totals.sums) {
    std::vector<int64_t> layers = sum.layers;
    llvm::sort(layers);
    layers.erase(llvm::unique(layers), layers.end());
    entries.push_back(JsonObject()
                          .set("role", key.role)
                          .set("encoding", key.encoding)
                          .set("source", key.source)
                          .set("verbatim", key.isVerbatim)
                          .set("layers", formatNumbers(layers))
                          .set("weights", sum.values)
                          .set("bits_per_weight", average(sum.bits, sum.values)));
  }
  return entries;
}

/// Bytes of expert records and page slots that hold no weights.
static JsonObject describePadding(const PackPlan &pack) {
  uint64_t pages = 0, slots = 0;
  for (const PackRecord &record : pack.records()) {
    if (record.record.kind != MOEPACK_RECORD_EXPERT)
      continue;
    uint64_t weights = 0;
    for (size_t tensor : record.tensors)
      weights += pack.tensors()[tensor].bytes;
    pages += record.record.bytes - weights;
    slots += pack.expertRecordBytes() - record.record.bytes;
  }
  return JsonObject().set("record_bytes", pages).set("slot_bytes", slots);
}

/// Bytes that a decoded token needs, each once, in the stored bits of their format: no padding, of experts those that a
/// token uses, of the embedding one row (all of it where it is the head as well).
static JsonObject describeToken(ModuleOp module) {
  int64_t topK = integerOf(module, "moe.model", "top_k");
  bool hasHead = false;
  double weights = 0, experts = 0, embedding = 0;
  for (auto weight : module.getOps<moe::WeightOp>()) {
    RankedTensorType type = weight.getTensorType();
    double bits = bitsPerWeight(llvm::cantFail(moe::encodingOf(weight.getQuant())), type.getShape().back());
    double bytes = bits * static_cast<double>(type.getNumElements()) / 8;
    hasHead |= weight.getRole() == moe::Role::head;
    if (weight.getRole() == moe::Role::embedding) {
      embedding += bytes;
      bytes /= static_cast<double>(type.getDimSize(0));
    } else if (type.getRank() == 3) {
      bytes *= static_cast<double>(topK) / static_cast<double>(type.getDimSize(0));
      experts += bytes;
    }
    weights += bytes;
  }
  return JsonObject()
      .set("weights", static_cast<uint64_t>(std::llround(weights + (hasHead ? 0 : embedding))))
      .set("experts", static_cast<uint64_t>(std::llround(experts)))
      .set("kv_per_position", static_cast<uint64_t>(integerOf(module, "rt.plan", "kv_block_bytes") / kKvBlockPositions))
      .set("state", static_cast<uint64_t>(integerOf(module, "rt.plan", "state_bytes")));
}

JsonObject sizesByClass(const moert_plan_info &plan) {
  JsonObject classes;
  classes.set("resident", plan.resident_bytes)
      .set("experts", plan.num_experts * plan.slot_bytes)
      .set("kv", plan.kv_bytes)
      .set("arena", plan.arena_bytes)
      .set("state", plan.state_bytes)
      .set("code", plan.code_bytes)
      .set("overhead", plan.overhead_bytes);
  return classes;
}

/// What a decoded token is expected to cost under the default budget, for even routing.
static JsonObject describeEstimate(const DescriptorContent &content, const moert_plan_info &plan) {
  moert_model_descriptor descriptor = content.fixed;
  descriptor.num_streamed_tables = content.tables.size();
  descriptor.streamed_tables = content.tables.data();
  auto known = [](double value) { return value > 0 ? Json(value) : Json(nullptr); };
  auto rate = [](uint64_t value) { return value ? Json(value) : Json(nullptr); };
  moert_token_traffic traffic{};
  uint64_t depth = descriptor.context / 2;
  if (descriptor.window)
    depth = std::min<uint64_t>(depth, uint64_t(descriptor.window) + descriptor.sinks);
  moert_describe_token(&descriptor, &plan, descriptor.top_k, depth, &traffic);
  return JsonObject()
      .set("resident_share",
           plan.num_experts ? static_cast<double>(plan.num_slots) / static_cast<double>(plan.num_experts) : 1.0)
      .set("hit_rate", plan.hit_rate)
      .set("depth", depth)
      .set("memory_bytes", plan.token_memory_bytes)
      .set("flash_bytes", plan.token_flash_bytes)
      .set("memory_bytes_per_s", rate(descriptor.memory_bytes_per_second))
      .set("flash_bytes_per_s", rate(descriptor.flash_bytes_per_second))
      .set("tokens_per_s", known(plan.tokens_per_second))
      .set("by_experts_used", describeByExpertsUsed(traffic, descriptor.top_k));
}

std::string writeReport(ModuleOp module, const PackPlan &pack, const moert_plan_info &plan,
                        const DescriptorContent &content, const TargetDescription &target) {
  PrecisionTotals precision = sumPrecision(module);
  auto rules = module->getAttrOfType<ArrayAttr>("moe.precision");
  uint64_t numRules = rules ? rules.size() : 0;
  JsonObject report;
  report.set("schema_version", 1)
      .set("compiler", compilerVersion())
      .set("model", textOf(module, "moe.model", "name"))
      .set("target", target.name)
      .set("quant", textOf(module, "moe.options", "quant"))
      .set("group", textOf(module, "moe.options", "group"))
      .set("kv", textOf(module, "moe.options", "kv"))
      .set("context", contextOf(module))
      .set("window", integerOf(module, "rt.plan", "kv_window"))
      .set("sinks", integerOf(module, "rt.plan", "kv_sinks"))
      .set("chunk", integerOf(module, "rt.plan", "chunk"))
      .set("plan_bytes", plan.plan_bytes)
      .set("min_bytes", plan.min_bytes)
      .set("default_budget_bytes", plan.budget_bytes)
      .set("bytes_by_class", sizesByClass(plan))
      .set("page_slots", plan.num_slots)
      .set("min_slots", plan.min_slots)
      .set("expert_records", plan.num_experts)
      .set("expert_record_bytes", plan.slot_bytes)
      .set("pack_bytes", pack.header().total_bytes)
      .set("plan_id", pack.planId().toHex())
      .set("joins_per_token", cast<IntegerAttr>(module->getAttr("rt.joins_per_token")).getInt())
      .set("token_bytes", describeToken(module))
      .set("token_estimate", describeEstimate(content, plan))
      .set("bits_per_weight", average(precision.bits, precision.values))
      .set("precision", describePrecision(precision))
      .set("precision_rules", numRules)
      .set("padding", describePadding(pack));
  return writeJson(std::move(report));
}

/// Reports of an older compiler lack some of the members; what is there is shown.
static void formatPrecision(const JsonObject &report, llvm::raw_ostream &stream) {
  auto real = [](const JsonObject &object, llvm::StringRef key) {
    const Json *value = object.find(key);
    return llvm::format("%.3f", value ? value->asDouble().value_or(0) : 0.0);
  };
  auto text = [](const JsonObject &object, llvm::StringRef key) {
    const Json *value = object.find(key);
    return value && value->asString() ? *value->asString() : std::string();
  };
  auto count = [](const JsonObject &object, llvm::StringRef key) {
    const Json *value = object.find(key);
    return value ? value->asUint64().value_or(0) : 0;
  };
  if (const Json *padding = report.find("padding"); padding && padding->asObject() && count(report, "expert_records"))
    stream << "padding of expert records to pages " << formatSize(count(*padding->asObject(), "record_bytes"))
           << ", of page slots to the largest record " << formatSize(count(*padding->asObject(), "slot_bytes")) << "\n";
  const Json *entries = report.find("precision");
  if (!entries || !entries->asArray())
    return;
  stream << "precision, " << real(report, "bits_per_weight") << " bits per weight on average, scales included\n";
  for (const Json &member : *entries->asArray())
    if (const JsonObject *entry = member.asObject()) {
      std::string layers = text(*entry, "layers");
      stream << "  " << llvm::left_justify(text(*entry, "role"), 16) << llvm::left_justify(text(*entry, "encoding"), 8)
             << real(*entry, "bits_per_weight") << " bits, " << count(*entry, "weights") << " weights"
             << (layers.empty() ? "" : ", layers " + layers);
      const Json *verbatim = entry->find("verbatim");
      if (std::string source = text(*entry, "source"); !source.empty())
        stream << ", from " << source << (verbatim && verbatim->asBool() == true ? " as it is" : "");
      stream << "\n";
    }
}

/// What `describeEstimate` gave.
static void formatEstimate(const JsonObject &estimate, bool hasExperts, llvm::raw_ostream &stream) {
  auto size = [&](llvm::StringRef key) {
    const Json *value = estimate.find(key);
    return formatSize(value ? value->asUint64().value_or(0) : 0);
  };
  auto real = [&](llvm::StringRef key) {
    const Json *value = estimate.find(key);
    return value ? value->asDouble() : std::nullopt;
  };
  stream << "a decoded token under the default budget, estimated: from memory " << size("memory_bytes")
         << ", from flash " << size("flash_bytes");
  if (hasExperts)
    stream << llvm::format(" (%.1f %% of experts resident, %.1f %% of uses hit if routing is even)",
                           100 * real("resident_share").value_or(0), 100 * real("hit_rate").value_or(0));
  if (std::optional<double> speed = real("tokens_per_s"))
    stream << llvm::format(", %.1f tokens/s", *speed) << " at " << size("memory_bytes_per_s") << "/s of memory and "
           << size("flash_bytes_per_s") << "/s of flash";
  else
    stream << "; tokens/s unknown, as bandwidths of this target are";
  stream << "\n";
  if (const Json *entries = estimate.find("by_experts_used"); entries && entries->asArray())
    formatByExpertsUsed(*entries->asArray(), stream);
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
         << llvm::right_justify(size(report->find("default_budget_bytes")), 12);
  if (show("expert_records") != "0")
    stream << " (" << show("page_slots") << " of " << show("expert_records") << " expert records of "
           << size(report->find("expert_record_bytes")) << ")";
  stream << "\n";
  stream << "pack " << size(report->find("pack_bytes")) << ", joins per decoded token " << show("joins_per_token")
         << "\n";
  if (const Json *token = report->find("token_bytes"); token && token->asObject())
    stream << "bytes a decoded token needs: weights " << size(token->asObject()->find("weights"))
           << ", KV cache for each position " << size(token->asObject()->find("kv_per_position"))
           << ", recurrent state " << size(token->asObject()->find("state")) << "\n";
  if (const Json *estimate = report->find("token_estimate"); estimate && estimate->asObject())
    formatEstimate(*estimate->asObject(), show("expert_records") != "0", stream);
  formatPrecision(*report, stream);
  return text;
}

} // namespace moec
