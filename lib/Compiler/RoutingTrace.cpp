// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading of traces and arrays.
#include "lib/Compiler/RoutingTrace.h"
#include "lib/Compiler/RoutingCalls.h"

#include "include/moert/RoutingTrace.h"
#include "include/moert/moert.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Npy.h"

#include <algorithm>
#include <cstring>

namespace moec {

namespace {

constexpr uint64_t kMaxFileBytes = uint64_t(1) << 30;

template <typename T> T readAt(llvm::StringRef bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

llvm::Error damaged(llvm::StringRef path, const llvm::Twine &problem) {
  return fault("'" + path + "' is no whole routing trace: " + problem);
}

/// Whether tables by layer and expert, and counts of them, fit.
bool isShape(uint64_t layers, uint64_t experts, uint64_t topK) {
  constexpr uint64_t kMost = 1 << 14, kMostOfAll = 1 << 22;
  return layers && layers <= kMost && experts && experts <= kMost && layers * experts <= kMostOfAll && topK &&
         topK <= experts;
}

llvm::Error checkHeader(llvm::StringRef path, const moert_trace_header &header, uint64_t sizeBytes) {
  if (header.version != MOERT_TRACE_VERSION)
    return damaged(path, "its version is " + llvm::Twine(header.version) + ", expected " +
                             llvm::Twine(MOERT_TRACE_VERSION) + "; record it with the moe-run of this moec");
  uint64_t all = uint64_t(header.num_layers) * header.num_experts;
  if (!isShape(header.num_layers, header.num_experts, header.top_k) || header.header_bytes < sizeof(header) ||
      header.header_bytes > sizeBytes || header.num_expert_records > all || header.num_slots == 0 ||
      header.num_slots > all || header.eviction > MOERT_EVICTION_FREQUENCY_RECENCY)
    return damaged(path, "its header has " + llvm::Twine(header.header_bytes) + " bytes, " +
                             llvm::Twine(header.num_layers) + " layers, " + llvm::Twine(header.num_experts) +
                             " experts, top-k " + llvm::Twine(header.top_k) + ", " +
                             llvm::Twine(header.num_expert_records) + " expert records, " +
                             llvm::Twine(header.num_slots) + " slots, which do not fit together");
  return llvm::Error::success();
}

llvm::Expected<RoutingTrace> parseTrace(llvm::StringRef path, llvm::StringRef bytes) {
  if (bytes.size() < sizeof(moert_trace_header))
    return damaged(path, "it has " + llvm::Twine(bytes.size()) + " bytes, its header " +
                             llvm::Twine(sizeof(moert_trace_header)));
  auto header = readAt<moert_trace_header>(bytes, 0);
  if (llvm::Error error = checkHeader(path, header, bytes.size()))
    return error;
  RoutingTrace routing;
  routing.source = path.str();
  routing.layers = header.num_layers;
  routing.experts = header.num_experts;
  routing.topK = header.top_k;
  routing.records = header.num_expert_records;
  routing.run = RecordedRun{header.num_slots, header.expert_hits, header.expert_misses, header.eviction,
                            header.prefetch_issued == 0 && header.num_slots < header.num_expert_records};
  uint64_t at = header.header_bytes;
  for (uint64_t r = 0; r < header.num_records; ++r) {
    auto place = [&] { return "record " + llvm::Twine(r).str() + " at byte " + llvm::Twine(at).str(); };
    if (bytes.size() - at < sizeof(moert_trace_record))
      return damaged(path, "it ends in " + place());
    auto record = readAt<moert_trace_record>(bytes, at);
    uint64_t idBytes = moert_trace_id_bytes(record.num_tokens, header.top_k);
    if (record.layer >= header.num_layers || record.num_tokens == 0)
      return damaged(path, place() + " is of layer " + llvm::Twine(record.layer) + " and " +
                               llvm::Twine(record.num_tokens) + " tokens, expected a layer below " +
                               llvm::Twine(header.num_layers) + " and at least 1 token");
    if (bytes.size() - at - sizeof(record) < idBytes)
      return damaged(path, "it ends in the ids of " + place());
    routing.requests.push_back({record.layer, record.num_tokens, routing.ids.size()});
    for (uint64_t i = 0; i < uint64_t(record.num_tokens) * header.top_k; ++i) {
      auto id = readAt<int16_t>(bytes, at + sizeof(record) + i * sizeof(int16_t));
      if (id < -1 || id >= int64_t(header.num_experts))
        return damaged(path, place() + " has expert " + llvm::Twine(id) + " of " + llvm::Twine(header.num_experts));
      routing.ids.push_back(id);
    }
    routing.maxTokens = std::max(routing.maxTokens, record.num_tokens);
    routing.run->isRepeatable &= record.end_ns != 0;
    at += sizeof(record) + idBytes;
  }
  if (at != bytes.size())
    return damaged(path, llvm::Twine(bytes.size() - at) + " bytes follow its last record");
  return routing;
}

llvm::Expected<RoutingTrace> parseArray(llvm::StringRef path, std::optional<uint32_t> experts,
                                        const Conversation &conversation) {
  auto array = readNpy(path);
  if (!array)
    return array.takeError();
  if (array->type != NpyType::UInt8 || array->shape.size() != 3 || array->values.empty())
    return fault("'" + path + "' is no routing: expected uint8 [tokens, layers, top-k]");
  RoutingTrace routing;
  routing.source = path.str();
  uint64_t tokens = array->shape[0], layers = array->shape[1], topK = array->shape[2];
  auto largest = static_cast<uint32_t>(*std::max_element(array->values.begin(), array->values.end()));
  if (experts && largest >= *experts)
    return fault("'" + path + "' has expert " + llvm::Twine(largest) + ", --experts is " + llvm::Twine(*experts));
  uint64_t numExperts = std::max<uint64_t>(experts.value_or(largest + 1), topK);
  if (!isShape(layers, numExperts, topK) || array->values.size() > kMaxRoutingIds)
    return fault("'" + path + "' has " + llvm::Twine(tokens) + " tokens, " + llvm::Twine(layers) + " layers of " +
                 llvm::Twine(numExperts) + " experts, top-k " + llvm::Twine(topK) +
                 "; expected at most 16384 layers, 16384 experts, 4194304 experts in all and " +
                 llvm::Twine(kMaxRoutingIds) + " ids");
  routing.layers = static_cast<uint32_t>(layers);
  routing.topK = static_cast<uint32_t>(topK);
  routing.experts = static_cast<uint32_t>(numExperts);
  routing.records = layers * routing.experts;
  cutIntoCalls(routing, tokens, conversation, [&](uint64_t token, uint32_t layer, int32_t *ids) {
    for (uint64_t k = 0; k < topK; ++k)
      ids[k] = static_cast<int32_t>(array->values[(token * layers + layer) * topK + k]);
  });
  return routing;
}

/// Tokens and layers as they come: a token counts once, in the first layer that has experts.
llvm::Error countTokens(llvm::StringRef path, RoutingTrace &routing) {
  if (routing.requests.empty())
    return fault("'" + path + "' has no requests for experts");
  std::vector<bool> isThere(routing.layers);
  for (const RoutingRequest &request : routing.requests)
    isThere[request.layer] = true;
  uint64_t numThere = static_cast<uint64_t>(std::count(isThere.begin(), isThere.end(), true));
  auto first = static_cast<uint32_t>(std::find(isThere.begin(), isThere.end(), true) - isThere.begin());
  for (const RoutingRequest &request : routing.requests)
    if (request.layer == first) {
      routing.tokens += request.numTokens;
      routing.decoded += request.numTokens == 1;
    }
  if (!routing.records)
    routing.records = numThere * routing.experts;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<RoutingTrace> readRouting(llvm::StringRef path, std::optional<uint32_t> experts,
                                         const Conversation &conversation) {
  auto bytes = readTextFile(path, kMaxFileBytes);
  if (!bytes)
    return bytes.takeError();
  bool isTrace = llvm::StringRef(*bytes).starts_with(MOERT_TRACE_MAGIC);
  if (!isTrace && !llvm::StringRef(*bytes).starts_with("\x93NUMPY"))
    return fault("'" + path + "' is neither a trace of moe-run --trace nor a .npy file");
  auto routing = isTrace ? parseTrace(path, *bytes) : parseArray(path, experts, conversation);
  if (!routing)
    return routing.takeError();
  if (llvm::Error error = countTokens(path, *routing))
    return error;
  return routing;
}

} // namespace moec
