// SPDX-License-Identifier: Apache-2.0
/// \file
/// Prompt in, text out: prefill, then sampling until a stop token, the wanted length, the context, or a cancel.
#include "runtime/api/Model.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Status.h"
#include "runtime/session/Session.h"
#include "runtime/text/Utf8.h"

namespace moert {

namespace {
/// Hands text to the callback in whole code points.
class TextOut {
public:
  TextOut(const moert_model &m, const moert_generate_options &o) : model(m), options(o) {}

  /// False if the callback cancels.
  bool token(int32_t id) {
    lastId = id;
    if (!options.on_text)
      return true;
    uint32_t sizeBytes = 0;
    const uint8_t *bytes = model.hasTokenizer ? model.tokenizer.tokenBytes(id, &sizeBytes) : nullptr;
    // Nearly all tokens are shorter than a piece and give one call.
    uint32_t done = 0;
    do {
      uint32_t piece = static_cast<uint32_t>(minOf(kPieceBytes, sizeBytes - done));
      size_t written = piece ? assembler.push(bytes + done, piece, text) : 0;
      if (options.on_text(options.user, text, written, id) != 0)
        return false;
      done += piece;
    } while (done < sizeBytes);
    return true;
  }
  /// What is left of a cut code point.
  void finish() {
    if (!options.on_text || !assembler.hasPending())
      return;
    size_t written = assembler.finish(text);
    options.on_text(options.user, text, written, lastId);
  }

private:
  static constexpr uint32_t kPieceBytes = 512;
  const moert_model &model;
  const moert_generate_options &options;
  Utf8Assembler assembler;
  int32_t lastId = -1;
  char text[Utf8Assembler::capacityFor(kPieceBytes)];
};
} // namespace

static bool isStop(const moert_generation_defaults &defaults, int32_t id) {
  for (uint32_t i = 0; i < defaults.num_stop_ids; ++i)
    if (defaults.stop_ids[i] == id)
      return true;
  return false;
}

static moert_status decodeLoop(moert_session &session, const moert_generate_options &options, int32_t *generated,
                               size_t capacity, TextOut &out, moert_generate_result &result, moert_error *error) {
  const moert_model_descriptor &d = *session.model->descriptor;
  const Settings &settings = session.model->settings;
  for (;;) {
    // A token that could not be fed any more is not generated: prompt and generated tokens fit the context.
    if (!settings.slides && session.length == settings.context) {
      result.finish_reason = MOERT_FINISH_CONTEXT;
      return MOERT_STATUS_OK;
    }
    int32_t id = 0;
    if (moert_status status = sampleNext(session, options.sampler, id, error))
      return status;
    if (!options.ignore_stop && isStop(d.generation, id)) {
      result.finish_reason = MOERT_FINISH_STOP;
      return MOERT_STATUS_OK;
    }
    if (generated && result.num_generated < capacity)
      generated[result.num_generated] = id;
    ++result.num_generated;
    if (!out.token(id))
      return fail(error, MOERT_STATUS_CANCELLED, "cancelled by the text callback after %u tokens",
                  result.num_generated);
    if (options.max_tokens && result.num_generated >= options.max_tokens) {
      result.finish_reason = MOERT_FINISH_LENGTH;
      return MOERT_STATUS_OK;
    }
    // The next token would be beyond the context: feeding this one would serve nothing.
    if (!settings.slides && session.length + 1 >= settings.context) {
      result.finish_reason = MOERT_FINISH_CONTEXT;
      return MOERT_STATUS_OK;
    }
    if (moert_status status = feedToken(session, id, options.on_logits, options.user, error))
      return status;
  }
}

moert_status generateText(moert_session &session, const int32_t *ids, size_t count,
                          const moert_generate_options &options, int32_t *generated, size_t capacity,
                          moert_generate_result &result, moert_error *error) {
  result = {MOERT_FINISH_ERROR, 0, 0, 0, 0};
  if (session.model->settings.slides && !options.max_tokens)
    return fail(error, MOERT_STATUS_INVALID_ARGUMENT,
                "options.max_tokens is 0, expected a number: a context that slides never ends a generation");
  uint64_t begin = monotonicNs(), slidesBefore = session.numSlides;
  // Without new tokens it goes on from those that are held.
  moert_status status = count || !session.length
                            ? feedPrompt(session, ids, count, options.chunk, options.on_logits, options.user, error)
                            : makeLogits(session, error);
  uint64_t middle = monotonicNs();
  result.prefill_ns = middle - begin;
  if (status == MOERT_STATUS_OK) {
    TextOut out(*session.model, options);
    status = decodeLoop(session, options, generated, capacity, out, result, error);
    if (status == MOERT_STATUS_OK)
      out.finish();
    result.decode_ns = monotonicNs() - middle;
  }
  result.slides = session.numSlides - slidesBefore;
  if (status != MOERT_STATUS_OK)
    result.finish_reason = status == MOERT_STATUS_CANCELLED ? MOERT_FINISH_CANCELLED : MOERT_FINISH_ERROR;
  return status;
}

} // namespace moert
