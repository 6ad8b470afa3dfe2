// SPDX-License-Identifier: Apache-2.0
/// \file
/// The calls that generated code makes into the runtime. Each answers 0 or `-moert_status`, and leaves its message in
/// the session.
#include "runtime/api/Model.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Status.h"
#include "runtime/session/Session.h"

#include <string.h>

namespace moert {

static moert_session &sessionOf(moert_context *context) { return *static_cast<moert_session *>(context->runtime); }

static int32_t launchKernel(moert_context *context, moert_kernel kernel, void *const *args, int64_t numTiles) {
  sessionOf(context).model->pool.launch(context, kernel, args, numTiles);
  return 0;
}

static int32_t launchChains(moert_context *context, const moert_chain *chains, int32_t numChains) {
  sessionOf(context).model->pool.launchChains(context, chains, static_cast<uint32_t>(numChains));
  return 0;
}

/// Rows of frequent tokens may stay in the page cache, all that were ever used may not.
static void limitCachedRows(moert_model &model, uint64_t bytesRead) {
  constexpr uint64_t kMostBytes = 8ull << 20, kLargestPartialPages = 2 * kPageBytes;
  const moert_model_descriptor &d = *model.descriptor;
  uint64_t bytes = bytesRead + kLargestPartialPages;
  if (model.counters.cachedRowBytes.fetchAdd(bytes) + bytes <= kMostBytes)
    return;
  model.counters.cachedRowBytes.store(0);
  for (uint32_t t = 0; t < d.num_streamed_tables; ++t)
    model.pack.drop(model.storage.tableOffsets[t],
                    d.streamed_tables[t].num_rows * (d.streamed_tables[t].row_bytes + 8ull));
}

static moert_status readRow(moert_session &session, uint32_t tableIndex, uint64_t row, uint8_t *destination) {
  moert_model &model = *session.model;
  const moert_streamed_table &table = model.descriptor->streamed_tables[tableIndex];
  uint64_t stride = table.row_bytes + 8ull;
  uint64_t offset = model.storage.tableOffsets[tableIndex] + row * stride;
  if (moert_status status = model.pack.read(offset, session.row, stride, ReadMode::Cached, &session.error))
    return status;
  limitCachedRows(model, stride);
  uint64_t expected;
  memcpy(&expected, session.row + table.row_bytes, sizeof(expected));
  if (moepack_row_checksum(hash64(session.row, table.row_bytes), model.descriptor->plan_id, row) != expected) {
    char name[kPathBytes + 16];
    const PackFile::Part &part = model.pack.partOf(offset);
    return fail(&session.error, MOERT_STATUS_CORRUPT,
                "row %llu of table %u is damaged: checksum of %u bytes at offset %llu of '%s' does not match%s",
                static_cast<unsigned long long>(row), tableIndex, table.row_bytes,
                static_cast<unsigned long long>(offset - part.start), model.pack.partName(part, name), kWhenDamaged);
  }
  memcpy(destination, session.row, table.row_bytes);
  return MOERT_STATUS_OK;
}

static int32_t readRows(moert_context *context, int32_t tableIndex, uint8_t *destination) {
  moert_session &session = sessionOf(context);
  const moert_model_descriptor &d = *session.model->descriptor;
  if (tableIndex < 0 || static_cast<uint32_t>(tableIndex) >= d.num_streamed_tables)
    return -fail(&session.error, MOERT_STATUS_INTERNAL, "generated code reads table %d of %u", tableIndex,
                 d.num_streamed_tables);
  const moert_streamed_table &table = d.streamed_tables[tableIndex];
  for (int64_t i = 0; i < context->n; ++i) {
    int32_t id = context->tokens[i];
    if (id < 0 || static_cast<uint64_t>(id) >= table.num_rows)
      return -fail(&session.error, MOERT_STATUS_INTERNAL, "table %d has %llu rows, token id %d was looked up",
                   tableIndex, static_cast<unsigned long long>(table.num_rows), id);
    if (moert_status status = readRow(session, static_cast<uint32_t>(tableIndex), static_cast<uint64_t>(id),
                                      destination + static_cast<uint64_t>(i) * table.row_bytes))
      return -status;
  }
  return 0;
}

/// Reader lanes that were woken may stand behind this thread: they begin reads in microseconds, and a wave of experts
/// takes hundreds.
static void letLanesRun(const moert_session &session) {
  if (session.model->pool.isCrowded())
    yieldThread();
}

static int32_t beginExperts(moert_context *context, int32_t layer, const int32_t *ids, int32_t topK) {
  moert_session &session = sessionOf(context);
  session.outcome = session.prediction.settle(layer, ids, context->n == 1 ? topK : 0);
  session.model->counters.predicted.fetchAdd(session.outcome.predicted);
  session.model->counters.predictedRight.fetchAdd(session.outcome.right);
  moert_status status = session.waves.begin(session.model->pager, *session.model->descriptor, layer, ids, context->n,
                                            topK, context->experts_used, &session.error);
  if (session.waves.hasBegunReads())
    letLanesRun(session);
  return -status;
}

void reportRouting(moert_session &session) {
  const Settings &settings = session.model->settings;
  moert_routing routing;
  if (!settings.onRouting || !session.waves.takeRouting(routing))
    return;
  routing.position = static_cast<uint64_t>(session.context.position);
  routing.num_guessed = static_cast<uint16_t>(session.outcome.predicted);
  routing.num_guessed_right = static_cast<uint16_t>(session.outcome.right);
  settings.onRouting(settings.routingUser, &routing);
}

static int32_t nextWave(moert_context *context, int32_t) {
  moert_session &session = sessionOf(context);
  if (moert_status status = session.waves.next(session.model->pager, context->wave, &session.error, true))
    return -status;
  if (context->wave.num_experts)
    return context->wave.num_experts;
  if (!session.waves.isDone())
    return MOERT_WAVE_MORE;
  reportRouting(session);
  return 0;
}

static int32_t poll(moert_context *context, int32_t layer) {
  moert_session &session = sessionOf(context);
  if (!session.cancelled.load())
    return 0;
  return -fail(&session.error, MOERT_STATUS_CANCELLED, "cancelled before layer %d", layer);
}

/// Of a guess for `layer` that generated code makes now.
static GuessPlace placeOf(const moert_session &session, int32_t layer) {
  if (session.waves.isDone())
    return GuessPlace::Late;
  bool isNext = session.model->pager.isNextLayer(session.waves.layer(), layer);
  return isNext ? GuessPlace::Early : GuessPlace::Far;
}

static int32_t wantsPrediction(moert_context *context, int32_t layer) {
  moert_session &session = sessionOf(context);
  moert_model &model = *session.model;
  if (context->n != 1 || model.settings.prediction == MOERT_PREDICTION_OFF)
    return 0;
  // With every expert in memory guesses only tell how good they are.
  if (model.settings.prediction == MOERT_PREDICTION_ALWAYS)
    return 1;
  if (model.plan.info.num_slots >= model.plan.info.num_experts)
    return 0;
  Prediction::Answer answer = session.prediction.ask(layer, placeOf(session, layer));
  if (answer == Prediction::Answer::Pager)
    return session.prediction.answer(layer, model.pager.wantsPrediction(layer));
  return answer == Prediction::Answer::Yes;
}

static int32_t prefetch(moert_context *context, int32_t layer, const int32_t *ids, int32_t count) {
  moert_session &session = sessionOf(context);
  const int32_t *experts = nullptr;
  if (uint32_t numKept = session.prediction.keep(layer, placeOf(session, layer), ids, count, experts)) {
    session.model->pager.predict(layer, experts, numKept);
    letLanesRun(session);
  }
  return 0;
}

const moert_calls kCalls = {MOERT_GENERATED_ABI_VERSION,
                            0,
                            launchKernel,
                            readRows,
                            beginExperts,
                            nextWave,
                            poll,
                            prefetch,
                            launchChains,
                            wantsPrediction};

} // namespace moert
