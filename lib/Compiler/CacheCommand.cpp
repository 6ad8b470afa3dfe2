// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moec simulate-cache`: its flags, and what it found as a table, as JSON and as a plot. Main source: docs/paging.md.
#include "lib/Compiler/CacheStudy.h"
#include "lib/Compiler/Commands.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace moec {

namespace {

struct CacheOptions {
  std::string trace, plot;
  ZipfOptions zipf;
  Conversation conversation;
  std::optional<uint32_t> experts;
  std::vector<uint64_t> percents, slots; ///< one of them, or neither
  bool isZipf = false, isJson = false, hasShape = false;
};

/// Numbers that commas separate.
Flag numbers(const char *name, uint64_t smallest, uint64_t largest, std::vector<uint64_t> &values) {
  return {name, 1, [=, &values](llvm::ArrayRef<llvm::StringRef> words) -> llvm::Error {
            llvm::SmallVector<llvm::StringRef> parts;
            words[0].split(parts, ',');
            values.clear();
            for (llvm::StringRef part : parts) {
              uint64_t value = 0;
              if (part.getAsInteger(10, value) || value < smallest || value > largest)
                return fault("expects numbers from " + llvm::Twine(smallest) + " to " + llvm::Twine(largest) +
                             " such as 15,25,50, but got '" + words[0] + "'");
              values.push_back(value);
            }
            return llvm::Error::success();
          }};
}

Flag zipfFlag(CacheOptions &options) {
  return {"--zipf", 1, [&options](llvm::ArrayRef<llvm::StringRef> words) -> llvm::Error {
            double exponent = 0;
            if (words[0].getAsDouble(exponent) || !(exponent >= 0 && exponent <= 8))
              return fault("expects a number from 0 to 8, but got '" + words[0] + "'");
            options.zipf.exponent = exponent;
            options.isZipf = true;
            return llvm::Error::success();
          }};
}

std::vector<Flag> cacheFlags(CacheOptions &options) {
  ZipfOptions &zipf = options.zipf;
  Conversation &talk = options.conversation;
  auto shape = [&options](uint32_t &field) {
    return [&options, &field](uint64_t value) {
      field = static_cast<uint32_t>(value);
      options.hasShape = true;
    };
  };
  auto drawn = [&options](uint64_t &field) {
    return [&options, &field](uint64_t value) {
      field = value;
      options.hasShape = true;
    };
  };
  return {text("--trace", options.trace),
          zipfFlag(options),
          number("--layers", 1, 1024, shape(zipf.layers)),
          number("--experts", 1, 4096, [&](uint64_t value) { options.experts = static_cast<uint32_t>(value); }),
          number("--top-k", 1, 4096, shape(zipf.topK)),
          number("--tokens", 1, kMaxRoutingIds, drawn(zipf.tokens)),
          number("--drift", 0, uint64_t(1) << 32, drawn(zipf.drift)),
          number("--seed", 0, UINT64_MAX, drawn(zipf.seed)),
          number("--prompt", 1, 1 << 20, [&](uint64_t value) { talk.prompt = value; }),
          number("--reply", 0, 1 << 20, [&](uint64_t value) { talk.reply = value; }),
          number("--chunk", 1, 4096, [&](uint64_t value) { talk.chunk = value; }),
          numbers("--budgets", 1, 100, options.percents),
          numbers("--slots", 1, 1 << 22, options.slots),
          text("--svg", options.plot),
          flag("--json", options.isJson)};
}

llvm::Error checkFlags(CacheOptions &options, llvm::ArrayRef<std::string> positional) {
  if (!positional.empty())
    return fault("simulate-cache takes no '" + positional[0] + "'");
  if (options.trace.empty() == !options.isZipf)
    return fault("simulate-cache expects --trace FILE or --zipf S, one of them");
  if (!options.isZipf && options.hasShape)
    return fault("--layers, --top-k, --tokens, --drift and --seed go with --zipf: a trace has its own");
  if (options.experts)
    options.zipf.experts = *options.experts;
  if (options.isZipf && options.zipf.topK > options.zipf.experts)
    return fault("--top-k is " + llvm::Twine(options.zipf.topK) + ", expects at most the " +
                 llvm::Twine(options.zipf.experts) + " experts of a layer");
  if (!options.percents.empty() && !options.slots.empty())
    return fault("--budgets and --slots exclude each other");
  if (options.conversation.reply && !options.conversation.prompt)
    return fault("--reply needs --prompt");
  return llvm::Error::success();
}

/// Page slots, ascending, at least those of one token's layer.
std::vector<uint64_t> slotsOf(const CacheOptions &options, const RoutingTrace &routing) {
  std::vector<uint64_t> slots = options.slots;
  std::vector<uint64_t> percents = {15, 25, 50, 75};
  if (!options.percents.empty())
    percents = options.percents;
  if (slots.empty())
    for (uint64_t percent : percents)
      slots.push_back(routing.records * percent / 100);
  for (uint64_t &count : slots)
    count = std::clamp<uint64_t>(count, std::min<uint64_t>(routing.topK, routing.records), routing.records);
  llvm::sort(slots);
  slots.erase(llvm::unique(slots), slots.end());
  return slots;
}

/// A request looks at every slot: refuses what would take more than minutes.
llvm::Error checkWork(const RoutingTrace &routing, llvm::ArrayRef<uint64_t> slots) {
  constexpr uint64_t kMost = uint64_t(1) << 35;
  uint64_t numSlots = 0;
  for (uint64_t count : slots)
    numSlots += count;
  if (routing.requests.size() <= kMost / numSlots)
    return llvm::Error::success();
  return fault(routing.source + " has " + llvm::Twine(routing.requests.size()) + " requests, which with " +
               llvm::Twine(numSlots) + " slots in all budgets would take more than minutes; at most " +
               llvm::Twine(kMost / numSlots) + " are simulated: give fewer tokens, layers, experts or budgets");
}

const char *nameOf(uint32_t eviction) {
  for (const CachePolicy &policy : cachePolicies())
    if (policy.eviction == eviction)
      return policy.name;
  return cachePolicies().back().name;
}

Json countsAsJson(const CacheCounts &counts) {
  return JsonObject()
      .set("hits", counts.hits())
      .set("misses", counts.misses)
      .set("hit_rate", std::round(counts.hitRate() * 1e6) / 1e6);
}

std::string writeStudy(const RoutingTrace &routing, llvm::ArrayRef<CacheRow> rows, const CacheCounts &again) {
  JsonArray budgets;
  for (const CacheRow &row : rows) {
    JsonObject found;
    for (size_t p = 0; p < cachePolicies().size(); ++p)
      found.set(cachePolicies()[p].name, countsAsJson(row.policies[p]));
    found.set("belady", countsAsJson(row.belady));
    budgets.push_back(JsonObject()
                          .set("slots", row.slots)
                          .set("share", double(row.slots) / double(routing.records))
                          .set("policies", std::move(found)));
  }
  JsonObject root;
  root.set("basis", "simulated")
      .set("source", routing.source)
      .set("layers", routing.layers)
      .set("experts", routing.experts)
      .set("top_k", routing.topK)
      .set("expert_records", routing.records)
      .set("tokens", routing.tokens)
      .set("tokens_decoded", routing.decoded)
      .set("budgets", std::move(budgets));
  if (const auto &run = routing.run)
    root.set("recorded", JsonObject()
                             .set("slots", run->slots)
                             .set("eviction", nameOf(run->eviction))
                             .set("repeatable", run->isRepeatable)
                             .set("hits", run->hits)
                             .set("misses", run->misses)
                             .set("simulated_hits", again.hits())
                             .set("simulated_misses", again.misses));
  return writeJson(std::move(root));
}

std::string formatStudy(const RoutingTrace &routing, llvm::ArrayRef<CacheRow> rows, const CacheCounts &again) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << routing.source << ": " << routing.layers << " layers, " << routing.experts << " experts, top-"
         << routing.topK << ", " << routing.tokens << " tokens (" << routing.decoded << " alone in their call)\n";
  stream << "  slots   share";
  for (const CachePolicy &policy : cachePolicies())
    stream << llvm::right_justify(policy.name, 9);
  stream << "   belady   hits in %, simulated\n";
  for (const CacheRow &row : rows) {
    stream << llvm::format("%7llu  %4.1f %%", static_cast<unsigned long long>(row.slots),
                           100 * double(row.slots) / double(routing.records));
    for (const CacheCounts &counts : row.policies)
      stream << llvm::format("%9.2f", 100 * counts.hitRate());
    stream << llvm::format("%9.2f\n", 100 * row.belady.hitRate());
  }
  if (const auto &run = routing.run)
    stream << "the run: " << run->slots << " slots, " << nameOf(run->eviction) << ", " << run->hits << " hits, "
           << run->misses << " misses; simulated " << again.hits() << " and " << again.misses
           << (run->isRepeatable ? "" : " (it read ahead of need, or a call failed: may differ)") << "\n";
  return text;
}

} // namespace

int runSimulateCache(llvm::ArrayRef<llvm::StringRef> words) {
  CacheOptions options;
  std::vector<std::string> positional;
  llvm::Error error = readFlags(words, cacheFlags(options), positional);
  if (!error)
    error = checkFlags(options, positional);
  if (error)
    return fail(kWrongUsage, std::move(error));
  auto routing = options.isZipf ? drawRouting(options.zipf, options.conversation)
                                : readRouting(options.trace, options.experts, options.conversation);
  if (!routing)
    return fail(kInputAtFault, routing.takeError());
  std::vector<uint64_t> allSlots = slotsOf(options, *routing);
  error = checkWork(*routing, allSlots);
  if (error)
    return fail(kInputAtFault, std::move(error));
  OutputTransaction outputs;
  OutputFile *plot = nullptr;
  if (!options.plot.empty()) {
    auto added = outputs.add(options.plot);
    if (!added)
      return fail(kInputAtFault, added.takeError());
    plot = *added;
  }
  std::vector<CacheRow> rows;
  for (uint64_t slots : allSlots) {
    CacheRow row = {slots, {}, simulateBelady(*routing, slots)};
    for (const CachePolicy &policy : cachePolicies())
      row.policies.push_back(simulateCache(*routing, slots, policy.eviction));
    rows.push_back(std::move(row));
  }
  CacheCounts again;
  if (routing->run)
    again = simulateCache(*routing, routing->run->slots, static_cast<moert_eviction>(routing->run->eviction));
  if (plot) {
    error = plot->write(plotCache(*routing, rows));
    if (!error)
      error = outputs.commit();
    if (error)
      return fail(kInputAtFault, std::move(error));
  }
  llvm::outs() << (options.isJson ? writeStudy(*routing, rows, again) + "\n" : formatStudy(*routing, rows, again));
  return 0;
}

} // namespace moec
