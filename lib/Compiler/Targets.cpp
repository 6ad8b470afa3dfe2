// SPDX-License-Identifier: Apache-2.0
/// \file
/// Lists the target descriptions. Main source: docs/command-line.md.
#include "lib/Compiler/Targets.h"

#include "lib/Support/Json.h"
#include "lib/Target/TargetDescription.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace moec {

std::string listTargets() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const std::string &name : targetNames()) {
    stream << llvm::left_justify(name, 20);
    auto target = lookupTarget(name);
    if (!target) {
      stream << "not available: " << llvm::toString(target.takeError()) << "\n";
      continue;
    }
    stream << llvm::left_justify(target->triple, 31) << llvm::left_justify(nameOf(target->isa), 12);
    if (target->name != name)
      stream << target->name << ": ";
    stream << target->summary << "\n";
  }
  return text;
}

static JsonArray arrayOf(const std::vector<std::string> &texts) { return JsonArray(texts.begin(), texts.end()); }

static void setNumber(JsonObject &object, llvm::StringRef key, const std::optional<MachineNumber> &number) {
  if (number)
    object.set(key, JsonObject()
                        .set("value", number->value)
                        .set("basis", number->isEstimated ? "estimated" : "cited")
                        .set("source", number->source));
}

static JsonObject describe(const MachineFacts &machine) {
  JsonArray clusters;
  for (const CoreCluster &cluster : machine.clusters) {
    JsonObject &entry = *clusters.emplace_back(JsonObject()).asObject();
    entry.set("count", cluster.count).set("core", cluster.core);
    if (cluster.maxMHz)
      entry.set("max_mhz", *cluster.maxMHz);
  }
  JsonObject object;
  object.set("cores", JsonObject().set("clusters", std::move(clusters)).set("source", machine.clustersSource));
  setNumber(object, "last_level_cache_bytes", machine.lastLevelCacheBytes);
  setNumber(object, "system_cache_bytes", machine.systemCacheBytes);
  setNumber(object, "dram_peak_bytes_per_second", machine.dramPeakBytesPerSecond);
  setNumber(object, "dram_sustained_bytes_per_second", machine.dramSustainedBytesPerSecond);
  setNumber(object, "flash_peak_bytes_per_second", machine.flashPeakBytesPerSecond);
  setNumber(object, "flash_sustained_bytes_per_second", machine.flashSustainedBytesPerSecond);
  return object;
}

std::string listTargetsAsJson() {
  JsonArray list;
  for (const std::string &name : targetNames()) {
    JsonObject &entry = *list.emplace_back(JsonObject()).asObject();
    entry.set("name", name);
    auto target = lookupTarget(name);
    if (!target) {
      entry.set("unavailable", llvm::toString(target.takeError()));
      continue;
    }
    entry.set("resolved_name", target->name)
        .set("summary", target->summary)
        .set("platform", nameOf(target->platform))
        .set("triple", target->triple)
        .set("isa", nameOf(target->isa))
        .set("layout_family", target->layoutFamily() == LayoutFamily::Arm64 ? "arm64" : "x86")
        .set("cpu", target->cpu)
        .set("llvm_features", target->features)
        .set("page_bytes", target->pageBytes)
        .set("sources", arrayOf(target->sources));
    if (!target->machine.clusters.empty())
      entry.set("machine", describe(target->machine));
  }
  return writeJson(std::move(list));
}

} // namespace moec
