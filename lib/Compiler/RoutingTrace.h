// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the routers of a model chose, call after call: from a file of `moe-run --trace`, from an array of numpy, or
/// drawn. Main source: docs/paging.md.
#ifndef LIB_COMPILER_ROUTINGTRACE_H
#define LIB_COMPILER_ROUTINGTRACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moec {

/// One layer in one call: numTokens * topK ids from `firstId`.
struct RoutingRequest {
  uint32_t layer, numTokens;
  uint64_t firstId;
};

/// What the runtime counted while a trace was recorded.
struct RecordedRun {
  uint64_t slots, hits, misses;
  uint32_t eviction;
  bool isRepeatable; ///< nothing was loaded ahead of need, and no call failed
};

struct RoutingTrace {
  std::string source; ///< for tables: the path, or what was drawn
  uint32_t layers = 0, experts = 0, topK = 0;
  uint64_t tokens = 0, decoded = 0; ///< all, and those that were alone in their call
  uint64_t records = 0;             ///< experts of all layers that have some
  std::vector<RoutingRequest> requests;
  std::vector<int32_t> ids; ///< -1 = rank not used
  uint32_t maxTokens = 0;   ///< of a request
  std::optional<RecordedRun> run;
  llvm::ArrayRef<int32_t> idsOf(const RoutingRequest &request) const {
    return llvm::ArrayRef(ids).slice(request.firstId, uint64_t(request.numTokens) * topK);
  }
};

/// How tokens that come without calls are cut into calls: prompts of `prompt` tokens in chunks of `chunk`, each
/// followed by `reply` tokens one at a time. Without a prompt all are alone.
struct Conversation {
  uint64_t prompt = 0, reply = 0, chunk = 64;
};

/// Experts of a layer have popularities 1 / rank^exponent; a token draws top-k different ones. An expert's rank is
/// drawn anew, by an exchange with another one, every `drift` tokens in the mean (0 = never). Layers are independent.
/// The same seed gives the same routing.
struct ZipfOptions {
  double exponent = 1;
  uint32_t layers = 48, experts = 128, topK = 8;
  uint64_t tokens = 2048, drift = 600, seed = 1;
};

/// Most ids of a routing.
inline constexpr uint64_t kMaxRoutingIds = uint64_t(1) << 25;

/// Errors: no such file; neither a trace nor a uint8 array [tokens, layers, top-k]; sizes that do not fit together; ids
/// out of range; the message has path, place, found and expected.
llvm::Expected<RoutingTrace> readRouting(llvm::StringRef path, std::optional<uint32_t> experts,
                                         const Conversation &conversation);
/// Errors: more than kMaxRoutingIds ids.
llvm::Expected<RoutingTrace> drawRouting(const ZipfOptions &options, const Conversation &conversation);

} // namespace moec

#endif
