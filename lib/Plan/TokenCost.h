// SPDX-License-Identifier: Apache-2.0
/// \file
/// A model of the bytes that a decoded token moves between flash, memory and processor. An estimate, not a part of any
/// plan. Main source: docs/synthetic-models.md ("What an estimate assumes").
#ifndef LIB_PLAN_TOKENCOST_H
#define LIB_PLAN_TOKENCOST_H

#include <cstdint>

namespace moec {

/// What the bandwidth model needs to know of a planned model. All bytes are those of the plan and the pack.
struct TokenTraffic {
  uint64_t residentBytes = 0; ///< of resident weights that every token reads
  uint64_t expertBytes = 0;   ///< of one expert without padding
  uint64_t recordBytes = 0;   ///< of one expert's record, what a miss reads
  uint64_t rowBytes = 0;      ///< of the streamed rows that a token reads
  uint64_t kvBytes = 0;       ///< of the cache, read at the assumed position
  uint64_t stateBytes = 0;    ///< of recurrent states, read and written
  uint64_t numRecords = 0, numSlots = 0;
  uint64_t usesPerToken = 0; ///< experts that a token uses, over all layers
};

struct TokenCost {
  double hitShare = 0;       ///< of expert uses
  double missesPerToken = 0; ///< expert records
  double dramBytes = 0, flashBytes = 0;
};

/// Bytes that a decoded token moves, for least recently used slots and independent uniform routing: a use hits with the
/// share of records that have a slot, and never where the slots hold less than one token's experts (each is evicted
/// before its layer comes again).
TokenCost costOfToken(const TokenTraffic &traffic);

} // namespace moec

#endif
