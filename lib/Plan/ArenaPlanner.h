// SPDX-License-Identifier: Apache-2.0
/// \file
/// Places buffers with known lifetimes in one static arena. Part of the plan step; knows bytes and steps, no
/// operations.
/// Main source: greedy placement by size as in Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
/// Inference" (2020).
#ifndef LIB_PLAN_ARENAPLANNER_H
#define LIB_PLAN_ARENAPLANNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace moec {

/// A buffer that must keep its content from step `firstUse` to step `lastUse`, both included.
struct ArenaBuffer {
  int64_t id = 0; ///< stands in messages
  int64_t sizeBytes = 0;
  int64_t firstUse = 0;
  int64_t lastUse = 0;
  int64_t alignBytes = 64; ///< a power of two
};

struct ArenaAssignment {
  std::vector<int64_t> offsets; ///< of each buffer, in bytes
  int64_t sizeBytes = 0;        ///< the highest end of a buffer
};

/// Gives every buffer an offset so that buffers that live in a common step do not overlap. Largest buffers first, each
/// into the smallest gap that holds it. Deterministic: the same buffers in the same order give the same offsets.
/// Errors: negative sizes, lifetimes that end before they begin, alignments that are no power of two, sums beyond
/// int64.
/// Cost: quadratic in the number of buffers.
llvm::Expected<ArenaAssignment> planArena(llvm::ArrayRef<ArenaBuffer> buffers);

/// Proves an assignment without using what `planArena` knows: offsets aligned and in the arena, no two live buffers in
/// common bytes. Errors: one for each violation, joined.
llvm::Error checkArena(llvm::ArrayRef<ArenaBuffer> buffers, const ArenaAssignment &assignment);

/// No assignment can be smaller: the largest sum of the sizes of buffers that live in a common step.
int64_t arenaLowerBound(llvm::ArrayRef<ArenaBuffer> buffers);

} // namespace moec

#endif
