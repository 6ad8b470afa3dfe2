// SPDX-License-Identifier: Apache-2.0
/// \file
/// The exported table: argument checks, then the functions of the runtime on the descriptor that was linked in.
#include "runtime/api/Model.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Slowdown.h"
#include "runtime/base/Status.h"
#include "runtime/session/Session.h"
#include "runtime/tokenizer/Chat.h"

#include <stddef.h>
#include <string.h>

extern "C" __attribute__((visibility("default"))) const moert_model_descriptor moert_model_v1;

namespace moert {

static moert_status plan(const moert_open_options *options, moert_plan_info *info, moert_error *error) {
  if (!info)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the place for the plan is null");
  moert_open_options copy;
  Settings settings;
  Plan computed = {};
  if (moert_status status = checkDescriptor(moert_model_v1, error))
    return status;
  if (moert_status status = resolveOptions(moert_model_v1, options, copy, settings, error))
    return status;
  moert_status status = makePlan(moert_model_v1, settings, computed, error);
  *info = computed.info;
  return status;
}

static moert_status open(const moert_open_options *options, moert_model **model, moert_error *error) {
  return openModel(moert_model_v1, options, Hooks{}, model, error);
}

static moert_status modelInfo(const moert_model *model, moert_model_info *info, moert_error *error) {
  if (!model || !info)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the model or the place for its description is null");
  const moert_model_descriptor &d = *model->descriptor;
  *info = {d.model_name,
           d.target_name,
           d.vocab_size,
           model->settings.context,
           d.max_chunk,
           d.num_layers,
           d.num_experts,
           d.top_k,
           model->settings.expertsUsed,
           d.generation.num_stop_ids,
           d.generation.stop_ids,
           d.generation.temperature,
           d.generation.top_p,
           d.generation.top_k,
           d.report_json};
  return MOERT_STATUS_OK;
}

static moert_status modelPlan(const moert_model *model, moert_plan_info *info, moert_error *error) {
  if (!model || !info)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the model or the place for the plan is null");
  *info = model->plan.info;
  return MOERT_STATUS_OK;
}

//===--- text -----------------------------------------------------------------------------------------------------===//

static void *allocateScratch(void *ledger, size_t sizeBytes) {
  Region region;
  return region.create(*static_cast<Ledger *>(ledger), sizeBytes, Populate::OnTouch) ? region.data : nullptr;
}

static void releaseScratch(void *ledger, void *block, size_t sizeBytes) {
  if (!block)
    return;
  uint64_t rounded = roundUp(sizeBytes, kPageBytes);
  Region region = {static_cast<uint8_t *>(block), rounded, rounded, 0, false};
  region.destroy(*static_cast<Ledger *>(ledger));
}

static moert_status checkText(const moert_model *model, const void *in, size_t inCount, const void *out,
                              size_t capacity, const void *count, moert_error *error) {
  if (!model || (!in && inCount) || (!out && capacity) || !count)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "the model, the input, the output or the place for the count is "
                "null");
  if (!model->hasTokenizer)
    return fail(error, MOERT_STATUS_UNSUPPORTED, "'%s' was compiled without a tokenizer; use token ids",
                model->descriptor->model_name);
  return MOERT_STATUS_OK;
}

static moert_status tokenize(const moert_model *model, const char *text, size_t sizeBytes, uint32_t flags, int32_t *ids,
                             size_t capacity, size_t *count, moert_error *error) {
  if (moert_status status = checkText(model, text, sizeBytes, ids, capacity, count, error))
    return status;
  // The ledger is thread-safe and the only part of the model that changes.
  ScratchAllocator allocator = {const_cast<Ledger *>(&model->ledger), allocateScratch, releaseScratch};
  moert_status status = model->tokenizer.tokenize(text, sizeBytes, flags, allocator, ids, capacity, count);
  if (status == MOERT_STATUS_OK)
    return status;
  return fail(error, status,
              status == MOERT_STATUS_NO_MEMORY
                  ? "no memory in the budget to tokenize %llu bytes; pass the text in smaller pieces"
                  : "cannot tokenize %llu bytes",
              static_cast<unsigned long long>(sizeBytes));
}

static moert_status detokenize(const moert_model *model, const int32_t *ids, size_t count, char *text, size_t capacity,
                               size_t *sizeBytes, moert_error *error) {
  if (moert_status status = checkText(model, ids, count, text, capacity, sizeBytes, error))
    return status;
  moert_status status = model->tokenizer.detokenize(ids, count, text, capacity, sizeBytes);
  if (status == MOERT_STATUS_INVALID_ARGUMENT && *sizeBytes < count) {
    size_t index = *sizeBytes;
    *sizeBytes = 0;
    return fail(error, status, "token id %d at position %llu is not in the vocabulary: expected 0 to %u", ids[index],
                static_cast<unsigned long long>(index), model->descriptor->vocab_size - 1);
  }
  return status == MOERT_STATUS_OK ? status : fail(error, status, "cannot detokenize");
}

static moert_status checkMessages(const moert_message *messages, size_t numMessages, moert_error *error) {
  if (!messages && numMessages)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "messages is null, expected %llu of them",
                static_cast<unsigned long long>(numMessages));
  for (size_t i = 0; i < numMessages; ++i)
    if (!messages[i].role || (!messages[i].content && messages[i].content_bytes))
      return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the role or the content of message %llu is null",
                  static_cast<unsigned long long>(i));
  return MOERT_STATUS_OK;
}

static moert_status chat(const moert_model *model, const moert_message *messages, size_t numMessages,
                         const moert_chat_options *options, int32_t *ids, size_t capacity, size_t *count,
                         moert_error *error) {
  if (moert_status status = checkText(model, nullptr, 0, ids, capacity, count, error))
    return status;
  moert_chat_options copy = {};
  if (options)
    if (moert_status status = copyOptions(options, offsetof(moert_chat_options, thinking), alignof(moert_chat_options),
                                          &copy, sizeof(copy), error))
      return status;
  if (copy.thinking > MOERT_THINKING_OFF)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.thinking is %u, expected 0 (as the template), 1 (on) or 2 "
                "(off)",
                copy.thinking);
  if (moert_status status = checkMessages(messages, numMessages, error))
    return status;
  const Tokenizer &tokenizer = model->tokenizer;
  if (!tokenizer.chat()) {
    moert_chat_span reason = tokenizer.chatText(MOERT_CHAT_REASON);
    return fail(error, MOERT_STATUS_UNSUPPORTED, "'%s' has no chat format: %.*s", model->descriptor->model_name,
                static_cast<int>(reason.size), reason.data);
  }
  ScratchAllocator allocator = {const_cast<Ledger *>(&model->ledger), allocateScratch, releaseScratch};
  uint32_t generate = copy.no_answer ? uint32_t{MOERT_CHAT_NUM_TEXTS} : MOERT_CHAT_GENERATE + copy.thinking;
  ChatProblem problem;
  moert_status status = chatToIds(tokenizer, messages, numMessages, generate, allocator, ids, capacity, count, problem);
  if (status == MOERT_STATUS_OK)
    return status;
  if (problem.text)
    return fail(error, status, "message %llu %s", static_cast<unsigned long long>(problem.index), problem.text);
  unsigned long long sizeBytes = 0;
  for (size_t i = 0; i < numMessages; ++i)
    sizeBytes += messages[i].content_bytes;
  return fail(error, status, "no memory in the budget to tokenize %llu bytes of messages; shorten them or raise it",
              sizeBytes);
}

//===--- sessions -------------------------------------------------------------------------------------------------===//

static moert_status noSession(moert_error *error) {
  return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the session, or a place for a result, is null");
}

static moert_status prefill(moert_session *session, const int32_t *ids, size_t count, uint32_t chunk,
                            moert_logits_callback onLogits, void *user, moert_error *error) {
  if (!session)
    return noSession(error);
  BusyGuard guard(*session, error);
  return guard.status ? guard.status : feedPrompt(*session, ids, count, chunk, onLogits, user, error);
}

static moert_status decode(moert_session *session, int32_t id, moert_error *error) {
  if (!session)
    return noSession(error);
  BusyGuard guard(*session, error);
  return guard.status ? guard.status : feedToken(*session, id, nullptr, nullptr, error);
}

static const float *logits(const moert_session *session) {
  return session && session->hasLogits ? session->logits : nullptr;
}

static moert_status sample(moert_session *session, const moert_sampler_options *options, int32_t *id,
                           moert_error *error) {
  if (!session || !options || !id)
    return noSession(error);
  BusyGuard guard(*session, error);
  return guard.status ? guard.status : sampleNext(*session, *options, *id, error);
}

static moert_status generate(moert_session *session, const int32_t *ids, size_t count,
                             const moert_generate_options *options, int32_t *generated, size_t capacity,
                             moert_generate_result *result, moert_error *error) {
  moert_generate_result ignored;
  moert_generate_result &out = result ? *result : ignored;
  out = {MOERT_FINISH_ERROR, 0, 0, 0, 0};
  if (!session || !options)
    return noSession(error);
  moert_generate_options copy = {};
  if (moert_status status = copyOptions(options, offsetof(moert_generate_options, sampler),
                                        alignof(moert_generate_options), &copy, sizeof(copy), error))
    return status;
  BusyGuard guard(*session, error);
  return guard.status ? guard.status : generateText(*session, ids, count, copy, generated, capacity, out, error);
}

static void cancel(moert_session *session) {
  if (session)
    session->cancelled.store(1);
}

static moert_status reset(moert_session *session, moert_error *error) {
  if (!session)
    return noSession(error);
  BusyGuard guard(*session, error);
  return guard.status ? guard.status : resetSession(*session, error);
}

static moert_status rewind(moert_session *session, uint64_t position, moert_error *error) {
  if (!session)
    return noSession(error);
  BusyGuard guard(*session, error);
  return guard.status ? guard.status : rewindSession(*session, position, error);
}

static uint64_t sessionLength(const moert_session *session) { return session ? session->length : 0; }

static moert_status statistics(const moert_model *model, moert_statistics *out, moert_error *error) {
  if (!model || !out)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the model or the place for the statistics is null");
  const PagerCounters &pages = model->pager.counters;
  const ModelCounters &counters = model->counters;
  const Settings &settings = model->settings;
  *out = {};
  out->expert_hits = pages.hits.load();
  out->expert_misses = pages.misses.load();
  out->expert_bytes_read = pages.bytesRead.load();
  out->stall_ns = pages.stallNs.load();
  out->prefetch_issued = pages.issuedAhead.load();
  out->prefetch_useful = pages.usefulAhead.load();
  out->prefetch_late = pages.lateAhead.load();
  out->prefetch_cancelled = pages.cancelledAhead.load();
  out->prefetch_bytes_read = pages.bytesAhead.load();
  out->joins = model->pool.joins();
  out->tokens_prefilled = counters.tokensPrefilled.load();
  out->tokens_decoded = counters.tokensDecoded.load();
  out->prefill_ns = counters.prefillNs.load();
  out->decode_ns = counters.decodeNs.load();
  out->ledger_bytes = model->ledger.usedBytes();
  out->ledger_peak_bytes = model->ledger.peakBytes();
  out->threads = settings.threads;
  out->direct_io = model->pack.isDirect();
  const moert_model_descriptor &d = *model->descriptor;
  moert_kv_window compiled = moert_make_kv_window(settings.context, d.window, d.sinks, d.max_chunk);
  out->lossy = settings.expertsUsed < d.top_k ? MOERT_LOSSY_EXPERTS_USED : 0;
  if (compiled.window != settings.window.window || compiled.sinks != settings.window.sinks)
    out->lossy |= MOERT_LOSSY_WINDOW;
  out->experts_used = settings.expertsUsed;
  out->locked_bytes = model->ledger.locked.load();
  out->lock_refused_bytes = model->ledger.wantedLock.load() - out->locked_bytes;
  out->lock_limit_bytes = model->ledger.isLocking() ? lockLimitBytes() : 0;
  out->slides = counters.slides.load();
  out->tokens_replayed = counters.tokensReplayed.load();
  out->pinned_cpus = settings.cpus.count();
  out->predicted = counters.predicted.load();
  out->predicted_right = counters.predictedRight.load();
  const SlowMeter &slow = model->slow;
  uint64_t totalNs = out->prefill_ns + out->decode_ns;
  out->slow_flash = slowShare(out->stall_ns, totalNs);
  out->slow_swap = slowShare(slow.numFaults.load() * kFaultNs / settings.threads, totalNs);
  out->slow_throttled = slowShare(slow.throttledNs.load(), totalNs);
  out->slow_oversubscribed = slowShare(slow.waitingNs.load(), totalNs);
  return MOERT_STATUS_OK;
}

static moert_status trim(moert_model *model, uint32_t level, moert_error *error) {
  if (!model)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the model is null");
  if (level == 0)
    return MOERT_STATUS_OK;
  return fail(error, MOERT_STATUS_UNSUPPORTED,
              "trim level %u is not supported: the budget is constant after open; reset or destroy sessions to give kv "
              "blocks back",
              level);
}

static const moert_api kApi = {
    MOERT_API_VERSION, sizeof(moert_api), plan,       open,   closeModel, modelInfo, modelPlan, tokenize, detokenize,
    createSession,     destroySession,    prefill,    decode, logits,     sample,    generate,  cancel,   reset,
    sessionLength,     statistics,        statusName, trim,   rewind,     chat};

} // namespace moert

extern "C" __attribute__((visibility("default"))) const moert_api *moert_get_api(uint32_t version) {
  return version == MOERT_API_VERSION ? &moert::kApi : nullptr;
}
