// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tokens that come without calls, cut into prompts and replies.
#ifndef LIB_COMPILER_ROUTINGCALLS_H
#define LIB_COMPILER_ROUTINGCALLS_H

#include "lib/Compiler/RoutingTrace.h"

#include <algorithm>

namespace moec {

/// Appends the requests of `numTokens` tokens. `choose(token, layer, ids)` writes topK ids; it is called by token, then
/// by layer, both ascending.
template <typename Choose>
void cutIntoCalls(RoutingTrace &routing, uint64_t numTokens, const Conversation &conversation, Choose choose) {
  uint64_t turn = conversation.prompt + conversation.reply;
  for (uint64_t token = 0; token < numTokens;) {
    uint64_t at = conversation.prompt ? token % turn : 0, n = 1;
    if (at < conversation.prompt)
      n = std::min({conversation.chunk, conversation.prompt - at, numTokens - token});
    uint64_t first = routing.ids.size(), layerIds = n * routing.topK;
    routing.ids.resize(first + routing.layers * layerIds);
    for (uint64_t i = 0; i < n; ++i)
      for (uint32_t layer = 0; layer < routing.layers; ++layer)
        choose(token + i, layer, routing.ids.data() + first + layer * layerIds + i * routing.topK);
    for (uint32_t layer = 0; layer < routing.layers; ++layer)
      routing.requests.push_back({layer, static_cast<uint32_t>(n), first + layer * layerIds});
    routing.maxTokens = std::max(routing.maxTokens, static_cast<uint32_t>(n));
    token += n;
  }
}

} // namespace moec

#endif
