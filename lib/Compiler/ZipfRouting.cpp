// SPDX-License-Identifier: Apache-2.0
/// \file
/// Routing by popularities that follow Zipf's law and drift. Integers but for the popularities, which are rounded to
/// 2^-24 of the largest.
#include "lib/Compiler/RoutingCalls.h"
#include "lib/Compiler/RoutingTrace.h"

#include "include/moert/SplitMix64.h"
#include "lib/Support/Fault.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace moec {

namespace {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() { return moert_split_mix_64(&state); }
  uint64_t below(uint64_t bound) { return static_cast<uint64_t>(static_cast<unsigned __int128>(next()) * bound >> 64); }

private:
  uint64_t state;
};

class ZipfRouter {
public:
  explicit ZipfRouter(const ZipfOptions &options)
      : random(options.seed), numExperts(options.experts), topK(options.topK),
        expertOfRank(options.layers, std::vector<int32_t>(options.experts)) {
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < numExperts; ++rank) {
      sum += std::max<uint64_t>(1, std::llround(std::ldexp(std::pow(rank + 1.0, -options.exponent), 24)));
      sums.push_back(sum);
    }
    for (std::vector<int32_t> &order : expertOfRank) {
      for (uint32_t e = 0; e < numExperts; ++e)
        order[e] = static_cast<int32_t>(e);
      for (uint32_t e = numExperts; e > 1; --e)
        std::swap(order[e - 1], order[random.below(e)]);
    }
    // An exchange gives two experts new ranks.
    if (options.drift)
      exchanges = (uint64_t(numExperts) << 31) / options.drift;
  }

  void choose(uint32_t layer, int32_t *ids) {
    std::vector<int32_t> &order = expertOfRank[layer];
    uint64_t count = (exchanges >> 32) + ((random.next() >> 32) < (exchanges & UINT32_MAX));
    for (; count; --count) {
      uint64_t first = random.below(numExperts), second = random.below(numExperts);
      std::swap(order[first], order[second]);
    }
    // Where few of the popular experts are left, draws hit what is there already, again and again.
    constexpr uint32_t kMostRejected = 1024;
    for (uint32_t k = 0, rejected = 0; k < topK;) {
      llvm::ArrayRef<int32_t> chosen(ids, k);
      if (rejected == kMostRejected) {
        ids[k++] = drawOther(order, chosen);
        continue;
      }
      uint64_t drawn = random.below(sums.back());
      int32_t expert = order[static_cast<size_t>(llvm::upper_bound(sums, drawn) - sums.begin())];
      if (llvm::is_contained(chosen, expert))
        ++rejected;
      else
        ids[k++] = expert;
    }
  }

private:
  uint64_t popularity(uint32_t rank) const { return sums[rank] - (rank ? sums[rank - 1] : 0); }

  /// Draws among the experts that are not `chosen`.
  int32_t drawOther(llvm::ArrayRef<int32_t> order, llvm::ArrayRef<int32_t> chosen) {
    std::vector<bool> isChosen(numExperts);
    uint64_t sum = sums.back();
    for (int32_t expert : chosen)
      isChosen[static_cast<size_t>(expert)] = true;
    for (uint32_t rank = 0; rank < numExperts; ++rank)
      sum -= isChosen[static_cast<size_t>(order[rank])] ? popularity(rank) : 0;
    uint64_t drawn = random.below(sum);
    uint32_t rank = 0;
    for (;; ++rank) {
      if (isChosen[static_cast<size_t>(order[rank])])
        continue;
      if (drawn < popularity(rank))
        return order[rank];
      drawn -= popularity(rank);
    }
  }

  Random random;
  uint32_t numExperts, topK;
  std::vector<std::vector<int32_t>> expertOfRank;
  std::vector<uint64_t> sums;
  uint64_t exchanges = 0; // of a token and layer, times 2^32
};

} // namespace

llvm::Expected<RoutingTrace> drawRouting(const ZipfOptions &options, const Conversation &conversation) {
  uint64_t perToken = uint64_t(options.layers) * options.topK;
  if (options.tokens > kMaxRoutingIds / perToken)
    return fault("--tokens " + llvm::Twine(options.tokens) + " with " + llvm::Twine(perToken) +
                 " experts each are too many; at most " + llvm::Twine(kMaxRoutingIds / perToken) + " can be drawn");
  RoutingTrace routing;
  llvm::raw_string_ostream(routing.source)
      << llvm::format("zipf %g, drift %llu, seed %llu", options.exponent,
                      static_cast<unsigned long long>(options.drift), static_cast<unsigned long long>(options.seed));
  routing.layers = options.layers;
  routing.experts = options.experts;
  routing.topK = options.topK;
  routing.records = uint64_t(options.layers) * options.experts;
  routing.tokens = options.tokens;
  ZipfRouter router(options);
  cutIntoCalls(routing, options.tokens, conversation,
               [&](uint64_t, uint32_t layer, int32_t *ids) { router.choose(layer, ids); });
  for (const RoutingRequest &request : routing.requests)
    routing.decoded += request.layer == 0 && request.numTokens == 1;
  return routing;
}

} // namespace moec
