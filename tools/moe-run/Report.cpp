// SPDX-License-Identifier: Apache-2.0
/// \file
/// What moe-run tells after a run.
#include "tools/moe-run/Report.h"

#include <stdio.h>

namespace moerun {

namespace {

double perSecond(uint64_t count, uint64_t timeNs) {
  return timeNs == 0 ? 0.0 : static_cast<double>(count) * 1e9 / static_cast<double>(timeNs);
}

void printIds(const char *key, const Array<int32_t> &ids) {
  printf("\"%s\": [", key);
  for (size_t i = 0; i < ids.size(); ++i)
    printf("%s%d", i == 0 ? "" : ", ", ids.data()[i]);
  fputs("], ", stdout);
}

void printCount(const char *key, uint64_t value, const char *behind = ", ") {
  printf("\"%s\": %llu%s", key, static_cast<unsigned long long>(value), behind);
}

/// [guessed, right] of each layer; nothing where none was guessed.
void printGuesses(const Array<GuessTable::Layer> &guesses) {
  uint64_t sum = 0;
  for (size_t i = 0; i < guesses.size(); ++i)
    sum += guesses.data()[i].guessed;
  fputs("\"predicted_by_layer\": [", stdout);
  for (size_t i = 0; sum && i < guesses.size(); ++i)
    printf("%s[%llu, %llu]", i == 0 ? "" : ", ", static_cast<unsigned long long>(guesses.data()[i].guessed),
           static_cast<unsigned long long>(guesses.data()[i].right));
  fputs("], ", stdout);
}

double mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

} // namespace

void printJsonText(const char *text, size_t sizeBytes) {
  putchar('"');
  for (size_t i = 0; i < sizeBytes; ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\')
      printf("\\%c", c);
    else if (c == '\n')
      fputs("\\n", stdout);
    else if (c < 0x20 || c == 0x7F)
      printf("\\u%04x", c);
    else
      putchar(c);
  }
  putchar('"');
}

const char *finishName(moert_finish_reason reason) {
  switch (reason) {
  case MOERT_FINISH_STOP:
    return "stop";
  case MOERT_FINISH_LENGTH:
    return "length";
  case MOERT_FINISH_CONTEXT:
    return "context";
  case MOERT_FINISH_CANCELLED:
    return "cancelled";
  case MOERT_FINISH_ERROR:
    break;
  }
  return "error";
}

bool printJson(const RunResult &result, const Array<GuessTable::Layer> &guesses) {
  const moert_statistics &s = result.statistics;
  putchar('{');
  printIds("prompt_ids", result.promptIds);
  printIds("ids", result.ids);
  fputs("\"text\": ", stdout);
  printJsonText(result.text.data(), result.text.size());
  fputs(", ", stdout);
  printf("\"finish_reason\": \"%s\", ", finishName(result.generated.finish_reason));
  printf("\"prefill_tokens_per_s\": %.3f, ", perSecond(s.tokens_prefilled, s.prefill_ns));
  printf("\"decode_tokens_per_s\": %.3f, ", perSecond(s.tokens_decoded, s.decode_ns));
  printCount("peak_rss_bytes", result.peakBytes);
  printCount("baseline_rss_bytes", result.baselineBytes);
  printCount("plan_bytes", result.plan.plan_bytes);
  printCount("min_bytes", result.plan.min_bytes);
  printCount("budget_bytes", result.plan.budget_bytes);
  printCount("planned_bytes", result.plan.planned_bytes);
  printCount("kv_bytes", result.plan.kv_bytes);
  printCount("state_bytes", result.plan.state_bytes);
  printCount("checkpoint_bytes", result.plan.checkpoint_bytes);
  printCount("slots", result.plan.num_slots);
  printCount("slot_bytes", result.plan.slot_bytes);
  printCount("expert_hits", s.expert_hits);
  printCount("expert_misses", s.expert_misses);
  printCount("expert_bytes_read", s.expert_bytes_read);
  printCount("predicted", s.predicted);
  printCount("predicted_right", s.predicted_right);
  printGuesses(guesses);
  printCount("prefetch_issued", s.prefetch_issued);
  printCount("prefetch_useful", s.prefetch_useful);
  printCount("prefetch_late", s.prefetch_late);
  printCount("prefetch_cancelled", s.prefetch_cancelled);
  printCount("prefetch_bytes_read", s.prefetch_bytes_read);
  printf("\"stall_ms\": %.3f, ", static_cast<double>(s.stall_ns) / 1e6);
  printCount("joins", s.joins);
  printCount("ledger_peak_bytes", s.ledger_peak_bytes);
  printCount("threads", s.threads);
  printCount("pinned_cpus", s.pinned_cpus);
  printCount("experts_used", s.experts_used);
  bool isPruned = s.lossy & MOERT_LOSSY_EXPERTS_USED, isWindowed = s.lossy & MOERT_LOSSY_WINDOW;
  printf("\"lossy\": [%s%s%s], ", isPruned ? "\"experts-used\"" : "", isPruned && isWindowed ? ", " : "",
         isWindowed ? "\"window\"" : "");
  printCount("slides", result.generated.slides);
  printCount("tokens_replayed", s.tokens_replayed);
  printCount("locked_bytes", s.locked_bytes);
  printCount("lock_refused_bytes", s.lock_refused_bytes);
  if (s.lock_limit_bytes == UINT64_MAX)
    printf("\"lock_limit_bytes\": null, ");
  else
    printCount("lock_limit_bytes", s.lock_limit_bytes);
  printSlowJson(result.slow);
  printf(", \"direct_io\": %s}\n", s.direct_io ? "true" : "false");
  return fflush(stdout) == 0 && !ferror(stdout);
}

void warnUnlocked(const moert_statistics &s) {
  if (s.lock_refused_bytes == 0)
    return;
  fprintf(stderr, "warning: --lock: the system locked %llu of %llu bytes; ",
          static_cast<unsigned long long>(s.locked_bytes),
          static_cast<unsigned long long>(s.locked_bytes + s.lock_refused_bytes));
  if (s.lock_limit_bytes == UINT64_MAX)
    fputs("the rest may be swapped\n", stderr);
  else
    fprintf(stderr, "RLIMIT_MEMLOCK is %llu bytes, raise it (ulimit -l)\n",
            static_cast<unsigned long long>(s.lock_limit_bytes));
}

void printCounters(const RunResult &result) {
  const moert_statistics &s = result.statistics;
  uint64_t uses = s.expert_hits + s.expert_misses;
  fprintf(stderr, "prefill %llu tokens, %.1f tokens/s; decode %llu tokens, %.1f tokens/s; %u threads; ended by %s\n",
          static_cast<unsigned long long>(s.tokens_prefilled), perSecond(s.tokens_prefilled, s.prefill_ns),
          static_cast<unsigned long long>(s.tokens_decoded), perSecond(s.tokens_decoded, s.decode_ns), s.threads,
          finishName(result.generated.finish_reason));
  if (result.plan.num_experts)
    fprintf(stderr, "experts: %llu hits, %llu misses (%.1f %% hits), %.1f MiB read, stalled %.1f ms; ",
            static_cast<unsigned long long>(s.expert_hits), static_cast<unsigned long long>(s.expert_misses),
            uses == 0 ? 100.0 : 100.0 * static_cast<double>(s.expert_hits) / static_cast<double>(uses),
            mebibytes(s.expert_bytes_read), static_cast<double>(s.stall_ns) / 1e6);
  if (s.predicted)
    fprintf(stderr, "guessed %llu experts, %.1f %% right, read %llu ahead, %llu of use; ",
            static_cast<unsigned long long>(s.predicted),
            100.0 * static_cast<double>(s.predicted_right) / static_cast<double>(s.predicted),
            static_cast<unsigned long long>(s.prefetch_issued),
            static_cast<unsigned long long>(s.prefetch_useful + s.prefetch_late));
  fprintf(stderr, "memory: budget %.1f MiB, plan %.1f MiB, accounted %.1f MiB, process grew by %.1f MiB\n",
          mebibytes(result.plan.budget_bytes), mebibytes(result.plan.planned_bytes), mebibytes(s.ledger_peak_bytes),
          mebibytes(result.peakBytes > result.baselineBytes ? result.peakBytes - result.baselineBytes : 0));
  if (result.generated.slides)
    fprintf(stderr, "the context slid %llu times\n", static_cast<unsigned long long>(result.generated.slides));
  if (s.tokens_replayed)
    fprintf(stderr, "computed again: %llu tokens\n", static_cast<unsigned long long>(s.tokens_replayed));
  printSlow(result.slow);
}

} // namespace moerun
