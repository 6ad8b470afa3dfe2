// SPDX-License-Identifier: Apache-2.0
/// \file
/// Plans a model without weights and adds up what a token moves.
#include "lib/Compiler/Estimate.h"

#include "lib/Compiler/Compile.h"
#include "lib/Compiler/LinkStep.h"
#include "lib/Compiler/ModuleFiles.h"
#include "lib/Compiler/TokenEstimate.h"

#include "dialects/moe/MoeDialect.h"
#include "dialects/rt/RtDialect.h"
#include "lib/Pack/RowFormat.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Sizes.h"
#include "lib/Synth/Routing.h"
#include "passes/plan/StoredWeight.h"

#include "llvm/Support/FormatVariadic.h"

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
                                    const std::optional<MachineNumber> &known, bool isSustained);
  double hitRateOfZipf(uint64_t numExperts) const;
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
    } else if (isa_and_present<rt::PagedPlaceAttr>(weight.getPlacementAttr())) {
      placement = "paged";
    }
    addClass(classOf(weight.getRole()), placement, nameOf(stored->encoding), type.getNumElements(), bytes);
    result.weights += type.getNumElements();
    if (weight.getRole() != moe::Role::embedding)
      result.activeWeights += type.getRank() == 3 ? type.getNumElements() / pieces * topK : type.getNumElements();
  }
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
  moert_model_descriptor &descriptor = content.fixed;
  if (options.expertsUsed > descriptor.top_k)
    return fault("--experts-used is " + llvm::Twine(options.expertsUsed) + ", expects at most the model's " +
                 llvm::Twine(descriptor.top_k));
  auto plan = planOf(content, kAssumedCodeBytes + content.tokenizer.size(), options.model.memoryBytes.value_or(0),
                     options.expertsUsed);
  if (!plan)
    return fault("--memory: " + llvm::toString(plan.takeError()));
  result.plan = *plan;
  result.topK = descriptor.top_k;
  result.depth = options.depth.value_or(result.context / 2);
  if (result.depth > result.context)
    return fault("--depth is " + llvm::Twine(result.depth) + ", expects at most the context, " +
                 llvm::Twine(result.context));
  if (descriptor.window)
    result.depth = std::min(result.depth, uint64_t(descriptor.window) + descriptor.sinks);
  descriptor.num_streamed_tables = content.tables.size();
  descriptor.streamed_tables = content.tables.data();
  moert_describe_token(&descriptor, &*plan, options.expertsUsed ? options.expertsUsed : result.topK, result.depth,
                       &result.traffic);
  if (result.traffic.num_layers == 0 && (options.hitRate || options.zipfThousandths || options.predicted))
    return fault("the model has no experts, so --hit-rate, --routing and --predicted have no meaning; leave them out");
  if (options.hitRate)
    result.traffic.hit_rate = *options.hitRate;
  else if (options.zipfThousandths)
    result.traffic.hit_rate = hitRateOfZipf(descriptor.num_experts);
  result.traffic.predicted_rate = options.predicted.value_or(0);
  return llvm::Error::success();
}

/// Every layer keeps its most used experts, as many as there are slots for; a share of the next one's uses hits.
double Estimator::hitRateOfZipf(uint64_t numExperts) const {
  uint32_t used = result.traffic.experts_used;
  double slots = double(result.plan.num_slots) / result.traffic.num_layers, hits = 0;
  for (double share : usedShares(numExperts, {*options.zipfThousandths, used})) {
    hits += share * std::clamp(slots, 0.0, 1.0);
    slots -= 1;
  }
  return std::min(hits / used, 1.0);
}

void Estimator::addAssumptions() {
  auto add = [&](const llvm::Twine &text) { result.assumptions.push_back(text.str()); };
  const moert_token_traffic &traffic = result.traffic;
  bool hasExperts = traffic.num_layers != 0;
  if (hasExperts && options.hitRate)
    add("a use of an expert hits with the chance that was given (--hit-rate), independently of others");
  else if (hasExperts && options.zipfThousandths)
    add("routing follows --routing " + zipfText(*options.zipfThousandths) +
        ", independently in every token, and each layer keeps its most used experts in memory");
  else if (hasExperts)
    add("routing is uniform and independent in every layer and token, which is the worst case: a use hits with the "
        "share of experts that have a slot");
  bool isWindow = !options.depth && result.depth < result.context / 2;
  add("a token sees " + llvm::Twine(result.depth) + " positions of the KV cache, " +
      (options.depth ? "as given"
       : isWindow    ? "the window and its sinks"
                     : "half of the context"));
  add("a token reads every resident weight once; activations stay in the processor's caches");
  if (traffic.state_bytes)
    add("a token reads and writes its recurrent states once, " + formatSize(traffic.state_bytes));
  add("products read weights with " + llvm::Twine(MOERT_WEIGHTS_PERCENT) +
      " % of the memory's bandwidth, attention its "
      "cache with " +
      llvm::Twine(MOERT_KV_PERCENT) + " % and a recurrent step its state with " + llvm::Twine(MOERT_STATE_PERCENT) +
      " %, as measured on x86-64");
  if (hasExperts) {
    add("an expert that misses is read from flash whole, written to memory and read again; a layer computes those that "
        "hit meanwhile and the last one that arrives afterwards");
    add("each of " + llvm::Twine(MOERT_DEFAULT_READER_LANES) + " reader lanes verifies " +
        llvm::Twine(MOERT_VERIFIED_BYTES_PER_SECOND / 1'000'000) + " MB a second, as measured on x86-64");
    if (options.predicted)
      add(llvm::formatv("{0:F2} of the misses are predicted: their reads begin during the dense part of the layer",
                        *options.predicted)
              .str());
    else
      add("nothing is read ahead of its router");
  }
  add("code and constants of the .so have " + formatSize(kAssumedCodeBytes) + " besides the tokenizer's tables");
}

llvm::Error Estimator::addBandwidths(ModuleOp module) {
  auto target = recordedTarget(module);
  if (!target)
    return target.takeError();
  const MachineFacts &machine = target->machine;
  auto memory = bandwidth("memory", "--dram", options.dramBytesPerSecond, knownMemoryRate(machine),
                          machine.dramSustainedBytesPerSecond.has_value());
  auto flash = bandwidth("flash", "--flash", options.flashBytesPerSecond, knownFlashRate(machine),
                         machine.flashSustainedBytesPerSecond.has_value());
  result.memoryBytesPerSecond = memory;
  if (memory && options.clock != 1) {
    memory = static_cast<uint64_t>(double(*memory) * options.clock);
    result.assumptions.push_back(
        llvm::formatv("at {0:F2} of their clock the cores read memory with {0:F2} of that, the worst case: decoding "
                      "waits for memory more than for the cores; flash keeps its speed",
                      options.clock)
            .str());
  }
  result.traffic.memory_bytes_per_second = memory.value_or(0);
  result.traffic.flash_bytes_per_second = flash.value_or(0);
  return llvm::Error::success();
}

std::optional<uint64_t> Estimator::bandwidth(llvm::StringRef what, llvm::StringRef flag, std::optional<uint64_t> given,
                                             const std::optional<MachineNumber> &known, bool isSustained) {
  auto add = [&](const llvm::Twine &text) { result.assumptions.push_back((what + text).str()); };
  auto rate = [](uint64_t bytes) { return std::to_string(bytes / 1'000'000) + " MB a second"; };
  if (given) {
    add(" delivers " + rate(*given) + " (" + flag + ")");
    return given;
  }
  if (!known) {
    add("'s bandwidth is not known of this target: give " + flag + " to estimate tokens per second");
    return std::nullopt;
  }
  add(" delivers " + rate(known->value) + " (" + (isSustained ? "sustained" : "peak") + ", " +
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
  if (llvm::Error error = addWeights(module))
    return error;
  addTables(module);
  if (llvm::Error error = planMemory(module, *pack))
    return error;
  addAssumptions();
  if (llvm::Error error = addBandwidths(module))
    return error;
  result.cost = costOf(result.traffic);
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
