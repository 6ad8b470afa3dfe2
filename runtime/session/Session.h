// SPDX-License-Identifier: Apache-2.0
/// \file
/// A conversation: activations, KV cache, recurrent state, logits. Feeds tokens through the entry functions and keeps
/// the length at whole tokens or chunks whatever fails. The history says what the session holds; KV cache and state
/// may be behind it, and are brought up to it before anything new is fed.
#ifndef RUNTIME_SESSION_SESSION_H
#define RUNTIME_SESSION_SESSION_H

#include "moert/Generated.h"
#include "moert/moert.h"
#include "runtime/base/Memory.h"
#include "runtime/plan/Plan.h"
#include "runtime/session/Checkpoints.h"
#include "runtime/session/ExpertWaves.h"
#include "runtime/session/Prediction.h"

namespace moert {

/// Bytes of a session's own region, without rounding.
uint64_t measureSession(const moert_model_descriptor &descriptor, const Settings &settings);

moert_status createSession(moert_model *model, moert_session **session, moert_error *error);
void destroySession(moert_session *session);
moert_status resetSession(moert_session &session, moert_error *error);

/// Tells the owner of the model what the last layer's router chose, if it wants to know and was not told.
void reportRouting(moert_session &session);

/// The calls that generated code makes.
extern const moert_calls kCalls;

/// Takes the session for one call; a second caller gets MOERT_STATUS_BUSY. Meanwhile the calling thread, which computes
/// too, is on the CPUs of the options.
class BusyGuard {
public:
  BusyGuard(moert_session &session, moert_error *error);
  ~BusyGuard();
  BusyGuard(const BusyGuard &) = delete;
  BusyGuard &operator=(const BusyGuard &) = delete;
  moert_status status;

private:
  moert_session &session;
  CpuSet callerCpus; /// to be restored; empty = not changed
};

// The functions below need the session to be taken.

moert_status checkIds(const moert_session &session, const int32_t *ids, size_t count, moert_error *error);
moert_status feedPrompt(moert_session &session, const int32_t *ids, size_t count, uint32_t chunk,
                        moert_logits_callback onLogits, void *user, moert_error *error);
/// `onLogits` (may be null) is called as in prefill.
moert_status feedToken(moert_session &session, int32_t id, moert_logits_callback onLogits, void *user,
                       moert_error *error);
/// Computes the last token again if there are no logits of it.
moert_status makeLogits(moert_session &session, moert_error *error);
moert_status sampleNext(moert_session &session, const moert_sampler_options &options, int32_t &id, moert_error *error);
moert_status generateText(moert_session &session, const int32_t *ids, size_t count,
                          const moert_generate_options &options, int32_t *generated, size_t capacity,
                          moert_generate_result &result, moert_error *error);

/// Keeps the first `position` tokens. What that leaves to be computed again is left to the next call.
moert_status rewindSession(moert_session &session, uint64_t position, moert_error *error);
/// Makes KV cache and state those of the first `ready` tokens, at most `position` and as many as possible without
/// computing. Up to `position` the KV cache was computed.
void goBack(moert_session &session, uint64_t position);
/// Keeps the `first` and the `latest` tokens, of which nothing is then computed.
void dropHistory(moert_session &session, uint64_t first, uint64_t latest);

/// What was fed last, since the session was created, reset or rewound.
enum class Turn : uint32_t { None, Prompt, Reply };
/// Takes a checkpoint where the turn changes. All held tokens are ready.
void keepTurn(moert_session &session, Turn turn);
/// Takes a checkpoint if the last one is far back.
void keepSometimes(moert_session &session);

} // namespace moert

struct moert_session {
  moert_model *model;
  moert_context context;
  moert::Region book, arena, kv, state;
  moert::Checkpoints checkpoints;
  uint64_t stateBytes; /// 0 = the model has no recurrent state
  uint64_t length;     /// tokens held
  uint64_t ready;      /// of those, the first that KV cache and state have seen
  uint64_t kvWritten;  /// end of the positions whose KV was written since position 0 was the last time
  int32_t *history;    /// [context], the tokens held
  moert::Turn turn;
  uint64_t numDropped; /// tokens that slides dropped
  uint64_t numSlides;
  float *logits; /// [vocab_size] of the last token, if hasLogits
  float *maxima; /// of tiles of these logits
  uint64_t *samplerScratch;
  uint8_t *row; /// one row of a streamed table with its checksum
  moert::ExpertWaves waves;
  moert::Prediction prediction;
  moert::Prediction::Outcome outcome; /// of the guess for the layer that was routed last
  moert_error error;                  /// of the running entry function
  moert::Atomic<uint32_t> busy, cancelled;
  bool hasLogits;
};
#endif
