// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bytes by class, the minimum, and the number of page slots under a budget.
#include "runtime/plan/Plan.h"

#include "runtime/api/Model.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Platform.h"
#include "runtime/base/Status.h"
#include "runtime/sampler/Sampler.h"
#include "runtime/session/Session.h"

#include <stdio.h>
#include <string.h>

namespace moert {

moert_status checkDescriptor(const moert_model_descriptor &d, moert_error *error) {
  if (memcmp(d.magic, "MOERTMDL", 8) != 0 || d.abi_version != MOERT_GENERATED_ABI_VERSION ||
      d.struct_bytes != sizeof(moert_model_descriptor))
    return fail(error, MOERT_STATUS_INTERNAL,
                "model descriptor has abi version %u and %u bytes, expected version %u and %u bytes", d.abi_version,
                d.struct_bytes, MOERT_GENERATED_ABI_VERSION, static_cast<unsigned>(sizeof(moert_model_descriptor)));
  uint64_t logitsRow = 4ull * d.vocab_size, hiddenRow = 4ull * d.hidden_size;
  CheckedSum hiddenEnd, logitsEnd, maximaEnd;
  hiddenEnd.add(d.hidden_offset);
  hiddenEnd.addProduct(hiddenRow, d.max_chunk);
  logitsEnd.add(d.logits_offset);
  logitsEnd.addProduct(logitsRow, d.head_rows);
  maximaEnd.add(d.maxima_offset);
  maximaEnd.addProduct(4ull * numLogitTiles(d.vocab_size), d.maxima_offset ? d.head_rows : 0);
  bool valid = d.vocab_size && d.context && d.max_chunk && d.head_rows && d.prefill && d.decode && d.head &&
               hiddenEnd.valid && logitsEnd.valid && maximaEnd.valid && maximaEnd.total <= d.plan.arena_bytes &&
               hiddenEnd.total <= d.plan.arena_bytes && logitsEnd.total <= d.plan.arena_bytes &&
               d.plan.kv_block_bytes <= (1ull << 40) && d.context <= INT32_MAX && d.max_chunk <= INT32_MAX &&
               d.window <= d.context && (d.sinks == 0 || (d.window && d.sinks < d.context));
  if (d.plan.num_expert_records)
    valid = valid && d.num_experts && d.top_k && d.top_k <= d.num_experts && d.plan.record_bytes &&
            d.plan.record_bytes % kPageBytes == 0 && d.plan.record_bytes <= (1ull << 40) &&
            d.plan.num_expert_records <= static_cast<uint64_t>(d.num_layers) * d.num_experts &&
            d.plan.num_expert_records <= INT32_MAX &&
            static_cast<uint64_t>(d.num_layers) * d.num_experts <= INT32_MAX &&
            static_cast<uint64_t>(d.max_chunk) * d.top_k <= INT32_MAX;
  if (!valid)
    return fail(error, MOERT_STATUS_INTERNAL, "model descriptor of '%s' has sizes that do not fit together",
                d.model_name ? d.model_name : "?");
  return MOERT_STATUS_OK;
}

/// The window in force: the caller's, else the compiled one. It never needs more blocks than the latter.
static moert_status resolveWindow(const moert_model_descriptor &d, const moert_open_options &options,
                                  Settings &settings, moert_error *error) {
  if (options.window > d.context)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.window is %u, expected 0 (as compiled) to the compiled context %u", options.window, d.context);
  if (options.sinks >= d.context && options.sinks != UINT32_MAX)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "options.sinks is %u, expected less than the compiled context %u",
                options.sinks, d.context);
  uint32_t window = options.window ? options.window : d.window;
  uint32_t sinks = options.sinks == UINT32_MAX ? 0 : options.sinks ? options.sinks : d.sinks;
  if (sinks && !window)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.sinks is %u without a window, in which every position is seen; set options.window", sinks);
  settings.window = moert_make_kv_window(settings.context, window, sinks, d.max_chunk);
  moert_kv_window compiled = moert_make_kv_window(settings.context, d.window, d.sinks, d.max_chunk);
  uint64_t wanted = moert_kv_num_blocks(&settings.window, settings.context);
  uint64_t most = moert_kv_num_blocks(&compiled, settings.context);
  if (wanted > most)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.window %u with %u sinks needs %llu KV blocks, but the compiled window %u with %u sinks has "
                "%llu; lower them or compile with a larger --window",
                window, sinks, static_cast<unsigned long long>(wanted), d.window, d.sinks,
                static_cast<unsigned long long>(most));
  return MOERT_STATUS_OK;
}

moert_status copyOptions(const void *options, uint32_t smallestBytes, uint32_t alignment, void *copy,
                         uint32_t copyBytes, moert_error *error) {
  // A size that no version will reach is one that was never set. None ends within a field: half a pointer is none.
  constexpr uint32_t kLargestBytes = 4096;
  uint32_t structBytes = 0;
  memcpy(&structBytes, options, sizeof(structBytes));
  if (structBytes < smallestBytes || structBytes > kLargestBytes || structBytes % alignment != 0)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.struct_bytes is %u, expected the size of the struct, which is %u in this version", structBytes,
                copyBytes);
  for (uint32_t i = copyBytes; i < structBytes; ++i)
    if (static_cast<const uint8_t *>(options)[i])
      return fail(error, MOERT_STATUS_UNSUPPORTED,
                  "options has a value at byte %u, which this version of the library does not know; it knows %u bytes",
                  i, copyBytes);
  memcpy(copy, options, minOf(structBytes, copyBytes));
  return MOERT_STATUS_OK;
}

static moert_status outOfRange(moert_error *error, const char *name, uint32_t value, const char *expected,
                               uint32_t most) {
  return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "options.%s is %u, expected %s %u", name, value, expected, most);
}

/// Threads and the CPUs that they may use.
static moert_status resolveThreads(const moert_open_options &options, Settings &settings, moert_error *error) {
  if (options.threads > kMaxThreads)
    return outOfRange(error, "threads", options.threads, "0 (automatic) to", kMaxThreads);
  CpuSet allowed = allowedCpus();
  if (!options.cpus) {
    settings.threads =
        options.threads ? options.threads : static_cast<uint32_t>(minOf(performanceCpus(allowed, ""), kMaxThreads));
    return MOERT_STATUS_OK;
  }
  char possible[kCpuListBytes];
  cpuListText(allowed, possible);
  if (!parseCpuList(options.cpus, settings.cpus))
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.cpus is '%.60s', expected a list such as 0-3,6 of the CPUs that this process may use: %s",
                options.cpus, possible);
  for (uint32_t cpu = 0; cpu < kMaxCpus; ++cpu)
    if (settings.cpus.has(cpu) && !allowed.has(cpu))
      return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                  "options.cpus is '%.60s', but this process may not use CPU %u; possible are %s", options.cpus, cpu,
                  possible);
  settings.threads =
      options.threads ? options.threads : static_cast<uint32_t>(minOf(settings.cpus.count(), kMaxThreads));
  return MOERT_STATUS_OK;
}

/// What happens when the context is full.
static moert_status resolveOnFull(const moert_open_options &options, Settings &settings, moert_error *error) {
  constexpr uint32_t kDefaultSinks = 4;
  if (options.on_full > MOERT_ON_FULL_SLIDE)
    return outOfRange(error, "on_full", options.on_full, "0 (stop) to", MOERT_ON_FULL_SLIDE);
  settings.slides = options.on_full == MOERT_ON_FULL_SLIDE;
  settings.keep = options.keep == UINT32_MAX ? 0 : options.keep ? options.keep : kDefaultSinks;
  if (!settings.slides)
    return MOERT_STATUS_OK;
  // At least one token must be dropped, or nothing would be gained.
  uint32_t kept = settings.context / 2;
  if (settings.keep >= settings.context - kept)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.keep is %u, expected fewer than %u: with half of the context of %u nothing would be dropped",
                settings.keep, settings.context - kept, settings.context);
  return MOERT_STATUS_OK;
}

moert_status resolveOptions(const moert_model_descriptor &d, const moert_open_options *options,
                            moert_open_options &copy, Settings &settings, moert_error *error) {
  if (!options)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "options are null");
  copy = {};
  settings = {};
  if (moert_status status = copyOptions(options, offsetof(moert_open_options, pack_path), alignof(moert_open_options),
                                        &copy, sizeof(copy), error))
    return status;
  if (copy.reader_lanes > kMaxReaderLanes)
    return outOfRange(error, "reader_lanes", copy.reader_lanes, "0 (automatic) to", kMaxReaderLanes);
  if (copy.context > d.context)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.context is %u, expected at most the compiled context %u; compile with a larger --context",
                copy.context, d.context);
  if (copy.max_sessions > kMaxSessions)
    return outOfRange(error, "max_sessions", copy.max_sessions, "0 (one) to", kMaxSessions);
  if (copy.experts_used > d.top_k)
    return outOfRange(error, "experts_used", copy.experts_used, "0 (all) to the compiled", d.top_k);
  if (copy.lock_memory > 1)
    return outOfRange(error, "lock_memory", copy.lock_memory, "0 or", 1);
  if (copy.state_checkpoints > kMaxCheckpoints && copy.state_checkpoints != UINT32_MAX)
    return outOfRange(error, "state_checkpoints", copy.state_checkpoints, "0 (default), UINT32_MAX (none) or 1 to",
                      kMaxCheckpoints);
  if (copy.eviction > MOERT_EVICTION_FREQUENCY_RECENCY)
    return outOfRange(error, "eviction", copy.eviction, "0 (default) to", MOERT_EVICTION_FREQUENCY_RECENCY);
  if (copy.prediction > MOERT_PREDICTION_ALWAYS)
    return outOfRange(error, "prediction", copy.prediction, "0 (automatic) to", MOERT_PREDICTION_ALWAYS);
  constexpr uint32_t kMostDelayUs = 10000000;
  if (copy.read_delay_us > kMostDelayUs)
    return outOfRange(error, "read_delay_us", copy.read_delay_us, "at most", kMostDelayUs);
  if (copy.buffered_reads > 1)
    return outOfRange(error, "buffered_reads", copy.buffered_reads, "0 or", 1);
  if (copy.preload > 1)
    return outOfRange(error, "preload", copy.preload, "0 or", 1);
  uint32_t checkpoints = copy.state_checkpoints == UINT32_MAX ? 0
                         : copy.state_checkpoints             ? copy.state_checkpoints
                                                              : kDefaultCheckpoints;
  settings.stateCheckpoints = d.plan.state_bytes ? checkpoints : 0;
  settings.readerLanes = d.plan.num_expert_records ? (copy.reader_lanes ? copy.reader_lanes : kDefaultReaderLanes) : 0;
  settings.context = copy.context ? copy.context : d.context;
  settings.maxSessions = copy.max_sessions ? copy.max_sessions : 1;
  settings.expertsUsed = copy.experts_used ? copy.experts_used : d.top_k;
  settings.locksMemory = copy.lock_memory;
  settings.eviction = static_cast<moert_eviction>(copy.eviction);
  settings.onRouting = copy.on_routing;
  settings.routingUser = copy.routing_user;
  settings.prediction = copy.prediction;
  settings.budgetBytes = copy.budget_bytes ? copy.budget_bytes : d.plan.default_budget_bytes;
  settings.codeBytes = ownMappedBytes();
  if (moert_status status = resolveThreads(copy, settings, error))
    return status;
  if (moert_status status = resolveWindow(d, copy, settings, error))
    return status;
  return resolveOnFull(copy, settings, error);
}

namespace {
struct Consumer {
  const char *name;
  uint64_t bytes;
};
} // namespace

static moert_status refuse(const moert_plan_info &info, const Settings &settings, moert_error *error) {
  Consumer consumers[] = {{"expert slots", info.min_slots * info.slot_bytes},
                          {"resident weights", info.resident_bytes},
                          {"kv cache", info.kv_bytes},
                          {"arena", info.arena_bytes},
                          {"state", info.state_bytes},
                          {"code", info.code_bytes},
                          {"overhead", info.overhead_bytes}};
  constexpr unsigned kNumConsumers = sizeof(consumers) / sizeof(consumers[0]);
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned k = i + 1; k < kNumConsumers; ++k)
      if (consumers[k].bytes > consumers[i].bytes) {
        Consumer other = consumers[i];
        consumers[i] = consumers[k];
        consumers[k] = other;
      }
  char needed[kSizeTextBytes], given[kSizeTextBytes], largest[3][kSizeTextBytes];
  char checkpoints[48] = "", lanes[48] = "", threads[48] = "";
  // Each thread has a stack: in the minimum, and worth a word where somebody asked for more than the usual number.
  if (settings.readerLanes > kDefaultReaderLanes)
    snprintf(lanes, sizeof(lanes), ", the reader lanes (now %u)", settings.readerLanes);
  if (settings.threads > kPlannedThreads)
    snprintf(threads, sizeof(threads), ", the threads (now %u)", settings.threads);
  if (settings.stateCheckpoints)
    snprintf(checkpoints, sizeof(checkpoints), ", the state checkpoints (now %u)", settings.stateCheckpoints);
  return fail(error, MOERT_STATUS_BUDGET,
              "needs %s, budget is %s (%s %s, %s %s, %s %s); raise the budget, or lower the context (now %u)%s%s%s or "
              "the sessions (now %u)",
              sizeText(info.min_bytes, needed), sizeText(info.budget_bytes, given), consumers[0].name,
              sizeText(consumers[0].bytes, largest[0]), consumers[1].name, sizeText(consumers[1].bytes, largest[1]),
              consumers[2].name, sizeText(consumers[2].bytes, largest[2]), settings.context, checkpoints, lanes,
              threads, settings.maxSessions);
}

moert_status makePlan(const moert_model_descriptor &d, const Settings &settings, Plan &plan, moert_error *error) {
  plan = {};
  moert_plan_info &info = plan.info;
  uint64_t numBlocks = moert_kv_num_blocks(&settings.window, settings.context);
  uint64_t kvBytes = 0;
  bool valid = checkedMul(numBlocks, d.plan.kv_block_bytes, kvBytes);
  plan.kvBytes = roundUp(kvBytes, kPageBytes);
  plan.arenaBytes = roundUp(d.plan.arena_bytes, kPageBytes);
  plan.stateBytes = roundUp(minOf(d.plan.state_bytes, 1ull << 48), kPageBytes);
  plan.checkpointBytes = Checkpoints::bytesOfOne(d) * settings.stateCheckpoints;
  plan.sessionBookBytes = roundUp(measureSession(d, settings), kPageBytes);
  Settings planned = settings;
  planned.threads = static_cast<uint32_t>(maxOf(settings.threads, kPlannedThreads));
  plan.modelBookBytes = roundUp(measureModel(d, planned), kPageBytes);
  uint64_t numThreads = planned.threads - 1 + settings.readerLanes;

  CheckedSum arena, kv, state, checkpoints, overhead, fixed;
  arena.addProduct(plan.arenaBytes, settings.maxSessions);
  kv.addProduct(plan.kvBytes, settings.maxSessions);
  state.addProduct(plan.stateBytes, settings.maxSessions);
  checkpoints.addProduct(plan.checkpointBytes, settings.maxSessions);
  state.add(checkpoints.total);
  overhead.addProduct(plan.sessionBookBytes, settings.maxSessions);
  overhead.addProduct(numThreads, roundUp(kStackBytes, kPageBytes));
  overhead.add(plan.modelBookBytes);
  if (d.tokenizer.size_bytes)
    overhead.addProduct(kTokenizeBytesPerPosition, roundUp(settings.context, kPageBytes / kTokenizeBytesPerPosition));
  info.resident_bytes = roundUp(d.plan.resident_bytes, kPageBytes);
  info.arena_bytes = arena.total;
  info.kv_bytes = kv.total;
  info.state_bytes = state.total;
  info.checkpoint_bytes = checkpoints.total;
  info.overhead_bytes = overhead.total;
  info.code_bytes = settings.codeBytes;
  const uint64_t classes[] = {info.resident_bytes, arena.total, kv.total, state.total, overhead.total, info.code_bytes};
  for (uint64_t bytes : classes)
    fixed.add(bytes);
  info.slot_bytes = d.plan.num_expert_records ? d.plan.record_bytes : 0;
  info.num_experts = d.plan.num_expert_records;
  info.min_slots = minOf(info.num_experts, maxOf(d.plan.min_slots, info.num_experts ? 1 : 0));
  CheckedSum all = fixed, least = fixed;
  all.addProduct(info.num_experts, info.slot_bytes);
  least.addProduct(info.min_slots, info.slot_bytes);
  all.add(pageTableBytesOf(all.total));
  least.add(pageTableBytesOf(least.total));
  if (!valid || !arena.valid || !kv.valid || !state.valid || !checkpoints.valid || !overhead.valid || !all.valid ||
      !least.valid)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the plan for context %u and %u sessions passes 2^64 bytes",
                settings.context, settings.maxSessions);
  info.plan_bytes = all.total;
  info.min_bytes = least.total;
  info.budget_bytes = settings.budgetBytes ? settings.budgetBytes : info.plan_bytes;
  bool isEnough = info.budget_bytes >= info.min_bytes;
  uint64_t usable = (isEnough ? info.budget_bytes : info.min_bytes) - fixed.total;
  info.num_slots = info.slot_bytes ? minOf(info.num_experts, usable / info.slot_bytes) : 0;
  uint64_t bytes = fixed.total + info.num_slots * info.slot_bytes;
  while (info.num_slots > info.min_slots && bytes - fixed.total + pageTableBytesOf(bytes) > usable) {
    --info.num_slots;
    bytes -= info.slot_bytes;
  }
  plan.pageTableBytes = pageTableBytesOf(bytes);
  info.overhead_bytes += plan.pageTableBytes;
  info.planned_bytes = bytes + plan.pageTableBytes;
  estimateToken(d, settings, info);
  return isEnough ? MOERT_STATUS_OK : refuse(info, settings, error);
}

} // namespace moert
