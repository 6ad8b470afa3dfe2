// SPDX-License-Identifier: Apache-2.0
/// \file
/// Feeding tokens: prefill in chunks, decode, logits, and again what a rewind, a slide or a failure left to be
/// computed. The length moves only when everything of a token or chunk is done.
#include "runtime/api/Model.h"
#include "runtime/base/Checked.h"
#include "runtime/base/FloatMode.h"
#include "runtime/base/Status.h"
#include "runtime/sampler/Sampler.h"
#include "runtime/session/Session.h"

#include <string.h>

namespace moert {

static unsigned long long print(uint64_t value) { return static_cast<unsigned long long>(value); }

static moert_status fullContext(const moert_session &session, uint64_t count, moert_error *error) {
  return fail(error, MOERT_STATUS_CONTEXT_FULL,
              "%llu tokens do not fit: the context is %u tokens and the session holds %llu; shorten the prompt or "
              "compile with a larger --context",
              print(count), session.model->settings.context, print(session.length));
}

moert_status checkIds(const moert_session &session, const int32_t *ids, size_t count, moert_error *error) {
  uint32_t vocabulary = session.model->descriptor->vocab_size, context = session.model->settings.context;
  if (count == 0)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the prompt is empty, expected at least 1 token");
  if (!ids)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the token ids are null");
  // With a sliding context what the session holds can make room.
  if (count > context - (session.model->settings.slides ? 0 : session.length))
    return fullContext(session, count, error);
  for (size_t i = 0; i < count; ++i)
    if (ids[i] < 0 || static_cast<uint32_t>(ids[i]) >= vocabulary)
      return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                  "token id %d at position %llu is not in the vocabulary: expected "
                  "0 to %u",
                  ids[i], print(i), vocabulary - 1);
  return MOERT_STATUS_OK;
}

static moert_status runEntry(moert_session &session, moert_entry entry, const char *name, int64_t n, uint64_t position,
                             const int32_t *tokens, moert_error *error) {
  moert_context &context = session.context;
  context.n = n;
  context.position = static_cast<int64_t>(position);
  context.tokens = tokens;
  context.wave = {};
  session.error.status = MOERT_STATUS_OK;
  int32_t result;
  {
    FloatMode mode;
    result = entry(&context);
  }
  reportRouting(session);
  session.waves.finish(session.model->pager);
  if (result == 0)
    return MOERT_STATUS_OK;
  session.prediction.clear();
  if (session.error.status == MOERT_STATUS_OK)
    return fail(error, MOERT_STATUS_INTERNAL, "the generated function '%s' answered %d", name, result);
  if (error)
    *error = session.error;
  return session.error.status;
}

static moert_status commitKv(moert_session &session, uint64_t numTokens, moert_error *error) {
  const moert_model &model = *session.model;
  uint64_t blocks = (session.ready + numTokens + MOERT_KV_BLOCK_POSITIONS - 1) / MOERT_KV_BLOCK_POSITIONS;
  // Behind a window the blocks of the ring are used again; until then blocks lie in the order of their positions.
  blocks = minOf(blocks, moert_kv_num_blocks(&model.settings.window, model.settings.context));
  uint64_t bytes = blocks * model.descriptor->plan.kv_block_bytes;
  if (session.kv.commit(session.model->ledger, bytes))
    return MOERT_STATUS_OK;
  char text[kSizeTextBytes];
  return fail(error, MOERT_STATUS_NO_MEMORY, "no memory to grow the kv cache to %s for %llu tokens%s",
              sizeText(bytes, text), print(session.ready + numTokens), kWhenNoMemory);
}

/// Logits of hidden rows [0, n): of all of them if there is a callback, else of the last one.
static moert_status runHead(moert_session &session, uint64_t n, moert_logits_callback onLogits, void *user,
                            moert_error *error) {
  const moert_model_descriptor &d = *session.model->descriptor;
  const float *rows = reinterpret_cast<const float *>(session.arena.data + d.logits_offset);
  uint64_t first = onLogits ? 0 : n - 1;
  while (first < n) {
    uint64_t count = minOf(n - first, d.head_rows);
    if (moert_status status =
            runEntry(session, d.head, "head", static_cast<int64_t>(count), first, session.context.tokens, error))
      return status;
    for (uint64_t i = 0; onLogits && i < count; ++i)
      if (onLogits(user, session.ready + first + i, rows + i * d.vocab_size, d.vocab_size) != 0)
        return fail(error, MOERT_STATUS_CANCELLED, "cancelled by the logits callback at position %llu",
                    print(session.ready + first + i));
    first += count;
    if (first < n)
      continue;
    memcpy(session.logits, rows + (count - 1) * d.vocab_size, sizeof(float) * d.vocab_size);
    uint64_t numTiles = numLogitTiles(d.vocab_size);
    const float *maxima = reinterpret_cast<const float *>(session.arena.data + d.maxima_offset);
    if (d.maxima_offset)
      memcpy(session.maxima, maxima + (count - 1) * numTiles, sizeof(float) * numTiles);
    else
      findMaxima(session.logits, d.vocab_size, session.maxima);
  }
  session.hasLogits = true;
  return MOERT_STATUS_OK;
}

/// Computes the n tokens behind the ready ones: of the history, or new ones, which then join it. On failure the session
/// holds what it held.
static moert_status feed(moert_session &session, moert_entry entry, const char *name, const int32_t *ids, uint64_t n,
                         bool wantLogits, moert_logits_callback onLogits, void *user, moert_error *error) {
  uint64_t position = session.ready;
  if (session.cancelled.load())
    return fail(error, MOERT_STATUS_CANCELLED, "cancelled before token %llu", print(position));
  if (moert_status status = commitKv(session, n, error))
    return status;
  keepSometimes(session);
  session.kvWritten = maxOf(position ? session.kvWritten : 0, position + n);
  moert_status status = runEntry(session, entry, name, static_cast<int64_t>(n), position, ids, error);
  if (status == MOERT_STATUS_OK && wantLogits)
    status = runHead(session, n, onLogits, user, error);
  moert_model &model = *session.model;
  model.slow.note(model.pool, model.pager.counters.stallNs.load(), monotonicNs());
  if (status != MOERT_STATUS_OK) {
    // KV beyond the length is overwritten some time, but the state was changed in place.
    if (session.stateBytes)
      goBack(session, position);
    return status;
  }
  session.ready = position + n;
  if (session.ready > session.length) {
    memcpy(session.history + position, ids, n * sizeof(int32_t));
    session.length = session.ready;
  }
  return MOERT_STATUS_OK;
}

/// Computes again what is missing, with the logits of the last token if they are wanted.
static moert_status catchUp(moert_session &session, bool wantLogits, moert_error *error) {
  moert_model &model = *session.model;
  moert_status status = MOERT_STATUS_OK;
  while (status == MOERT_STATUS_OK && session.ready < session.length) {
    uint64_t n = minOf(model.descriptor->max_chunk, session.length - session.ready);
    bool isLast = session.ready + n == session.length;
    status = feed(session, model.descriptor->prefill, "prefill", session.history + session.ready, n,
                  wantLogits && isLast, nullptr, nullptr, error);
    if (status == MOERT_STATUS_OK)
      model.counters.tokensReplayed.fetchAdd(n);
  }
  return status;
}

/// A cancel ends one call.
static moert_status endCall(moert_session &session, moert_status status) {
  if (status == MOERT_STATUS_CANCELLED)
    session.cancelled.store(0);
  return status;
}

/// With MOERT_ON_FULL_SLIDE: drops tokens if `count` more do not fit, and if they then would. Then computes what is
/// missing, so that those can be fed.
static moert_status makeReady(moert_session &session, uint64_t count, moert_error *error) {
  moert_model &model = *session.model;
  uint64_t context = model.settings.context, length = session.length;
  if (count > context - length) {
    uint64_t first = minOf(model.settings.keep, length), latest = minOf(context / 2, length - first);
    if (!model.settings.slides || count > context - first - latest)
      return fullContext(session, count, error);
    dropHistory(session, first, latest);
    ++session.numSlides;
    model.counters.slides.fetchAdd(1);
  }
  return catchUp(session, false, error);
}

moert_status feedPrompt(moert_session &session, const int32_t *ids, size_t count, uint32_t chunk,
                        moert_logits_callback onLogits, void *user, moert_error *error) {
  moert_model &model = *session.model;
  const moert_model_descriptor &d = *model.descriptor;
  if (chunk > d.max_chunk)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "chunk is %u, expected 1 to %u (or 0 for the largest)", chunk,
                d.max_chunk);
  if (moert_status status = checkIds(session, ids, count, error))
    return status;
  uint64_t step = chunk ? chunk : d.max_chunk, begin = monotonicNs();
  model.slow.begin(model.pool, model.pager.counters.stallNs.load(), begin);
  moert_status status = makeReady(session, count, error);
  if (status == MOERT_STATUS_OK)
    keepTurn(session, Turn::Prompt);
  for (uint64_t done = 0; status == MOERT_STATUS_OK && done < count;) {
    uint64_t n = minOf(step, count - done);
    bool wantLogits = onLogits || done + n == count;
    // The code for one token says the same, and guesses what is needed next.
    bool isOne = n == 1;
    status = feed(session, isOne ? d.decode : d.prefill, isOne ? "decode" : "prefill", ids + done, n, wantLogits,
                  onLogits, user, error);
    if (status != MOERT_STATUS_OK)
      break;
    session.hasLogits = wantLogits;
    done += n;
    model.counters.tokensPrefilled.fetchAdd(n);
  }
  model.counters.prefillNs.fetchAdd(monotonicNs() - begin);
  return endCall(session, status);
}

moert_status feedToken(moert_session &session, int32_t id, moert_logits_callback onLogits, void *user,
                       moert_error *error) {
  moert_model &model = *session.model;
  if (moert_status status = checkIds(session, &id, 1, error))
    return status;
  uint64_t begin = monotonicNs();
  model.slow.begin(model.pool, model.pager.counters.stallNs.load(), begin);
  moert_status status = makeReady(session, 1, error);
  if (status == MOERT_STATUS_OK)
    keepTurn(session, Turn::Reply);
  if (status == MOERT_STATUS_OK)
    status = feed(session, model.descriptor->decode, "decode", &id, 1, true, onLogits, user, error);
  model.counters.decodeNs.fetchAdd(monotonicNs() - begin);
  if (status == MOERT_STATUS_OK)
    model.counters.tokensDecoded.fetchAdd(1);
  return endCall(session, status);
}

moert_status makeLogits(moert_session &session, moert_error *error) {
  if (session.hasLogits)
    return MOERT_STATUS_OK;
  if (session.length == 0)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "there are no logits to sample from; feed a token first");
  uint64_t begin = monotonicNs();
  if (session.ready == session.length)
    goBack(session, session.length - 1);
  moert_status status = catchUp(session, true, error);
  session.model->counters.prefillNs.fetchAdd(monotonicNs() - begin);
  return endCall(session, status);
}

moert_status sampleNext(moert_session &session, const moert_sampler_options &options, int32_t &id, moert_error *error) {
  if (const char *problem = checkSamplerOptions(options))
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "sampler options: %s (top_k %d)", problem, options.top_k);
  if (moert_status status = makeLogits(session, error))
    return status;
  TiledLogits logits{session.logits, session.maxima, session.model->descriptor->vocab_size};
  id = sampleToken(logits, options, session.length + session.numDropped, session.samplerScratch);
  return MOERT_STATUS_OK;
}

} // namespace moert
