// SPDX-License-Identifier: Apache-2.0
/// \file
/// The command line of moe-run. Main source: docs/command-line.md.
#ifndef TOOLS_MOE_RUN_OPTIONS_H
#define TOOLS_MOE_RUN_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

namespace moerun {

/// What the program ends with.
enum ExitCode { kExitRight = 0, kExitFault = 1, kExitUsage = 2, kExitDegraded = 3 };

/// Numbers that commas separate.
struct CountList {
  static constexpr size_t kMost = 16;
  uint64_t values[kMost];
  size_t count;
};

/// A value of 0 or null means that the flag was not given, where no `has` field says so.
struct Options {
  const char *libraryPath = nullptr;
  const char *packPath = nullptr;
  const char *prompt = nullptr;
  const char *promptFile = nullptr;
  const char *ids = nullptr;
  const char *logitsPath = nullptr;
  const char *tracePath = nullptr;
  const char *eviction = nullptr;
  const char *cpus = nullptr;
  const char *onFull = nullptr;
  const char *prediction = nullptr;
  const char *system = nullptr;
  const char *root = nullptr;
  uint64_t maxTokens = 128;
  uint64_t seed = 0;
  uint64_t topK = 0;
  uint64_t memoryBytes = 0;
  uint64_t packOffset = 0;
  uint64_t packBytes = 0;
  uint64_t threads = 0; // 0: automatic
  uint64_t expertsUsed = 0;
  uint64_t sinks = 0;
  uint64_t chunk = 0;
  uint64_t context = 0;
  uint64_t window = 0;
  uint64_t keep = 0;
  uint64_t lanes = 0;
  uint64_t delayReadsUs = 0;
  uint64_t stateCheckpoints = 0;
  uint64_t rewindAfter = 0;
  uint64_t rewindBy = 0;
  double temperature = 0;
  double topP = 0;
  double minP = 0;
  bool hasTemperature = false;
  bool hasTopK = false;
  bool hasTopP = false;
  bool hasMinP = false;
  bool hasKeep = false;
  bool hasSinks = false;
  bool hasMaxTokens = false;
  bool hasStateCheckpoints = false;
  bool hasPackOffset = false;
  bool hasPackBytes = false;
  bool bufferedReads = false;
  bool preload = false;
  bool lock = false;
  bool greedy = false;
  bool json = false;
  bool special = false;
  bool chat = false;
  bool think = false;
  bool noThink = false;
  bool quiet = false;
  bool help = false;
  bool doctor = false;
  bool bench = false;
  /// Of --bench: tokens of the prompt, tokens generated, tokens in the session before, threads (0: automatic),
  /// repetitions, bytes that the memory delivers in a second (0: not given).
  CountList benchPrompts{{512}, 1};
  CountList benchTokens{{128}, 1};
  CountList benchDepths{{0}, 1};
  CountList benchThreads{{0}, 1};
  uint64_t benchRepetitions = 5;
  uint64_t benchBandwidth = 0;
  bool hasBenchPrompt = false;
  bool hasBenchTokens = false;
  bool hasBenchThreads = false;
  bool hasBenchOther = false;
  bool slides() const;
  /// --chat without a prompt.
  bool converses() const { return chat && !prompt && !promptFile; }
  /// The command line, for messages that repeat it.
  int numArguments = 0;
  char **arguments = nullptr;
};

/// False after a message that names the flag and its valid values.
bool parseOptions(int argc, char **argv, Options &options);

void printHelp();

/// "10.5GB" to bytes: KB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB of 1024; no unit or B is bytes.
bool parseSize(const char *text, uint64_t *sizeBytes);

} // namespace moerun
#endif
