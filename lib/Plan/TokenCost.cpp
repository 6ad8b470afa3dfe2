// SPDX-License-Identifier: Apache-2.0
/// \file
/// Expected hits and bytes of a token.
#include "lib/Plan/TokenCost.h"

#include <algorithm>

namespace moec {

TokenCost costOfToken(const TokenTraffic &traffic) {
  TokenCost cost;
  bool holdsToken = traffic.numSlots >= traffic.usesPerToken;
  if (traffic.numRecords && holdsToken)
    cost.hitShare = double(std::min(traffic.numSlots, traffic.numRecords)) / double(traffic.numRecords);
  cost.missesPerToken = double(traffic.usesPerToken) * (1 - cost.hitShare);
  double missBytes = cost.missesPerToken * double(traffic.recordBytes);
  cost.flashBytes = missBytes + double(traffic.rowBytes);
  cost.dramBytes = double(traffic.residentBytes) + double(traffic.usesPerToken) * double(traffic.expertBytes) +
                   double(traffic.kvBytes) + 2 * double(traffic.stateBytes) + double(traffic.rowBytes) + missBytes;
  return cost;
}

} // namespace moec
