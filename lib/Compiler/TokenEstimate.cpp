// SPDX-License-Identifier: Apache-2.0
/// \file
/// Weights of a token from the module; costs for several numbers of experts.
#include "lib/Compiler/TokenEstimate.h"

#include "dialects/rt/RtDialect.h"
#include "lib/Support/Sizes.h"
#include "passes/plan/StoredWeight.h"

#include "llvm/Support/Format.h"

#include <map>

using namespace mlir;

namespace moec {

void describeTokenWeights(ModuleOp module, moert_model_descriptor &descriptor) {
  FailureOr<LayoutFamily> family = moe::familyOf(module);
  if (failed(family))
    return;
  uint64_t resident = 0;
  std::map<int64_t, uint64_t> experts; // by layer
  for (auto weight : module.getOps<moe::WeightOp>()) {
    if (moe::isHeadEmbedding(weight) || isa_and_present<rt::StreamedPlaceAttr>(weight.getPlacementAttr()))
      continue; // the head, which is counted itself; rows, which the runtime counts
    FailureOr<moe::StoredWeight> stored = moe::storedWeightOf(weight, *family);
    if (failed(stored))
      return;
    RankedTensorType type = weight.getTensorType();
    if (isa_and_present<rt::PagedPlaceAttr>(weight.getPlacementAttr()))
      experts[weight.getLayer()] += stored->bytes;
    else
      resident += stored->bytes * (type.getRank() == 3 ? type.getDimSize(0) : 1);
  }
  for (auto [layer, bytes] : experts)
    descriptor.expert_bytes = std::max(descriptor.expert_bytes, bytes);
  descriptor.token_resident_bytes = resident;
}

const std::optional<MachineNumber> &knownMemoryRate(const MachineFacts &machine) {
  return machine.dramSustainedBytesPerSecond ? machine.dramSustainedBytesPerSecond : machine.dramPeakBytesPerSecond;
}

const std::optional<MachineNumber> &knownFlashRate(const MachineFacts &machine) {
  return machine.flashSustainedBytesPerSecond ? machine.flashSustainedBytesPerSecond : machine.flashPeakBytesPerSecond;
}

moert_token_cost costOf(const moert_token_traffic &traffic) {
  moert_token_cost cost{};
  moert_cost_token(&traffic, &cost);
  return cost;
}

std::vector<uint32_t> expertsWorthALook(uint32_t topK) {
  std::vector<uint32_t> numbers;
  for (uint32_t quarters = 4; quarters > 0 && topK > 0; --quarters)
    if (uint32_t number = (topK * quarters + 3) / 4; numbers.empty() || numbers.back() != number)
      numbers.push_back(number);
  return numbers;
}

JsonArray describeByExpertsUsed(const moert_token_traffic &traffic, uint32_t topK) {
  JsonArray entries;
  for (uint32_t used : expertsWorthALook(traffic.num_layers ? topK : 0)) {
    moert_token_traffic changed = traffic;
    changed.experts_used = used;
    moert_token_cost cost = costOf(changed);
    entries.push_back(
        JsonObject()
            .set("experts_used", used)
            .set("working_set_bytes", uint64_t(traffic.num_layers) * used * traffic.record_bytes)
            .set("memory_bytes", cost.memory_bytes)
            .set("flash_bytes", cost.flash_bytes)
            .set("tokens_per_s", cost.tokens_per_second > 0 ? Json(cost.tokens_per_second) : Json(nullptr)));
  }
  return entries;
}

void formatByExpertsUsed(const JsonArray &entries, llvm::raw_ostream &stream) {
  auto bytes = [](const JsonObject &entry, llvm::StringRef key) {
    const Json *value = entry.find(key);
    return formatSize(value ? value->asUint64().value_or(0) : 0);
  };
  if (!entries.empty())
    stream << "a decoded token by --experts-used, estimated\n";
  for (const Json &member : entries)
    if (const JsonObject *entry = member.asObject()) {
      const Json *used = entry->find("experts_used"), *speed = entry->find("tokens_per_s");
      stream << llvm::format("  %3u", static_cast<unsigned>(used ? used->asUint64().value_or(0) : 0))
             << "  working set " << bytes(*entry, "working_set_bytes") << ", from memory "
             << bytes(*entry, "memory_bytes") << ", from flash " << bytes(*entry, "flash_bytes");
      if (std::optional<double> rate = speed ? speed->asDouble() : std::nullopt)
        stream << llvm::format(", %.1f tokens/s", *rate);
      stream << "\n";
    }
}

} // namespace moec
