// SPDX-License-Identifier: Apache-2.0
/// \file
/// A conversation: activations, KV cache, recurrent state, logits. Feeds tokens through the entry functions and keeps
/// the length at whole tokens or chunks whatever fails.
#ifndef RUNTIME_SESSION_SESSION_H
#define RUNTIME_SESSION_SESSION_H

#include "moert/Generated.h"
#include "moert/moert.h"
#include "runtime/base/Memory.h"
#include "runtime/plan/Plan.h"
#include "runtime/session/ExpertWaves.h"

namespace moert {

/// Bytes of a session's own region, without rounding.
uint64_t measureSession(const moert_model_descriptor &descriptor, const Settings &settings);

moert_status createSession(moert_model *model, moert_session **session, moert_error *error);
void destroySession(moert_session *session);
moert_status resetSession(moert_session &session, moert_error *error);

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
/// With MOERT_ON_FULL_SLIDE: drops tokens and feeds the kept ones again if `count` more do not fit, and if they then
/// would. Does nothing else otherwise.
moert_status makeRoom(moert_session &session, uint64_t count, moert_error *error);
/// `onLogits` (may be null) is called as in prefill.
moert_status feedToken(moert_session &session, int32_t id, moert_logits_callback onLogits, void *user,
                       moert_error *error);
moert_status sampleNext(moert_session &session, const moert_sampler_options &options, int32_t &id, moert_error *error);
moert_status generateText(moert_session &session, const int32_t *ids, size_t count,
                          const moert_generate_options &options, int32_t *generated, size_t capacity,
                          moert_generate_result &result, moert_error *error);

} // namespace moert

struct moert_session {
  moert_model *model;
  moert_context context;
  moert::Region book, arena, kv, state;
  uint64_t stateBytes; /// of the live half; the copy follows it
  uint64_t length;     /// tokens held
  int32_t *history;    /// [context], those tokens; only if the context slides
  uint64_t numDropped; /// tokens that slides dropped
  uint64_t numSlides;
  float *logits; /// [vocab_size] of the last token, if hasLogits
  uint64_t *samplerScratch;
  uint8_t *row; /// one row of a streamed table with its checksum
  moert::ExpertWaves waves;
  moert_error error; /// of the running entry function
  moert::Atomic<uint32_t> busy, cancelled;
  bool hasLogits;
};
#endif
