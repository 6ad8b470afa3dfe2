// SPDX-License-Identifier: Apache-2.0
/// \file
/// Going back: to an earlier position, or behind a slide. What KV cache and state then lack is computed again from the
/// history, by the next call that feeds.
#include "runtime/api/Model.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Status.h"
#include "runtime/sampler/Sampler.h"
#include "runtime/session/Session.h"

#include <string.h>

namespace moert {

static unsigned long long print(uint64_t value) { return static_cast<unsigned long long>(value); }

/// Whether the KV cache has all that a token at `position` sees. `position` is not beyond what was computed; a block of
/// the ring is lost as soon as the one that takes its place was begun.
static bool hasKv(const moert_session &session, uint64_t position) {
  const moert_kv_window &w = session.model->settings.window;
  uint64_t window = static_cast<uint64_t>(w.window), sinkBlocks = static_cast<uint64_t>(w.sink_blocks);
  if (position == 0 || session.kvWritten == 0)
    return true;
  uint64_t firstSeen = position >= window ? position - window + 1 : 0;
  uint64_t firstBlock = maxOf(sinkBlocks, firstSeen / MOERT_KV_BLOCK_POSITIONS);
  uint64_t lastSeen = (position - 1) / MOERT_KV_BLOCK_POSITIONS;
  uint64_t lastWritten = (session.kvWritten - 1) / MOERT_KV_BLOCK_POSITIONS;
  return firstBlock > lastSeen || firstBlock + static_cast<uint64_t>(w.ring_blocks) > lastWritten;
}

void goBack(moert_session &session, uint64_t position) {
  if (session.stateBytes == 0) {
    session.ready = hasKv(session, position) ? position : 0;
    return;
  }
  const Checkpoint *checkpoint = session.checkpoints.latest(position);
  if (!checkpoint || !hasKv(session, checkpoint->position)) {
    session.ready = 0;
    memset(session.state.data, 0, session.stateBytes);
    return;
  }
  session.ready = checkpoint->position;
  memcpy(session.state.data, session.checkpoints.stateOf(*checkpoint), session.stateBytes);
  if (checkpoint->hasLogits && session.ready == session.length && !session.hasLogits) {
    uint64_t vocabulary = session.model->descriptor->vocab_size;
    memcpy(session.logits, session.checkpoints.logitsOf(*checkpoint), sizeof(float) * vocabulary);
    findMaxima(session.logits, static_cast<uint32_t>(vocabulary), session.maxima);
    session.hasLogits = true;
  }
}

moert_status rewindSession(moert_session &session, uint64_t position, moert_error *error) {
  if (position > session.length)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "position is %llu, expected 0 to %llu, the tokens that the session holds", print(position),
                print(session.length));
  if (position == session.length)
    return MOERT_STATUS_OK;
  session.length = position;
  session.hasLogits = false;
  session.turn = Turn::None;
  session.checkpoints.dropBehind(position);
  if (session.ready > position)
    goBack(session, position);
  return MOERT_STATUS_OK;
}

void dropHistory(moert_session &session, uint64_t first, uint64_t latest) {
  memmove(session.history + first, session.history + (session.length - latest), latest * sizeof(int32_t));
  session.numDropped += session.length - (first + latest);
  session.length = first + latest;
  session.hasLogits = false;
  session.turn = Turn::None;
  session.checkpoints.dropBehind(0);
  goBack(session, 0);
}

static const float *logitsAt(const moert_session &session, uint64_t position) {
  return session.hasLogits && position == session.length ? session.logits : nullptr;
}

void keepTurn(moert_session &session, Turn turn) {
  if (session.turn == turn)
    return;
  session.turn = turn;
  Checkpoints &checkpoints = session.checkpoints;
  if (turn == Turn::Prompt)
    checkpoints.prompt = session.length;
  checkpoints.reply = turn == Turn::Prompt ? 0 : session.length;
  checkpoints.take(session.model->ledger, session.ready, session.state.data, logitsAt(session, session.ready));
}

void keepSometimes(moert_session &session) {
  const Checkpoint *latest = session.checkpoints.latest(session.ready);
  if (session.ready - (latest ? latest->position : 0) >= kCheckpointTokens)
    session.checkpoints.take(session.model->ledger, session.ready, session.state.data,
                             logitsAt(session, session.ready));
}

} // namespace moert
