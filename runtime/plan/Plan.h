// SPDX-License-Identifier: Apache-2.0
/// \file
/// The memory plan: arithmetic on the descriptor's tables and the options. Opens no model file, allocates nothing.
#ifndef RUNTIME_PLAN_PLAN_H
#define RUNTIME_PLAN_PLAN_H

#include "moert/Generated.h"
#include "moert/moert.h"
#include "runtime/base/Processors.h"

namespace moert {

#ifndef MOERT_STACK_BYTES
#define MOERT_STACK_BYTES (128 * 1024)
#endif
/// Stack of a compute or reader thread. Kernels use a few KiB; the rest is the C library's thread descriptor and
/// margin.
inline constexpr uint64_t kStackBytes = MOERT_STACK_BYTES;
inline constexpr uint32_t kMaxThreads = MOERT_MAX_THREADS;
/// The plan makes room for at least this many compute threads, so that plan and minimum are the same numbers for any
/// thread count up to it, on the device as in the compile report.
inline constexpr uint32_t kPlannedThreads = 4;
inline constexpr uint32_t kMaxReaderLanes = MOERT_MAX_READER_LANES;
/// With two reads at a time storage comes near its best rate (runtime/pager/Transfer.h), while a third lane verifies
/// (docs/decisions/0013-three-reader-lanes.md).
inline constexpr uint32_t kDefaultReaderLanes = MOERT_DEFAULT_READER_LANES;
inline constexpr uint32_t kMaxSessions = 1024;
/// What the system's page tables take for so much memory: a page for each 2 MiB, whether that is mapped as one huge
/// page or as 512 small ones. Control groups count it as the process' memory. In whole steps; below one the margin of
/// the stacks is larger.
inline constexpr uint64_t pageTableBytesOf(uint64_t sizeBytes) {
  constexpr uint64_t kStepBytes = 64ull << 20, kBytesOfStep = kStepBytes / 512;
  return sizeBytes / kStepBytes * kBytesOfStep;
}
/// Begin of the last prompt and of the last reply: undoing or repeating either computes nothing again.
inline constexpr uint32_t kDefaultCheckpoints = 2;
inline constexpr uint32_t kMaxCheckpoints = 64;
/// Room to tokenize a text of the context's length that is not in NFC: up to three times its bytes, about 5 bytes a
/// token. Taken from the ledger during the call only.
inline constexpr uint64_t kTokenizeBytesPerPosition = 16;

/// Options with every default replaced by its value.
struct Settings {
  uint32_t threads;
  uint32_t readerLanes; /// 0 if the model has no experts
  uint32_t context;
  uint32_t maxSessions;
  moert_kv_window window;
  uint32_t expertsUsed; /// 1 to top_k; 0 if the model has no experts
  bool locksMemory, slides;
  uint32_t prediction;       /// moert_prediction
  uint32_t keep;             /// first tokens that stay in a slide
  uint32_t stateCheckpoints; /// 0 if the model has no recurrent state
  moert_eviction eviction;
  moert_routing_callback onRouting; /// null = none
  void *routingUser;
  CpuSet cpus;          /// of the compute threads; empty = not pinned
  uint64_t budgetBytes; /// 0 = everything resident
  uint64_t codeBytes;   /// mapped bytes of the .so; its own, unless the compiler plans for another file
};

struct Plan {
  moert_plan_info info;
  /// Of one session.
  uint64_t arenaBytes, kvBytes, stateBytes, checkpointBytes, sessionBookBytes;
  uint64_t modelBookBytes;
  /// Of the whole plan, part of `info.overhead_bytes`.
  uint64_t pageTableBytes;
};

/// Checks the descriptor that was linked in: magic, versions, ranges.
moert_status checkDescriptor(const moert_model_descriptor &descriptor, moert_error *error);
/// Copies a struct that begins with its size: what the caller's version has; the rest stays zero. A larger one is taken
/// if what this library does not know is zero.
moert_status copyOptions(const void *options, uint32_t smallestBytes, uint32_t alignment, void *copy,
                         uint32_t copyBytes, moert_error *error);
/// Copies what the caller's version of the struct has, checks ranges, fills defaults.
moert_status resolveOptions(const moert_model_descriptor &descriptor, const moert_open_options *options,
                            moert_open_options &copy, Settings &settings, moert_error *error);
/// Fills the plan. MOERT_STATUS_BUDGET if the budget is below the minimum; the plan is then filled too.
moert_status makePlan(const moert_model_descriptor &descriptor, const Settings &settings, Plan &plan,
                      moert_error *error);

/// Fills what is expected of a decoded token, for even routing, half of the context behind it (or the window) and the
/// bandwidths of the descriptor. Needs the slots.
void estimateToken(const moert_model_descriptor &descriptor, const Settings &settings, moert_plan_info &info);

} // namespace moert
#endif
