// SPDX-License-Identifier: Apache-2.0
/// \file
/// Measures prefill and decode separately: each repetition starts behind the tokens of the depth, which are fed without
/// counting them and stay from one repetition to the next, and times the rest. Token ids are random with a fixed seed,
/// so that two runs do the same work. Every number that is printed was measured by this run.
#include "tools/moe-run/Bench.h"

#include "tools/moe-run/Interrupt.h"
#include "tools/moe-run/Library.h"
#include "tools/moe-run/Process.h"
#include "tools/moe-run/Report.h"
#include "tools/moe-run/Slow.h"
#include "tools/moe-run/doctor/Machine.h"

#include "moert/SplitMix64.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

namespace moerun {

namespace {

/// One line of the result: `count` tokens, timed `repetitions` times.
struct Measurement {
  bool isPrefill;
  uint32_t threads;
  uint64_t count, depth;
  size_t firstRate; // of tokens per second, in Bench::rates
  double mean, deviation;
  uint64_t hits, misses, bytesRead, stallNs, joins; // of all repetitions
  double bytesPerToken;                             // 0: not known, or prefill
};

uint64_t nowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// The number behind `key` in a compile report, from `text` on; 0 if there is none. The writer puts `"key": number`.
uint64_t reportNumber(const char *text, const char *key) {
  char quoted[64];
  snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
  const char *found = text ? strstr(text, quoted) : nullptr;
  return found ? strtoull(found + strlen(quoted), nullptr, 10) : 0;
}

/// All measurements with one number of threads.
class Bench : public OpenModel {
public:
  Bench(const Options &options, Array<Measurement> &tests, Array<double> &rates)
      : options(options), tests(tests), rates(rates), random(options.seed) {}

  /// Measures everything; without --json each line is printed as it comes. False after a message.
  bool run(bool isFirst);
  void printObject() const;
  void printCauses() const;
  int exitCode = kExitFault;

private:
  bool open();
  bool fillIds();
  bool warmUp();
  bool fit(Measurement &test, bool wasGiven);
  template <typename Visit> bool forEachTest(Visit visit);
  bool measureOne(Measurement &test);
  bool goToDepth(uint64_t depth);
  bool repeat(Measurement &test, uint64_t &elapsedNs);
  bool statistics(moert_statistics &now);
  bool ended(moert_status status);
  double bytesOf(const Measurement &test) const;
  double shareOf(const Measurement &test) const;
  void printHead() const;
  void printRow(const Measurement &test) const;
  void printObjectRow(const Measurement &test) const;

  const Options &options;
  Array<Measurement> &tests;
  Array<double> &rates;
  uint64_t random; // state of moert_split_mix_64
  moert_model_info info = {};
  moert_plan_info plan = {};
  moert_statistics last = {};
  moert_error error = {};
  Array<int32_t> ids;
};

bool Bench::ended(moert_status status) {
  if (status == MOERT_STATUS_OK)
    return true;
  if (status == MOERT_STATUS_CANCELLED)
    exitCode = kExitDegraded;
  return printError("%s", error.message[0] ? error.message : api->status_name(status));
}

bool Bench::open() {
  if (!openModel(options, error, exitCode))
    return false;
  return ended(api->model_info(model, &info, &error)) && ended(api->model_plan(model, &plan, &error)) &&
         ended(api->session_create(model, &session, &error));
}

/// A default shrinks to the context; a number that was asked for does not.
bool Bench::fit(Measurement &test, bool wasGiven) {
  uint64_t free = info.context > test.depth ? info.context - test.depth : 0;
  // Without a depth the one token that stands before decode is ours.
  bool isOwnDepth = !test.isPrefill && test.depth == 1;
  if (free == 0 && !isOwnDepth) {
    exitCode = kExitUsage;
    return usageError("-d expects a number of tokens from 0 to %u, less than the context, but got %llu",
                      info.context - 1, static_cast<unsigned long long>(test.depth));
  }
  if (free == 0 || (wasGiven && test.count > free)) {
    exitCode = kExitUsage;
    return usageError("%s %llu behind a depth of %llu needs a context of %llu, the model has %u; lower %s or -d",
                      test.isPrefill ? "-p" : "-n", static_cast<unsigned long long>(test.count),
                      static_cast<unsigned long long>(test.depth),
                      static_cast<unsigned long long>(test.count + test.depth), info.context,
                      test.isPrefill ? "-p" : "-n");
  }
  test.count = test.count > free ? free : test.count;
  return true;
}

bool Bench::fillIds() {
  if (options.chunk > info.max_chunk) {
    exitCode = kExitUsage;
    return usageError("--chunk expects a number from 1 to %u (the compiled chunk), but got %llu", info.max_chunk,
                      static_cast<unsigned long long>(options.chunk));
  }
  if (!ids.reserve(info.context))
    return printError("out of memory for %u tokens", info.context);
  for (uint32_t i = 0; i < info.context; ++i)
    ids.data()[i] = static_cast<int32_t>(moert_split_mix_64(&random) % info.vocab_size);
  ids.setSize(info.context);
  return true;
}

/// Touches code and memory, and lets the processor raise its clock.
bool Bench::warmUp() {
  uint64_t some = ids.size() < 8 ? ids.size() : 8;
  return (some < 2 || ended(api->prefill(session, ids.data(), some - 1, 0, nullptr, nullptr, &error))) &&
         ended(api->decode(session, ids.data()[some - 1], &error));
}

bool Bench::statistics(moert_statistics &now) { return ended(api->statistics(model, &now, &error)); }

/// Leaves the session with the first `depth` tokens, of which it keeps what it holds. The last is fed here, not by what
/// is timed next: so KV cache and recurrent state are complete.
bool Bench::goToDepth(uint64_t depth) {
  uint64_t length = api->session_length(session);
  if (depth == 0)
    return ended(api->session_reset(session, &error));
  if (length >= depth) {
    length = depth - 1;
    if (!ended(api->session_rewind(session, length, &error)))
      return false;
  }
  return ended(api->prefill(session, ids.data() + length, depth - length, static_cast<uint32_t>(options.chunk), nullptr,
                            nullptr, &error));
}

bool Bench::repeat(Measurement &test, uint64_t &elapsedNs) {
  const int32_t *next = ids.data() + test.depth;
  moert_statistics before = {};
  if (!goToDepth(test.depth) || !statistics(before))
    return false;
  uint64_t start = nowNs();
  if (test.isPrefill) {
    if (!ended(api->prefill(session, next, test.count, static_cast<uint32_t>(options.chunk), nullptr, nullptr, &error)))
      return false;
  } else {
    for (uint64_t i = 0; i < test.count; ++i)
      if (!ended(api->decode(session, next[i], &error)))
        return false;
  }
  elapsedNs = nowNs() - start;
  if (!statistics(last))
    return false;
  test.hits += last.expert_hits - before.expert_hits;
  test.misses += last.expert_misses - before.expert_misses;
  test.bytesRead += last.expert_bytes_read - before.expert_bytes_read;
  test.stallNs += last.stall_ns - before.stall_ns;
  test.joins += last.joins - before.joins;
  return true;
}

/// Bytes that one of the decoded tokens needs on average, by the compiler's count; 0 if its report has none.
double Bench::bytesOf(const Measurement &test) const {
  const char *report = info.report_json, *token = report ? strstr(report, "\"token_bytes\":") : nullptr;
  if (test.isPrefill || !token)
    return 0;
  uint64_t window = options.window ? options.window : reportNumber(report, "window");
  uint64_t sinks = options.hasSinks ? options.sinks : reportNumber(report, "sinks");
  double positions = 0;
  for (uint64_t i = 1; i <= test.count; ++i) {
    uint64_t seen = test.depth + i;
    positions += static_cast<double>(window && seen > window + sinks ? window + sinks : seen);
  }
  double unused = info.top_k ? 1.0 - static_cast<double>(info.experts_used) / static_cast<double>(info.top_k) : 0.0;
  return static_cast<double>(reportNumber(token, "weights")) -
         unused * static_cast<double>(reportNumber(token, "experts")) +
         static_cast<double>(reportNumber(token, "kv_per_position")) * positions / static_cast<double>(test.count) +
         static_cast<double>(reportNumber(token, "state"));
}

double Bench::shareOf(const Measurement &test) const {
  return options.benchBandwidth ? test.mean * test.bytesPerToken / static_cast<double>(options.benchBandwidth) : 0;
}

bool Bench::measureOne(Measurement &test) {
  test.firstRate = rates.size();
  double sum = 0, squares = 0, repetitions = static_cast<double>(options.benchRepetitions);
  for (uint64_t i = 0; i < options.benchRepetitions; ++i) {
    uint64_t elapsedNs = 0;
    if (!repeat(test, elapsedNs))
      return false;
    double rate = static_cast<double>(test.count) * 1e9 / static_cast<double>(elapsedNs ? elapsedNs : 1);
    sum += rate;
    if (!rates.append(&rate, 1))
      return printError("out of memory");
  }
  test.mean = sum / repetitions;
  for (size_t i = test.firstRate; i < rates.size(); ++i)
    squares += (rates.data()[i] - test.mean) * (rates.data()[i] - test.mean);
  test.deviation = options.benchRepetitions > 1 ? sqrt(squares / (repetitions - 1)) : 0;
  test.threads = last.threads;
  test.bytesPerToken = bytesOf(test);
  return true;
}

/// All tests in their order, fitted to the context; false as soon as `visit` is.
template <typename Visit> bool Bench::forEachTest(Visit visit) {
  for (size_t d = 0; d < options.benchDepths.count; ++d)
    for (int kind = 0; kind < 2; ++kind) {
      bool isPrefill = kind == 0;
      const CountList &counts = isPrefill ? options.benchPrompts : options.benchTokens;
      for (size_t i = 0; i < counts.count; ++i) {
        if (counts.values[i] == 0)
          continue;
        Measurement test = {};
        test.isPrefill = isPrefill;
        test.count = counts.values[i];
        // Decode continues something: at least one token stands before it.
        test.depth = !isPrefill && options.benchDepths.values[d] == 0 ? 1 : options.benchDepths.values[d];
        if (!fit(test, isPrefill ? options.hasBenchPrompt : options.hasBenchTokens) || !visit(test))
          return false;
      }
    }
  return true;
}

void Bench::printHead() const {
  printf("%s for %s, budget %.1f MiB, %llu of %llu experts fit, %llu repetitions\n", info.name, info.target,
         static_cast<double>(plan.budget_bytes) / 1048576.0, static_cast<unsigned long long>(plan.num_slots),
         static_cast<unsigned long long>(plan.num_experts), static_cast<unsigned long long>(options.benchRepetitions));
  printf("%-16s %7s %22s %9s %9s%s %9s %9s %9s\n", "test", "threads", "tokens/s (measured)", "joins/tok", "MB/tok",
         options.benchBandwidth ? "  of memory" : "", "hits", "misses", "stall ms");
}

void Bench::printRow(const Measurement &test) const {
  char name[48], rate[48], bytes[32] = "", share[32] = "";
  snprintf(name, sizeof(name), "%s %llu @ %llu", test.isPrefill ? "pp" : "tg",
           static_cast<unsigned long long>(test.count), static_cast<unsigned long long>(test.depth));
  snprintf(rate, sizeof(rate), "%.2f +- %.2f", test.mean, test.deviation);
  if (test.bytesPerToken > 0)
    snprintf(bytes, sizeof(bytes), "%.1f", test.bytesPerToken / 1e6);
  if (test.bytesPerToken > 0 && options.benchBandwidth)
    snprintf(share, sizeof(share), "%.1f %%", 100 * shareOf(test));
  printf("%-16s %7u %22s %9.1f %9s", name, test.threads, rate,
         static_cast<double>(test.joins) / static_cast<double>(test.count * options.benchRepetitions), bytes);
  if (options.benchBandwidth)
    printf(" %10s", share);
  printf(" %9llu %9llu %9.1f\n", static_cast<unsigned long long>(test.hits),
         static_cast<unsigned long long>(test.misses), static_cast<double>(test.stallNs) / 1e6);
  fflush(stdout);
}

void Bench::printObjectRow(const Measurement &test) const {
  printf("{\"test\": \"%s\", \"tokens\": %llu, \"depth\": %llu, \"threads\": %u, \"tokens_per_s_mean\": %.4f, "
         "\"tokens_per_s_deviation\": %.4f, \"tokens_per_s\": [",
         test.isPrefill ? "prefill" : "decode", static_cast<unsigned long long>(test.count),
         static_cast<unsigned long long>(test.depth), test.threads, test.mean, test.deviation);
  for (size_t i = 0; i < options.benchRepetitions; ++i)
    printf("%s%.4f", i == 0 ? "" : ", ", rates.data()[test.firstRate + i]);
  printf("], \"joins_per_token\": %.3f, ",
         static_cast<double>(test.joins) / static_cast<double>(test.count * options.benchRepetitions));
  if (test.bytesPerToken > 0) {
    printf("\"bytes_per_token\": %.0f, ", test.bytesPerToken);
    if (options.benchBandwidth)
      printf("\"bandwidth_share\": %.4f, ", shareOf(test));
  }
  printf("\"expert_hits\": %llu, \"expert_misses\": %llu, \"expert_bytes_read\": %llu, \"stall_ms\": %.3f}",
         static_cast<unsigned long long>(test.hits), static_cast<unsigned long long>(test.misses),
         static_cast<unsigned long long>(test.bytesRead), static_cast<double>(test.stallNs) / 1e6);
}

void Bench::printCauses() const { printSlow(slowCauses(last, options.root)); }

/// What the tests share; `threads` is that of the last.
void Bench::printObject() const {
  fputs("{\"label\": \"measured\", \"model\": ", stdout);
  printJsonText(info.name, strlen(info.name));
  fputs(", \"target\": ", stdout);
  printJsonText(info.target, strlen(info.target));
  printf(", \"threads\": %u, \"budget_bytes\": %llu, \"slots\": %llu, \"experts\": %llu, \"direct_io\": %s, "
         "\"repetitions\": %llu, \"seed\": %llu, \"peak_rss_bytes\": %llu, ",
         last.threads, static_cast<unsigned long long>(plan.budget_bytes),
         static_cast<unsigned long long>(plan.num_slots), static_cast<unsigned long long>(plan.num_experts),
         last.direct_io ? "true" : "false", static_cast<unsigned long long>(options.benchRepetitions),
         static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(peakResidentBytes()));
  if (options.benchBandwidth)
    printf("\"bandwidth_bytes_per_s\": %llu, ", static_cast<unsigned long long>(options.benchBandwidth));
  printSlowJson(slowCauses(last, options.root));
  fputs(", \"tests\": [", stdout);
  for (size_t i = 0; i < tests.size(); ++i) {
    fputs(i ? ", " : "", stdout);
    printObjectRow(tests.data()[i]);
  }
  fputs("]}\n", stdout);
}

bool Bench::run(bool isFirst) {
  if (!open() || !fillIds() || !forEachTest([](Measurement &) { return true; }))
    return false;
  watchInterrupts(api, session);
  if (isFirst && !options.json)
    printHead();
  return warmUp() && forEachTest([this](Measurement &test) {
           if (!measureOne(test))
             return false;
           if (!options.json)
             printRow(test);
           return tests.append(&test, 1) || printError("out of memory");
         });
}

} // namespace

int measure(const Options &options) {
  Array<Measurement> tests;
  Array<double> rates;
  if (!checkRoot(options.root))
    return kExitFault;
  for (size_t i = 0; i < options.benchThreads.count; ++i) {
    Options now = options;
    if (options.hasBenchThreads)
      now.threads = options.benchThreads.values[i];
    Bench bench(now, tests, rates);
    if (!bench.run(i == 0) || !bench.finishTrace())
      return bench.exitCode;
    if (!options.json && !options.quiet)
      bench.printCauses();
    if (options.json && i + 1 == options.benchThreads.count)
      bench.printObject();
  }
  if (fflush(stdout) != 0 || ferror(stdout)) {
    printError("cannot write to stdout");
    return kExitFault;
  }
  return kExitRight;
}

} // namespace moerun
