// SPDX-License-Identifier: Apache-2.0
/// \file
/// Creation, reset and end of sessions.
#include "runtime/session/Session.h"

#include "runtime/api/Model.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"
#include "runtime/sampler/Sampler.h"

#include <string.h>

namespace moert {

static moert_session *placeSession(Carver &carver, const moert_model_descriptor &d, const Settings &settings) {
  auto *session = carver.take<moert_session>(1);
  uint64_t rowBytes = 0;
  for (uint32_t t = 0; t < d.num_streamed_tables; ++t)
    rowBytes = maxOf(rowBytes, d.streamed_tables[t].row_bytes + 8ull);
  auto *logits = carver.take<float>(d.vocab_size);
  auto *maxima = carver.take<float>(numLogitTiles(d.vocab_size));
  auto *scratch = carver.take<uint64_t>(d.vocab_size);
  auto *row = carver.take<uint8_t>(rowBytes);
  auto *history = carver.take<int32_t>(settings.context);
  if (!session) {
    ExpertWaves measured;
    measured.place(carver, d);
    Prediction measuredGuesses;
    measuredGuesses.place(carver, d);
    Checkpoints measuredToo;
    measuredToo.place(carver, settings.stateCheckpoints);
    return nullptr;
  }
  session->logits = logits;
  session->maxima = maxima;
  session->samplerScratch = scratch;
  session->row = row;
  session->history = history;
  session->waves.place(carver, d);
  session->prediction.place(carver, d);
  session->checkpoints.place(carver, settings.stateCheckpoints);
  return session;
}

uint64_t measureSession(const moert_model_descriptor &d, const Settings &settings) {
  Carver carver = {nullptr, 0};
  placeSession(carver, d, settings);
  return carver.offset;
}

static moert_status refuseMemory(const char *what, uint64_t bytes, moert_error *error) {
  char text[kSizeTextBytes];
  return fail(error, MOERT_STATUS_NO_MEMORY, "no memory for the session's %s (%s)%s", what, sizeText(bytes, text),
              kWhenNoMemory);
}

static moert_status fillSession(moert_session &session, moert_error *error) {
  moert_model &model = *session.model;
  const Plan &plan = model.plan;
  if (!session.arena.create(model.ledger, plan.arenaBytes, Populate::Now))
    return refuseMemory("arena", plan.arenaBytes, error);
  if (!session.kv.create(model.ledger, plan.kvBytes, Populate::OnCommit))
    return refuseMemory("kv cache addresses", plan.kvBytes, error);
  if (!session.state.create(model.ledger, plan.stateBytes, Populate::Now))
    return refuseMemory("recurrent state", plan.stateBytes, error);
  if (!session.checkpoints.create(model.ledger, *model.descriptor, model.settings.stateCheckpoints))
    return refuseMemory("checkpoint addresses", plan.checkpointBytes, error);
  session.stateBytes = model.descriptor->plan.state_bytes;
  session.context.calls = &kCalls;
  session.context.arena = session.arena.data;
  session.context.resident = model.resident.data;
  session.context.kv = session.kv.data;
  session.context.state = session.state.data;
  session.context.runtime = &session;
  session.context.kv_window = model.settings.window;
  session.context.experts_used = model.settings.expertsUsed;
  return MOERT_STATUS_OK;
}

moert_status createSession(moert_model *model, moert_session **session, moert_error *error) {
  if (!model || !session)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT, "the model or the place for the session is null");
  *session = nullptr;
  uint32_t others = model->numSessions.fetchAdd(1);
  if (others >= model->settings.maxSessions) {
    model->numSessions.fetchSub(1);
    return fail(error, MOERT_STATUS_BUDGET,
                "the budget has room for %u sessions and %u exist; open the model with a larger max_sessions",
                model->settings.maxSessions, others);
  }
  Region book;
  if (!book.create(model->ledger, model->plan.sessionBookBytes, Populate::Now)) {
    model->numSessions.fetchSub(1);
    return refuseMemory("tables", model->plan.sessionBookBytes, error);
  }
  Carver carver = {book.data, 0};
  moert_session *created = placeSession(carver, *model->descriptor, model->settings);
  created->model = model;
  created->book = book;
  if (moert_status status = fillSession(*created, error)) {
    destroySession(created);
    return status;
  }
  *session = created;
  return MOERT_STATUS_OK;
}

void destroySession(moert_session *session) {
  if (!session)
    return;
  moert_model *model = session->model;
  session->arena.destroy(model->ledger);
  session->kv.destroy(model->ledger);
  session->state.destroy(model->ledger);
  session->checkpoints.destroy(model->ledger);
  Region book = session->book;
  book.destroy(model->ledger);
  model->numSessions.fetchSub(1);
}

moert_status resetSession(moert_session &session, moert_error *error) {
  session.length = session.ready = session.kvWritten = session.numDropped = 0;
  session.hasLogits = false;
  session.turn = Turn::None;
  session.cancelled.store(0);
  if (session.stateBytes)
    memset(session.state.data, 0, session.stateBytes);
  bool isTaken = session.checkpoints.clear(session.model->ledger);
  if (!session.kv.decommitAll(session.model->ledger) || !isTaken)
    return fail(error, MOERT_STATUS_NO_MEMORY,
                "the system did not take back %llu bytes of kv cache and checkpoints; reset again",
                static_cast<unsigned long long>(session.kv.committedBytes + session.checkpoints.heldBytes()));
  return MOERT_STATUS_OK;
}

BusyGuard::BusyGuard(moert_session &taken, moert_error *error) : session(taken), callerCpus{} {
  status = session.busy.exchange(1) == 0
               ? MOERT_STATUS_OK
               : fail(error, MOERT_STATUS_BUSY, "the session is in use by another call; use one session per thread");
  const CpuSet &cpus = session.model->settings.cpus;
  if (status == MOERT_STATUS_OK && cpus.count()) {
    callerCpus = allowedCpus();
    restrictThread(cpus);
  }
}

BusyGuard::~BusyGuard() {
  if (callerCpus.count())
    restrictThread(callerCpus);
  if (status == MOERT_STATUS_OK)
    session.busy.store(0);
}

} // namespace moert
