// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plans a model without weights and adds up what a token moves.
#include "lib/Compiler/Estimate.h"

#include "lib/Compiler/Compile.h"
#include "lib/Compiler/LinkStep.h"
#include "lib/Compiler/ModuleFiles.h"

#include "dialects/moe/MoeDialect.h"
#include "dialects/rt/RtDialect.h"
#include "lib/Pack/RowFormat.h"
#include "lib/Plan/KvLayout.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Sizes.h"
#include "passes/plan/StoredWeight.h"

#include <map>

using namespace mlir;

namespace moec {

namespace {

/// Mapped bytes of a `.so` without its tokenizer tables: 0.3 MiB for 48 layers on x86-64 (measured), with room.
constexpr uint64_t kAssumedCodeBytes = uint64_t(1) << 19;

/// Names of the classes in the order in which they are shown.
constexpr const char *kClassOrder[] = {"embedding", "head",          "attention", "deltanet", "router",       "norms",
                                       "dense ffn", "shared expert", "experts",   "other",    "rotary tables"};

llvm::StringRef classOf(moe::Role role) {
  switch (role) {
  case moe::Role::embedding:
    return "embedding";
  case moe::Role::head:
    return "head";
  case moe::Role::attention_q:
  case moe::Role::attention_k:
  case moe::Role::attention_v:
  case moe::Role::attention_o:
  case moe::Role::attention_gate:
    return "attention";
  case moe::Role::delta_q:
  case moe::Role::delta_k:
  case moe::Role::delta_v:
  case moe::Role::delta_gate:
  case moe::Role::delta_out:
  case moe::Role::recurrent:
  case moe::Role::recurrent_decay:
  case moe::Role::recurrent_beta:
  case moe::Role::recurrent_conv:
    return "deltanet";
  case moe::Role::router:
  case moe::Role::shared_router:
    return "router";
  case moe::Role::norm:
    return "norms";
  case moe::Role::ffn_gate:
  case moe::Role::ffn_up:
  case moe::Role::ffn_down:
    return "dense ffn";
  case moe::Role::shared_gate:
  case moe::Role::shared_up:
  case moe::Role::shared_down:
    return "shared expert";
  case moe::Role::expert_gate:
  case moe::Role::expert_up:
  case moe::Role::expert_down:
    return "experts";
  default:
    return "other";
  }
}

class Estimator {
public:
  Estimator(const EstimateOptions &options) : options(options) {}
  llvm::Error run(ModuleOp module);

  Estimate result;

private:
  llvm::Error addWeights(ModuleOp module);
  void addTables(ModuleOp module);
  void addClass(llvm::StringRef name, llvm::StringRef placement, const std::string &encoding, uint64_t weights,
                uint64_t bytes);
  llvm::Error planMemory(ModuleOp module, const PackPlanOfModule &pack);
  llvm::Error addBandwidths(ModuleOp module);
  /// What was given or is known of the target; notes the assumption.
  std::optional<uint64_t> bandwidth(llvm::StringRef what, llvm::StringRef flag, std::optional<uint64_t> given,
                                    const std::optional<MachineNumber> &sustained,
                                    const std::optional<MachineNumber> &peak);
  void addSpeed();
  void addAssumptions();

  const EstimateOptions &options;
  std::map<std::string, EstimateClass> classes;
};

void Estimator::addClass(llvm::StringRef name, llvm::StringRef placement, const std::string &encoding, uint64_t weights,
                         uint64_t bytes) {
  EstimateClass &entry = classes[name.str()];
  entry.name = name.str();
  entry.placement = placement.str();
  if (!llvm::StringRef(entry.encoding).contains(encoding))
    entry.encoding += (entry.encoding.empty() ? "" : ", ") + encoding;
  entry.weights += weights;
  entry.bytes += bytes;
}

llvm::Error Estimator::addWeights(ModuleOp module) {
  FailureOr<LayoutFamily> family = moe::familyOf(module);
  if (failed(family))
    return fault("the module has no layout family");
  TokenTraffic &traffic = result.traffic;
  std::map<int64_t, uint64_t> expertBytes; // by layer
  uint64_t topK = integerOf(module, "moe.model", "top_k");
  for (auto weight : module.getOps<moe::WeightOp>()) {
    FailureOr<moe::StoredWeight> stored = moe::storedWeightOf(weight, *family);
    if (failed(stored))
      return fault("'" + weight.getSymName() + "' cannot be stored; see the message before");
    RankedTensorType type = weight.getTensorType();
    uint64_t pieces = type.getRank() == 3 ? type.getDimSize(0) : 1, bytes = stored->bytes * pieces;
    llvm::StringRef placement = "resident";
    if (moe::isHeadEmbedding(weight))
      continue; // the head, which is there already
    if (isa_and_present<rt::StreamedPlaceAttr>(weight.getPlacementAttr())) {
      placement = "streamed";
      bytes = stored->rows * (stored->rowBytes + kRowChecksumBytes);
      traffic.rowBytes += stored->rowBytes + kRowChecksumBytes;
    } else if (isa_and_present<rt::PagedPlaceAttr>(weight.getPlacementAttr())) {
      placement = "paged";
      expertBytes[weight.getLayer()] += stored->bytes;
    } else {
      traffic.residentBytes += bytes;
    }
    addClass(classOf(weight.getRole()), placement, nameOf(stored->encoding), type.getNumElements(), bytes);
    result.weights += type.getNumElements();
    if (weight.getRole() != moe::Role::embedding)
      result.activeWeights += type.getRank() == 3 ? type.getNumElements() / pieces * topK : type.getNumElements();
  }
  for (auto [layer, bytes] : expertBytes)
    traffic.expertBytes = std::max(traffic.expertBytes, bytes);
  traffic.usesPerToken = expertBytes.size() * topK;
  // A tied embedding with a precision of its own is the head's table once more.
  for (auto weight : module.getOps<moe::WeightOp>())
    if (moe::tiedHeadOf(weight) && !moe::isHeadEmbedding(weight))
      result.weights -= weight.getTensorType().getNumElements();
  return llvm::Error::success();
}

void Estimator::addTables(ModuleOp module) {
  uint64_t positions = integerOf(module, "rt.pack", "rope_positions"), half = integerOf(module, "rt.pack", "rope_half");
  if (positions)
    addClass("rotary tables", "resident", "f32", 0, 2 * positions * half * 4);
}

llvm::Error Estimator::planMemory(ModuleOp module, const PackPlanOfModule &pack) {
  DescriptorContent content = describeModule(module);
  content.tables = pack.tables;
  auto tokenizer = tokenizerOf(module, content.fixed.vocab_size);
  if (!tokenizer)
    return tokenizer.takeError();
  content.tokenizer = std::move(*tokenizer);
  auto plan = planOf(content, kAssumedCodeBytes + content.tokenizer.size(), options.model.memoryBytes.value_or(0));
  if (!plan)
    return fault("--memory: " + llvm::toString(plan.takeError()));
  result.plan = *plan;
  return llvm::Error::success();
}

void Estimator::addSpeed() {
  result.cost = costOfToken(result.traffic);
  bool needsFlash = result.cost.missesPerToken > 0;
  if (!result.dramBytesPerSecond || (needsFlash && !result.flashBytesPerSecond))
    return;
  double dram = result.cost.dramBytes / double(*result.dramBytesPerSecond);
  double flash = result.flashBytesPerSecond ? result.cost.flashBytes / double(*result.flashBytesPerSecond) : 0;
  result.tokensPerSecond = 1 / (dram + flash);
  result.tokensPerSecondOverlapped = 1 / std::max(dram, flash);
}

void Estimator::addAssumptions() {
  auto add = [&](const llvm::Twine &text) { result.assumptions.push_back(text.str()); };
  bool hasExperts = result.traffic.numRecords != 0;
  if (hasExperts)
    add("routing is uniform and independent in every layer and token; expert slots are least recently used, so a use "
        "hits with the share of experts that have a slot, and never with fewer slots than one token uses");
  bool isWindow = result.position < result.context / 2;
  add("a token sees " + llvm::Twine(result.position) + " positions of the KV cache, " +
      (isWindow ? "the window and its sinks" : "half of the context"));
  add("a token reads every resident weight once; activations stay in the processor's caches");
  if (result.traffic.stateBytes)
    add("a token reads and writes its recurrent states once, " + formatSize(result.traffic.stateBytes));
  if (hasExperts)
    add("an expert that misses is read from flash whole, written to memory and read again; nothing is read ahead");
  add("code and constants of the .so have " + formatSize(kAssumedCodeBytes) + " besides the tokenizer's tables");
}

llvm::Error Estimator::addBandwidths(ModuleOp module) {
  auto target = recordedTarget(module);
  if (!target)
    return target.takeError();
  const MachineFacts &machine = target->machine;
  result.dramBytesPerSecond = bandwidth("memory", "--dram", options.dramBytesPerSecond,
                                        machine.dramSustainedBytesPerSecond, machine.dramPeakBytesPerSecond);
  result.flashBytesPerSecond = bandwidth("flash", "--flash", options.flashBytesPerSecond,
                                         machine.flashSustainedBytesPerSecond, machine.flashPeakBytesPerSecond);
  return llvm::Error::success();
}

std::optional<uint64_t> Estimator::bandwidth(llvm::StringRef what, llvm::StringRef flag, std::optional<uint64_t> given,
                                             const std::optional<MachineNumber> &sustained,
                                             const std::optional<MachineNumber> &peak) {
  const std::optional<MachineNumber> &known = sustained ? sustained : peak;
  auto add = [&](const llvm::Twine &text) { result.assumptions.push_back((what + text).str()); };
  auto rate = [](uint64_t bytes) { return std::to_string(bytes / 1'000'000) + " MB a second, all of which is used"; };
  if (given) {
    add(" delivers " + rate(*given) + " (" + flag + ")");
    return given;
  }
  if (!known) {
    add("'s bandwidth is not known of this target: give " + flag + " to estimate tokens per second");
    return std::nullopt;
  }
  add(" delivers " + rate(known->value) + " (" + (sustained ? "sustained" : "peak") + ", " +
      (known->isEstimated ? "estimated" : "cited") + ": " + known->source + ")");
  return known->value;
}

llvm::Error Estimator::run(ModuleOp module) {
  auto pack = planPack(module, options.model.partBytes);
  if (!pack)
    return pack.takeError();
  result.packBytes = pack->plan.header().total_bytes;
  result.model = textOf(module, "moe.model", "name");
  result.target = textOf(module, "moe.target", "name");
  result.quant = textOf(module, "moe.options", "quant");
  result.group = textOf(module, "moe.options", "group");
  result.kv = textOf(module, "moe.options", "kv");
  result.context = contextOf(module);
  result.chunk = integerOf(module, "rt.plan", "chunk");
  result.position = result.context / 2;
  if (uint64_t window = integerOf(module, "rt.plan", "kv_window"))
    result.position = std::min(result.position, window + integerOf(module, "rt.plan", "kv_sinks"));
  if (llvm::Error error = addWeights(module))
    return error;
  addTables(module);
  if (llvm::Error error = planMemory(module, *pack))
    return error;
  TokenTraffic &traffic = result.traffic;
  traffic.recordBytes = result.plan.slot_bytes;
  traffic.numRecords = result.plan.num_experts;
  traffic.numSlots = result.plan.num_slots;
  traffic.kvBytes = result.position * integerOf(module, "rt.plan", "kv_block_bytes") / kKvBlockPositions;
  traffic.stateBytes = integerOf(module, "rt.plan", "state_bytes");
  addAssumptions();
  if (llvm::Error error = addBandwidths(module))
    return error;
  addSpeed();
  uint64_t inClasses = 0;
  for (const char *name : kClassOrder)
    if (auto found = classes.find(name); found != classes.end()) {
      inClasses += found->second.bytes;
      result.classes.push_back(std::move(found->second));
    }
  result.classes.push_back({"tables and padding", "", "", 0, result.packBytes - inClasses});
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Estimate> estimate(const EstimateOptions &options) {
  if (options.model.quant == "source")
    return fault("--quant source keeps the types of a file's weights, which an estimate does not read, expects another "
                 "preset; 'moec precision FILE --quant source' shows what is kept");
  Estimator estimator(options);
  if (llvm::Error error = planRandomModel(options.model, [&](ModuleOp module) { return estimator.run(module); }))
    return std::move(error);
  return std::move(estimator.result);
}

} // namespace moec
