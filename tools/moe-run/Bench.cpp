// SPDX-License-Identifier: Apache-2.0
/// \file
/// Measures prefill and decode separately: each repetition starts from an empty session, feeds the tokens of the depth
/// without counting them, then times the rest. Token ids are random with a fixed seed, so that two runs do the same
/// work. Every number that is printed was measured by this run.
#include "tools/moe-run/Bench.h"

#include "tools/moe-run/Interrupt.h"
#include "tools/moe-run/Library.h"
#include "tools/moe-run/Process.h"
#include "tools/moe-run/Report.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

namespace moerun {

namespace {

/// SplitMix64: the numbers are the same on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

private:
  uint64_t state;
};

/// One line of the result: `count` tokens, timed `repetitions` times.
struct Measurement {
  bool isPrefill = false;
  uint64_t count = 0, depth = 0;
  Array<double> rates; // tokens per second
  double mean = 0, deviation = 0;
  uint64_t hits = 0, misses = 0, bytesRead = 0, stallNs = 0; // of all repetitions

  bool finish() {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < rates.size(); ++i)
      sum += rates.data()[i];
    mean = sum / static_cast<double>(rates.size());
    for (size_t i = 0; i < rates.size(); ++i)
      squares += (rates.data()[i] - mean) * (rates.data()[i] - mean);
    deviation = rates.size() > 1 ? sqrt(squares / static_cast<double>(rates.size() - 1)) : 0;
    return true;
  }
};

uint64_t nowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

class Bench : OpenModel {
public:
  explicit Bench(const Options &options) : options(options), random(options.seed) {}

  int run();

private:
  bool open();
  bool chooseCounts();
  bool fillIds();
  bool warmUp();
  bool measureOne(Measurement &measurement);
  bool repeat(Measurement &measurement, uint64_t &elapsedNs);
  bool statistics(moert_statistics &now);
  bool ended(moert_status status);
  void printTable() const;
  void printObject() const;

  const Options &options;
  Random random;
  moert_model_info info = {};
  moert_plan_info plan = {};
  moert_statistics last = {};
  moert_error error = {};
  Array<int32_t> ids;
  Measurement tests[2];
  Measurement &prefill = tests[0], &decode = tests[1];
  int exitCode = kExitFault;
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
bool Bench::chooseCounts() {
  prefill.isPrefill = true;
  prefill.depth = decode.depth = options.benchDepth;
  prefill.count = options.benchPrompt;
  decode.count = options.benchTokens;
  // Decode continues something: at least one token stands before it.
  if (decode.count != 0 && decode.depth == 0)
    decode.depth = 1;
  for (Measurement &m : tests) {
    uint64_t free = info.context > m.depth ? info.context - m.depth : 0;
    bool wasGiven = m.isPrefill ? options.hasBenchPrompt : options.hasBenchTokens;
    if (m.count != 0 && free == 0 && options.benchDepth != 0) {
      exitCode = kExitUsage;
      return usageError("-d expects a number of tokens from 0 to %u, less than the context, but got %llu",
                        info.context - 1, static_cast<unsigned long long>(options.benchDepth));
    }
    if (m.count != 0 && (free == 0 || (wasGiven && m.count > free))) {
      exitCode = kExitUsage;
      return usageError("%s %llu behind a depth of %llu needs a context of %llu, the model has %u; lower %s or -d",
                        m.isPrefill ? "-p" : "-n", static_cast<unsigned long long>(m.count),
                        static_cast<unsigned long long>(m.depth), static_cast<unsigned long long>(m.count + m.depth),
                        info.context, m.isPrefill ? "-p" : "-n");
    }
    m.count = m.count > free ? free : m.count;
  }
  if (options.chunk > info.max_chunk) {
    exitCode = kExitUsage;
    return usageError("--chunk expects a number from 1 to %u (the compiled chunk), but got %llu", info.max_chunk,
                      static_cast<unsigned long long>(options.chunk));
  }
  return true;
}

bool Bench::fillIds() {
  uint64_t count = prefill.depth + prefill.count, other = decode.depth + decode.count;
  count = count > other ? count : other;
  if (!ids.reserve(count))
    return printError("out of memory for %llu tokens", static_cast<unsigned long long>(count));
  for (uint64_t i = 0; i < count; ++i)
    ids.data()[i] = static_cast<int32_t>(random.next() % info.vocab_size);
  ids.setSize(count);
  return true;
}

/// Touches code and memory, and lets the processor raise its clock.
bool Bench::warmUp() {
  uint64_t some = ids.size() < 8 ? ids.size() : 8;
  return (some < 2 || ended(api->prefill(session, ids.data(), some - 1, 0, nullptr, nullptr, &error))) &&
         ended(api->decode(session, ids.data()[some - 1], &error));
}

bool Bench::statistics(moert_statistics &now) { return ended(api->statistics(model, &now, &error)); }

bool Bench::repeat(Measurement &m, uint64_t &elapsedNs) {
  const int32_t *next = ids.data() + m.depth;
  uint32_t chunk = static_cast<uint32_t>(options.chunk);
  if (!ended(api->session_reset(session, &error)) ||
      (m.depth != 0 && !ended(api->prefill(session, ids.data(), m.depth, chunk, nullptr, nullptr, &error))))
    return false;
  moert_statistics before = {};
  if (!statistics(before))
    return false;
  uint64_t start = nowNs();
  if (m.isPrefill) {
    if (!ended(api->prefill(session, next, m.count, chunk, nullptr, nullptr, &error)))
      return false;
  } else {
    for (uint64_t i = 0; i < m.count; ++i)
      if (!ended(api->decode(session, next[i], &error)))
        return false;
  }
  elapsedNs = nowNs() - start;
  if (!statistics(last))
    return false;
  m.hits += last.expert_hits - before.expert_hits;
  m.misses += last.expert_misses - before.expert_misses;
  m.bytesRead += last.expert_bytes_read - before.expert_bytes_read;
  m.stallNs += last.stall_ns - before.stall_ns;
  return true;
}

bool Bench::measureOne(Measurement &m) {
  if (m.count == 0)
    return true;
  for (uint64_t i = 0; i < options.benchRepetitions; ++i) {
    uint64_t elapsedNs = 0;
    if (!repeat(m, elapsedNs))
      return false;
    double rate = static_cast<double>(m.count) * 1e9 / static_cast<double>(elapsedNs ? elapsedNs : 1);
    if (!m.rates.append(&rate, 1))
      return printError("out of memory");
  }
  return m.finish();
}

void Bench::printTable() const {
  printf("%s for %s, %u threads, budget %.1f MiB, %llu of %llu experts fit, direct reads %s, %llu repetitions\n",
         info.name, info.target, last.threads, static_cast<double>(plan.budget_bytes) / 1048576.0,
         static_cast<unsigned long long>(plan.num_slots), static_cast<unsigned long long>(plan.num_experts),
         last.direct_io ? "yes" : "no", static_cast<unsigned long long>(options.benchRepetitions));
  printf("%-18s %24s %10s %10s %12s\n", "test", "tokens/s (measured)", "hits", "misses", "stall ms");
  for (const Measurement &m : tests) {
    if (m.count == 0)
      continue;
    char name[48], rate[48];
    snprintf(name, sizeof(name), "%s %llu @ %llu", m.isPrefill ? "pp" : "tg", static_cast<unsigned long long>(m.count),
             static_cast<unsigned long long>(m.depth));
    snprintf(rate, sizeof(rate), "%.2f +- %.2f", m.mean, m.deviation);
    printf("%-18s %24s %10llu %10llu %12.1f\n", name, rate, static_cast<unsigned long long>(m.hits),
           static_cast<unsigned long long>(m.misses), static_cast<double>(m.stallNs) / 1e6);
  }
}

void Bench::printObject() const {
  fputs("{\"label\": \"measured\", \"model\": ", stdout);
  printJsonText(info.name, strlen(info.name));
  fputs(", \"target\": ", stdout);
  printJsonText(info.target, strlen(info.target));
  printf(", \"threads\": %u, \"budget_bytes\": %llu, \"slots\": %llu, \"experts\": %llu, \"direct_io\": %s, "
         "\"repetitions\": %llu, \"seed\": %llu, \"peak_rss_bytes\": %llu, \"tests\": [",
         last.threads, static_cast<unsigned long long>(plan.budget_bytes),
         static_cast<unsigned long long>(plan.num_slots), static_cast<unsigned long long>(plan.num_experts),
         last.direct_io ? "true" : "false", static_cast<unsigned long long>(options.benchRepetitions),
         static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(peakResidentBytes()));
  const char *separator = "";
  for (const Measurement &m : tests) {
    if (m.count == 0)
      continue;
    printf("%s{\"test\": \"%s\", \"tokens\": %llu, \"depth\": %llu, \"tokens_per_s_mean\": %.4f, "
           "\"tokens_per_s_deviation\": %.4f, \"tokens_per_s\": [",
           separator, m.isPrefill ? "prefill" : "decode", static_cast<unsigned long long>(m.count),
           static_cast<unsigned long long>(m.depth), m.mean, m.deviation);
    for (size_t i = 0; i < m.rates.size(); ++i)
      printf("%s%.4f", i == 0 ? "" : ", ", m.rates.data()[i]);
    printf("], \"expert_hits\": %llu, \"expert_misses\": %llu, \"expert_bytes_read\": %llu, \"stall_ms\": %.3f}",
           static_cast<unsigned long long>(m.hits), static_cast<unsigned long long>(m.misses),
           static_cast<unsigned long long>(m.bytesRead), static_cast<double>(m.stallNs) / 1e6);
    separator = ", ";
  }
  fputs("]}\n", stdout);
}

int Bench::run() {
  if (!open() || !chooseCounts() || !fillIds())
    return exitCode;
  watchInterrupts(api, session);
  if (!warmUp() || !measureOne(prefill) || !measureOne(decode))
    return exitCode;
  options.json ? printObject() : printTable();
  if (fflush(stdout) != 0 || ferror(stdout)) {
    printError("cannot write to stdout");
    return kExitFault;
  }
  return kExitRight;
}

} // namespace

int measure(const Options &options) { return Bench(options).run(); }

} // namespace moerun
