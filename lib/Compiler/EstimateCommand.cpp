// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moec estimate`: its flags, and an estimate as JSON and as lines. Main source: docs/command-line.md.
#include "lib/Compiler/Commands.h"
#include "lib/Compiler/Estimate.h"
#include "lib/Compiler/Report.h"
#include "lib/Compiler/TokenEstimate.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Json.h"
#include "lib/Support/Sizes.h"
#include "lib/Target/TargetDescription.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace moec {

namespace {

template <typename T> Json orNull(const std::optional<T> &value) { return value ? Json(*value) : Json(nullptr); }

/// Null where it is not known.
Json rateOrNull(double value) { return value > 0 ? Json(value) : Json(nullptr); }

/// With reads that cost no time beside computing, which no order of reads can beat.
double boundOf(const moert_token_cost &cost) {
  return cost.tokens_per_second > 0 ? 1 / std::max(cost.seconds_of_computing, cost.seconds_of_flash) : 0;
}

double residentShare(const moert_plan_info &plan) {
  return plan.num_experts ? double(plan.num_slots) / double(plan.num_experts) : 1;
}

/// What other hit rates would give, in percent.
constexpr int kHitRates[] = {50, 60, 70, 80, 85, 90, 95, 100};

JsonArray describeByHitRate(const moert_token_traffic &traffic) {
  JsonArray entries;
  for (int percent : kHitRates) {
    moert_token_traffic changed = traffic;
    changed.hit_rate = percent / 100.0;
    moert_token_cost cost = costOf(changed);
    if (traffic.num_layers)
      entries.push_back(JsonObject()
                            .set("hit_share", changed.hit_rate)
                            .set("dram_bytes", cost.memory_bytes)
                            .set("flash_bytes", cost.flash_bytes)
                            .set("tokens_per_s", rateOrNull(cost.tokens_per_second))
                            .set("tokens_per_s_overlapped", rateOrNull(boundOf(cost))));
  }
  return entries;
}

} // namespace

std::string writeEstimate(const Estimate &e) {
  JsonArray packClasses;
  for (const EstimateClass &entry : e.classes)
    packClasses.push_back(JsonObject()
                              .set("class", entry.name)
                              .set("placement", entry.placement)
                              .set("encoding", entry.encoding)
                              .set("weights", entry.weights)
                              .set("bytes", entry.bytes));
  JsonArray assumptions(e.assumptions.begin(), e.assumptions.end());
  JsonObject root;
  root.set("basis", "estimated")
      .set("model", e.model)
      .set("target", e.target)
      .set("quant", e.quant)
      .set("group", e.group)
      .set("kv", e.kv)
      .set("context", e.context)
      .set("chunk", e.chunk)
      .set("weights", e.weights)
      .set("active_weights", e.activeWeights)
      .set("pack_bytes", e.packBytes)
      .set("pack_classes", std::move(packClasses))
      .set("plan_bytes", e.plan.plan_bytes)
      .set("min_bytes", e.plan.min_bytes)
      .set("budget_bytes", e.plan.budget_bytes)
      .set("bytes_by_class", sizesByClass(e.plan))
      .set("page_slots", e.plan.num_slots)
      .set("min_slots", e.plan.min_slots)
      .set("expert_records", e.plan.num_experts)
      .set("expert_record_bytes", e.plan.slot_bytes)
      .set("resident_share", residentShare(e.plan))
      .set("hit_share", e.traffic.hit_rate)
      .set("predicted_share", e.traffic.predicted_rate)
      .set("experts_used", e.traffic.experts_used)
      .set("depth", e.depth)
      .set("expert_misses_per_token", e.cost.misses)
      .set("dram_bytes_per_token", e.cost.memory_bytes)
      .set("flash_bytes_per_token", e.cost.flash_bytes)
      .set("dram_bytes_per_s", orNull(e.memoryBytesPerSecond))
      .set("flash_bytes_per_s",
           e.traffic.flash_bytes_per_second ? Json(e.traffic.flash_bytes_per_second) : Json(nullptr))
      .set("tokens_per_s", rateOrNull(e.cost.tokens_per_second))
      .set("tokens_per_s_overlapped", rateOrNull(boundOf(e.cost)))
      .set("by_hit_rate", describeByHitRate(e.traffic))
      .set("by_experts_used", describeByExpertsUsed(e.traffic, e.topK))
      .set("assumptions", std::move(assumptions));
  return writeJson(std::move(root));
}

std::string formatEstimate(const Estimate &e) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto line = [&](llvm::StringRef name, const std::string &value) {
    stream << "  " << llvm::left_justify(name, 20) << llvm::right_justify(value, 12);
    return std::ref(static_cast<llvm::raw_ostream &>(stream));
  };
  stream << "model " << e.model << " of " << e.weights << " weights (" << e.activeWeights
         << " active per token), target " << e.target << ", weights " << e.quant << ", KV cache " << e.kv
         << ", context " << e.context << ", chunk " << e.chunk << "; every number is estimated\n";
  stream << "pack, estimated " << formatSizeExact(e.packBytes) << "\n";
  for (const EstimateClass &entry : e.classes)
    line(entry.name, formatSize(entry.bytes)).get()
        << "  " << entry.placement << (entry.encoding.empty() ? "" : " " + entry.encoding) << "\n";
  stream << "memory, estimated\n";
  const std::pair<const char *, uint64_t> memory[] = {{"resident weights", e.plan.resident_bytes},
                                                      {"experts", e.plan.num_experts * e.plan.slot_bytes},
                                                      {"KV cache", e.plan.kv_bytes},
                                                      {"arena", e.plan.arena_bytes},
                                                      {"recurrent state", e.plan.state_bytes},
                                                      {"code", e.plan.code_bytes},
                                                      {"overhead", e.plan.overhead_bytes},
                                                      {"plan", e.plan.plan_bytes},
                                                      {"minimum", e.plan.min_bytes}};
  for (auto [name, bytes] : memory)
    line(name, formatSize(bytes)).get() << "\n";
  auto &budget = line("budget", formatSize(e.plan.budget_bytes)).get();
  if (e.plan.num_experts)
    budget << "  " << e.plan.num_slots << " of " << e.plan.num_experts << " experts of "
           << formatSize(e.plan.slot_bytes) << llvm::format(" resident (%.1f %%)", 100 * residentShare(e.plan));
  stream << "\n";
  stream << "a decoded token, estimated\n";
  line("from memory", formatSize(e.cost.memory_bytes)).get() << "\n";
  auto &flash = line("from flash", formatSize(e.cost.flash_bytes)).get();
  if (e.plan.num_experts)
    flash << llvm::format("  %.1f of %u experts missed", e.cost.misses, e.traffic.num_layers * e.traffic.experts_used);
  stream << "\n";
  if (e.cost.tokens_per_second > 0)
    stream << llvm::format("  %.1f tokens/s; %.1f if reading from flash costs no time beside computing\n",
                           e.cost.tokens_per_second, boundOf(e.cost));
  formatByExpertsUsed(describeByExpertsUsed(e.traffic, e.topK), stream);
  stream << "assumptions\n";
  for (const std::string &assumption : e.assumptions)
    stream << "  - " << assumption << "\n";
  return text;
}

int runEstimate(llvm::ArrayRef<llvm::StringRef> words) {
  EstimateOptions options;
  CompileOptions &model = options.model;
  std::vector<std::string> positional;
  std::string target;
  bool isJson = false;
  std::vector<Flag> flags = modelFlags(model);
  flags.push_back(text("--target", target));
  flags.push_back(text("--tokenizer", model.tokenizer));
  flags.push_back(size("--dram", [&](uint64_t value) { options.dramBytesPerSecond = value; }));
  flags.push_back(size("--flash", [&](uint64_t value) { options.flashBytesPerSecond = value; }));
  flags.push_back(routingFlag(options.zipfThousandths));
  flags.push_back(share("--hit-rate", 0, [&](double value) { options.hitRate = value; }));
  flags.push_back(share("--predicted", 0, [&](double value) { options.predicted = value; }));
  flags.push_back(share("--clock", 0.01, [&](double value) { options.clock = value; }));
  flags.push_back(number("--depth", 0, INT32_MAX, [&](uint64_t value) { options.depth = value; }));
  flags.push_back(number("--experts-used", 1, INT32_MAX,
                         [&](uint64_t value) { options.expertsUsed = static_cast<uint32_t>(value); }));
  flags.push_back(flag("--json", isJson));
  llvm::Error error = readFlags(words, flags, positional);
  if (!error && positional.size() != 1)
    error = fault("estimate expects one CONFIG, but got " + llvm::Twine(positional.size()));
  if (!error && options.hitRate && options.zipfThousandths)
    error = fault("--hit-rate and --routing both say how many uses hit; give one of them");
  if (!error && target.empty())
    error = fault("--target is missing; valid values are " + llvm::join(targetNames(), ", "));
  if (!error)
    if (auto found = lookupTarget(target); !found)
      error = fault("--target " + llvm::toString(found.takeError()));
  if (error)
    return fail(kWrongUsage, std::move(error));
  model.isRandom = true;
  model.model = positional[0];
  model.targets = {target};
  auto result = estimate(options);
  if (!result)
    return fail(kInputAtFault, result.takeError());
  llvm::outs() << (isJson ? writeEstimate(*result) + "\n" : formatEstimate(*result));
  return 0;
}

} // namespace moec
