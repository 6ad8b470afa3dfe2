// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parsing of the command line of moe-run: one table of flags.
#include "tools/moe-run/Options.h"

#include "moert/moert.h"
#include "tools/moe-run/Message.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

namespace moerun {

namespace {

static_assert(MOERT_MAX_THREADS == 64 && MOERT_MAX_READER_LANES == 16 && MOERT_DEFAULT_READER_LANES == 3,
              "the texts below name them");

enum class Kind { Switch, Text, Choice, Count, AutoCount, CountList, Real, Size };

struct Flag {
  const char *name;
  Kind kind;
  void *value;
  double least, most; // Count, AutoCount, CountList and Real
  const char *valid;  // "expects ..."
  bool *given;
  bool isSeen = false;
};

/// The number with which `text` begins, and what is behind it; null without one.
const char *parseNumber(const char *text, uint64_t *value) {
  if (*text < '0' || *text > '9')
    return nullptr;
  char *end = nullptr;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return errno == 0 ? end : nullptr;
}

bool parseCount(const char *text, uint64_t *value) {
  const char *end = parseNumber(text, value);
  return end && *end == '\0';
}

bool parseCountList(const char *text, double least, double most, CountList *list) {
  for (list->count = 0; list->count < CountList::kMost; ++text) {
    uint64_t &value = list->values[list->count++];
    text = parseNumber(text, &value);
    if (!text || static_cast<double>(value) < least || static_cast<double>(value) > most)
      return false;
    if (*text != ',')
      return *text == '\0';
  }
  return false;
}

bool parseReal(const char *text, double *value) {
  if (!strchr("0123456789.", *text) || strpbrk(text, "xXnN"))
    return false;
  char *end = nullptr;
  *value = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*value);
}

/// Whether `text` is one of the words that " or " separates.
bool isChoice(const char *choices, const char *text) {
  size_t length = strlen(text);
  const char *separator = " or ";
  for (const char *word = choices; word;) {
    const char *end = strstr(word, separator);
    if (length && length == (end ? static_cast<size_t>(end - word) : strlen(word)) && memcmp(word, text, length) == 0)
      return true;
    word = end ? end + strlen(separator) : nullptr;
  }
  return false;
}

bool setValue(const Flag &flag, const char *text) {
  switch (flag.kind) {
  case Kind::Switch:
    return false;
  case Kind::Text:
    *static_cast<const char **>(flag.value) = text;
    return true;
  case Kind::Size: {
    uint64_t *bytes = static_cast<uint64_t *>(flag.value);
    return parseSize(text, bytes) && *bytes != 0;
  }
  case Kind::Choice:
    if (!isChoice(flag.valid, text))
      return false;
    *static_cast<const char **>(flag.value) = text;
    return true;
  case Kind::AutoCount:
    if (strcmp(text, "auto") == 0) {
      *static_cast<uint64_t *>(flag.value) = 0;
      return true;
    }
    [[fallthrough]];
  case Kind::Count: {
    uint64_t count = 0;
    // The largest bound is 2^64, which as a double is exact and admits every uint64_t.
    if (!parseCount(text, &count) || static_cast<double>(count) < flag.least || static_cast<double>(count) > flag.most)
      return false;
    *static_cast<uint64_t *>(flag.value) = count;
    return true;
  }
  case Kind::CountList:
    return parseCountList(text, flag.least, flag.most, static_cast<CountList *>(flag.value));
  case Kind::Real: {
    double real = 0;
    if (!parseReal(text, &real) || real < flag.least || real > flag.most)
      return false;
    *static_cast<double *>(flag.value) = real;
    return true;
  }
  }
  return false;
}

/// Handles argv[*index] (and its value); false after a message.
bool parseFlag(Flag *flags, size_t numFlags, int argc, char **argv, int *index) {
  const char *argument = argv[*index];
  const char *equals = strchr(argument, '=');
  size_t nameLength = equals ? static_cast<size_t>(equals - argument) : strlen(argument);
  for (size_t i = 0; i < numFlags; ++i) {
    Flag &flag = flags[i];
    if (strlen(flag.name) != nameLength || strncmp(flag.name, argument, nameLength) != 0)
      continue;
    if (flag.isSeen)
      return usageError("%s is given twice", flag.name);
    flag.isSeen = true;
    if (flag.given)
      *flag.given = true;
    if (flag.kind == Kind::Switch) {
      if (equals)
        return usageError("%s takes no value, but got '%s'", flag.name, equals + 1);
      *static_cast<bool *>(flag.value) = true;
      return true;
    }
    if (!equals && *index + 1 >= argc)
      return usageError("%s expects %s, but stands last", flag.name, flag.valid);
    const char *text = equals ? equals + 1 : argv[++*index];
    if (!setValue(flag, text))
      return usageError("%s expects %s, but got '%s'", flag.name, flag.valid, text);
    return true;
  }
  return usageError("unknown flag '%s'; moe-run --help lists the flags", argument);
}

bool checkChat(const Options &options) {
  if (!options.chat && (options.system || options.think || options.noThink))
    return usageError("%s needs --chat", options.system ? "--system" : options.think ? "--think" : "--no-think");
  if (options.think && options.noThink)
    return usageError("--think and --no-think exclude each other");
  if (options.chat && (options.ids || options.special))
    return usageError("--chat and %s exclude each other", options.ids ? "--ids" : "--special");
  if (!options.converses())
    return true;
  const char *other = options.json         ? "--json"
                      : options.logitsPath ? "--logits"
                      : options.rewindBy   ? "--rewind-after"
                      : options.slides()   ? "--on-full slide"
                                           : nullptr;
  return !other || usageError("--chat without a prompt is a conversation on the terminal and takes no %s", other);
}

bool hasTokens(const CountList &list) {
  for (size_t i = 0; i < list.count; ++i)
    if (list.values[i])
      return true;
  return false;
}

bool checkCombinations(const Options &options) {
  if (!options.libraryPath)
    return usageError("expects the path of a compiled model, such as moe-run model.so --prompt \"Once upon a time\"");
  int numPrompts = (options.prompt != nullptr) + (options.promptFile != nullptr) + (options.ids != nullptr);
  if (options.hasKeep && !options.slides())
    return usageError("--keep needs --on-full slide");
  if (options.doctor && options.bench)
    return usageError("--doctor and --bench exclude each other");
  if (options.root && options.converses())
    return usageError("--root belongs to --doctor, --bench and a single run, not to a conversation");
  if (!options.bench &&
      (options.hasBenchPrompt || options.hasBenchTokens || options.hasBenchThreads || options.hasBenchOther))
    return usageError("-p, -n, -d, -t, -r and --bandwidth belong to --bench");
  if (options.tracePath && (options.doctor || options.benchThreads.count > 1))
    return usageError("--trace and %s exclude each other", options.doctor ? "--doctor" : "several -t");
  if (options.tracePath && options.logitsPath && strcmp(options.tracePath, options.logitsPath) == 0)
    return usageError("--trace and --logits name the same file '%s'", options.tracePath);
  if (options.hasBenchThreads && options.threads)
    return usageError("-t and --threads exclude each other");
  if (options.doctor || options.bench) {
    const char *mode = options.doctor ? "--doctor" : "--bench";
    if (numPrompts)
      return usageError("%s takes no --prompt and no --ids", mode);
    if (options.logitsPath || options.hasMaxTokens)
      return usageError("%s takes no %s", mode, options.logitsPath ? "--logits" : "--max-tokens");
    return hasTokens(options.benchPrompts) || hasTokens(options.benchTokens) ||
           usageError("-p and -n are both 0: nothing to measure");
  }
  if (!checkChat(options))
    return false;
  if (numPrompts == 0 && !options.chat)
    return usageError("expects --prompt TEXT, --prompt-file FILE, --ids 1,2,3, --chat, --doctor or --bench");
  if (numPrompts > 1)
    return usageError("--prompt, --prompt-file and --ids exclude each other");
  if (options.greedy && (options.hasTemperature || options.hasTopK || options.hasTopP || options.hasMinP))
    return usageError("--greedy and --temperature, --top-k, --top-p or --min-p exclude each other");
  if (!options.rewindAfter != !options.rewindBy)
    return usageError("--rewind-after and --rewind-by need each other");
  if (options.rewindBy > options.rewindAfter)
    return usageError("--rewind-by expects at most the %llu tokens of --rewind-after, but got %llu",
                      static_cast<unsigned long long>(options.rewindAfter),
                      static_cast<unsigned long long>(options.rewindBy));
  if (options.maxTokens && options.rewindAfter > options.maxTokens)
    return usageError("--rewind-after expects at most the %llu tokens of --max-tokens, but got %llu",
                      static_cast<unsigned long long>(options.maxTokens),
                      static_cast<unsigned long long>(options.rewindAfter));
  if (options.rewindBy && (options.logitsPath || options.slides()))
    return usageError("--rewind-after and %s exclude each other", options.logitsPath ? "--logits" : "--on-full slide");
  if (options.slides() && options.maxTokens == 0)
    return usageError("--on-full slide needs --max-tokens from 1: a context that slides never ends a generation");
  return true;
}

} // namespace

bool Options::slides() const { return onFull && strcmp(onFull, "slide") == 0; }

bool parseSize(const char *text, uint64_t *sizeBytes) {
  static const struct {
    const char *name;
    uint64_t factor;
  } kUnits[] = {{"", 1},
                {"B", 1},
                {"KB", 1000},
                {"MB", 1000000},
                {"GB", 1000000000},
                {"TB", 1000000000000},
                {"KiB", 1024},
                {"MiB", 1024 * 1024},
                {"GiB", 1024ull * 1024 * 1024},
                {"TiB", 1024ull * 1024 * 1024 * 1024}};
  // The digits are kept as a whole number of 10^-numDecimals, so that no rounding enters.
  uint64_t digits = 0, scale = 1;
  bool any = false, point = false;
  for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); ++text) {
    if (*text == '.') {
      point = true;
      continue;
    }
    if (digits > 999999999999999999u / 10 || (point && scale > 1000000000u))
      return false;
    digits = digits * 10 + static_cast<uint64_t>(*text - '0');
    scale *= point ? 10 : 1;
    any = true;
  }
  while (*text == ' ')
    ++text;
  for (const auto &unit : kUnits) {
    if (strcasecmp(text, unit.name) != 0)
      continue;
    // Multiplied by 1000 or 1024 at a time, so that 64 bits hold every step: scale is at most 10^10.
    uint64_t whole = digits / scale, rest = digits % scale, step = unit.factor % 1000 == 0 ? 1000 : 1024;
    bool fits = true;
    for (uint64_t factor = unit.factor; factor > 1; factor /= step) {
      fits = fits && !__builtin_mul_overflow(whole, step, &whole);
      fits = fits && !__builtin_add_overflow(whole, rest * step / scale, &whole);
      rest = rest * step % scale;
    }
    *sizeBytes = whole;
    return any && fits && whole <= INT64_MAX && (unit.factor > 1 || scale == 1);
  }
  return false;
}

bool parseOptions(int argc, char **argv, Options &options) {
  Options &o = options;
  o.numArguments = argc;
  o.arguments = argv;
  const double kMost32 = 2147483647.0, kMost63 = 9223372036854774784.0;
  const char *kSize = "a size such as 900MB, 2.5GB or 2GiB, or a number of bytes";
  Flag flags[] = {
      {"--pack", Kind::Text, &o.packPath, 0, 0, "the path of a .moepack file", nullptr},
      {"--pack-offset", Kind::Count, &o.packOffset, 0, kMost63, "a number of bytes from 0", &o.hasPackOffset},
      {"--pack-bytes", Kind::Count, &o.packBytes, 1, kMost63, "a number of bytes from 1", &o.hasPackBytes},
      {"--prompt", Kind::Text, &o.prompt, 0, 0, "a text", nullptr},
      {"--prompt-file", Kind::Text, &o.promptFile, 0, 0, "the path of a text file, or - for stdin", nullptr},
      {"--ids", Kind::Text, &o.ids, 0, 0, "token ids such as 1,2,3", nullptr},
      {"--logits", Kind::Text, &o.logitsPath, 0, 0, "the path of a .npy file", nullptr},
      {"--trace", Kind::Text, &o.tracePath, 0, 0, "the path of a file", nullptr},
      {"--eviction", Kind::Choice, &o.eviction, 0, 0, "lru or lfu or faded", nullptr},
      {"--max-tokens", Kind::Count, &o.maxTokens, 0, kMost32, "a number from 0 (until stop or context)",
       &o.hasMaxTokens},
      {"--greedy", Kind::Switch, &o.greedy, 0, 0, "", nullptr},
      {"--temperature", Kind::Real, &o.temperature, 0, 1e6, "a number from 0 (greedy) to 1000000", &o.hasTemperature},
      {"--top-k", Kind::Count, &o.topK, 0, kMost32, "a number from 0 (off)", &o.hasTopK},
      {"--top-p", Kind::Real, &o.topP, 0, 1, "a number from 0 to 1 (off)", &o.hasTopP},
      {"--min-p", Kind::Real, &o.minP, 0, 1, "a number from 0 (off) to 1", &o.hasMinP},
      {"--seed", Kind::Count, &o.seed, 0, 18446744073709551616.0, "a number from 0 to 2^64 - 1", nullptr},
      {"--memory", Kind::Size, &o.memoryBytes, 0, 0, kSize, nullptr},
      {"--threads", Kind::AutoCount, &o.threads, 1, MOERT_MAX_THREADS, "auto or a number from 1 to 64", nullptr},
      {"--cpus", Kind::Text, &o.cpus, 0, 0, "a list of CPUs such as 0-3,6", nullptr},
      {"--lock", Kind::Switch, &o.lock, 0, 0, "", nullptr},
      {"--experts-used", Kind::Count, &o.expertsUsed, 1, 1024, "a number from 1 to the experts of a token", nullptr},
      {"--on-full", Kind::Choice, &o.onFull, 0, 0, "stop or slide", nullptr},
      {"--keep", Kind::Count, &o.keep, 0, 1e6, "a number of tokens from 0", &o.hasKeep},
      {"--chunk", Kind::Count, &o.chunk, 1, kMost32, "a number from 1 to the compiled chunk", nullptr},
      {"--context", Kind::Count, &o.context, 1, kMost32, "a number from 1 to the compiled context", nullptr},
      {"--window", Kind::Count, &o.window, 1, kMost32, "a number of positions from 1 to the compiled window", nullptr},
      {"--sinks", Kind::Count, &o.sinks, 0, kMost32, "a number of positions from 0 (none)", &o.hasSinks},
      {"--state-checkpoints", Kind::Count, &o.stateCheckpoints, 0, 64, "a number of copies from 0 to 64",
       &o.hasStateCheckpoints},
      {"--rewind-after", Kind::Count, &o.rewindAfter, 1, kMost32, "a number of tokens from 1", nullptr},
      {"--rewind-by", Kind::Count, &o.rewindBy, 1, kMost32, "a number of tokens from 1", nullptr},
      {"--lanes", Kind::Count, &o.lanes, 1, MOERT_MAX_READER_LANES, "a number of reader threads from 1 to 16", nullptr},
      {"--buffered-reads", Kind::Switch, &o.bufferedReads, 0, 0, "", nullptr},
      {"--preload", Kind::Switch, &o.preload, 0, 0, "", nullptr},
      {"--delay-reads", Kind::Count, &o.delayReadsUs, 1, 1e7, "microseconds from 1 to 10000000", nullptr},
      {"--prediction", Kind::Choice, &o.prediction, 0, 0, "auto or off or always", nullptr},
      {"--json", Kind::Switch, &o.json, 0, 0, "", nullptr},
      {"--special", Kind::Switch, &o.special, 0, 0, "", nullptr},
      {"--chat", Kind::Switch, &o.chat, 0, 0, "", nullptr},
      {"--system", Kind::Text, &o.system, 0, 0, "the text of the system message", nullptr},
      {"--think", Kind::Switch, &o.think, 0, 0, "", nullptr},
      {"--no-think", Kind::Switch, &o.noThink, 0, 0, "", nullptr},
      {"--quiet", Kind::Switch, &o.quiet, 0, 0, "", nullptr},
      {"--root", Kind::Text, &o.root, 0, 0, "the path of a folder that stands for /", nullptr},
      {"--doctor", Kind::Switch, &o.doctor, 0, 0, "", nullptr},
      {"--bench", Kind::Switch, &o.bench, 0, 0, "", nullptr},
      {"-p", Kind::CountList, &o.benchPrompts, 0, kMost32, "up to 16 numbers of tokens from 0 (off), such as 128,512",
       &o.hasBenchPrompt},
      {"-n", Kind::CountList, &o.benchTokens, 0, kMost32, "up to 16 numbers of tokens from 0 (off), such as 32,128",
       &o.hasBenchTokens},
      {"-d", Kind::CountList, &o.benchDepths, 0, kMost32, "up to 16 numbers of tokens from 0, such as 0,2048",
       &o.hasBenchOther},
      {"-t", Kind::CountList, &o.benchThreads, 1, MOERT_MAX_THREADS, "up to 16 numbers from 1 to 64, such as 1,2",
       &o.hasBenchThreads},
      {"--bandwidth", Kind::Size, &o.benchBandwidth, 0, 0, "what the memory delivers in a second, such as 40GB",
       &o.hasBenchOther},
      {"-r", Kind::Count, &o.benchRepetitions, 1, 1000, "a number from 1 to 1000", &o.hasBenchOther},
      {"--help", Kind::Switch, &o.help, 0, 0, "", nullptr},
      {"-h", Kind::Switch, &o.help, 0, 0, "", nullptr},
  };
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-' && argv[i][1] != '\0') {
      if (!parseFlag(flags, sizeof(flags) / sizeof(flags[0]), argc, argv, &i))
        return false;
    } else if (o.libraryPath) {
      return usageError("expects one compiled model, but got '%s' and '%s'", o.libraryPath, argv[i]);
    } else {
      o.libraryPath = argv[i];
    }
  }
  return o.help || checkCombinations(o);
}

void printHelp() {
  fputs(
      "moe-run: runs a compiled model.\n"
      "\n"
      "usage: moe-run OUT.so (--prompt TEXT | --prompt-file FILE | --ids 1,2,3 | --chat | --doctor | --bench) [flags]\n"
      "\n"
      "  --prompt TEXT        the text to continue\n"
      "  --prompt-file FILE   the same from a file (-: stdin), without a line feed at its end\n"
      "  --ids LIST           the token ids to continue, separated by commas\n"
      "  --special            special tokens such as <|im_start|> in the prompt are tokens, not text, and none is\n"
      "                       put before it\n"
      "  --chat               the prompt is a user's message, written as the checkpoint's chat template does; without\n"
      "                       a prompt a conversation: each line of stdin is a message\n"
      "  --system TEXT        with --chat: the system message (default: the template's)\n"
      "  --think, --no-think  with --chat: the answer begins with thinking, or not (default: as the template)\n"
      "  --pack FILE          the weights (default: OUT.moepack beside OUT.so)\n"
      "  --pack-offset N, --pack-bytes N\n"
      "                       the weights are that part of FILE, as in an uncompressed entry of an archive\n"
      "  --max-tokens N       tokens to generate at most (128; 0: until a stop token or the end of the context)\n"
      "  --greedy             take the most likely token\n"
      "  --temperature T, --top-k K, --top-p P, --min-p P\n"
      "                       sampling (default: as the checkpoint recommends)\n"
      "  --seed S             seed of the sampler (0)\n"
      "  --memory SIZE        budget: bytes, or KB MB GB (powers of 1000), KiB MiB GiB (of 1024)\n"
      "                       (default: as compiled)\n"
      "  --threads auto|N     computing threads, up to 64 (auto: one for each performance core of the process)\n"
      "  --cpus LIST          CPUs for those threads, such as 0-3,6 (default: any)\n"
      "  --lock               keeps memory from being swapped; warns where the system refuses\n"
      "  --experts-used K     reads and computes the K best experts of a token only; changes the text\n"
      "  --chunk N            tokens of the prompt that are computed at once (default: as compiled)\n"
      "  --context N          longest text in tokens (default: as compiled)\n"
      "  --window N           a token sees the last N positions only (default: as compiled)\n"
      "  --sinks N            with a window: the first N positions are always seen (default: as compiled)\n"
      "  --on-full stop|slide when the context is full: end (stop), or drop tokens between the first ones and the\n"
      "                       latest half, feed those again and go on\n"
      "  --keep N             first tokens that slide keeps (4)\n"
      "  --state-checkpoints N\n"
      "                       copies of a recurrent state to go back to (2); other models need none\n"
      "  --rewind-after N, --rewind-by M\n"
      "                       once N tokens were generated, goes back M of them and on from there\n"
      "                       (shows that this changes nothing)\n"
      "  --prediction auto|off|always\n"
      "                       whether experts of the next two layers are guessed, read ahead (auto: where it pays);\n"
      "                       never changes the text\n"
      "  --lanes N            threads that read the weights (3)\n"
      "  --buffered-reads     reads through the page cache even where direct reads work\n"
      "  --preload            where every expert fits, reads all of them first instead of on demand and beside\n"
      "  --delay-reads N      for experiments: each expert costs the reading threads N microseconds more\n"
      "  --eviction POLICY    which expert makes room for another: faded (frequency that fades, the default), lru, "
      "lfu\n"
      "  --trace FILE         records what each layer's router chose, what was missed and when (docs/paging.md)\n"
      "  --logits FILE.npy    writes the logits of every token fed, float32 [tokens, vocabulary]\n"
      "  --json               prints one JSON object instead of the text\n"
      "  --doctor             checks this machine against the model, loads nothing; also --memory, --threads, --lock,\n"
      "                       --json\n"
      "  --root DIR           a machine described in files stands in for this one (docs/doctor.md)\n"
      "  --bench              measures tokens/s of prefill and decode with random tokens; also -p LIST (prompts,\n"
      "                       512), -n LIST (generated, 128), -d LIST (tokens before, 0), -t LIST (threads),\n"
      "                       -r N (repetitions, 5), --bandwidth SIZE (a second; shows which share is used)\n"
      "  --quiet              prints no counters\n"
      "\n"
      "The generated text goes to stdout, everything else to stderr.\n"
      "Exit code: 0 right, 1 the input or the machine is at fault, 2 wrong usage, 3 ran but was cut off (Ctrl-C\n"
      "or SIGTERM; a second one ends the program at once); --doctor: 0 all is well, 1 it cannot run, 3 it runs with\n"
      "warnings.\n"
      "\n"
      "examples:\n"
      "  moe-run demo.so --prompt \"It was a dark and stormy night\" --max-tokens 64\n"
      "  moe-run demo.so --prompt \"The door\" --greedy --memory 6MB --json\n"
      "  moe-run demo.so --chat --prompt \"Who are you?\"\n"
      "  moe-run demo.so --special --prompt '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n'\n"
      "  qemu-aarch64 -L /usr/aarch64-linux-gnu build/bin/aarch64/moe-run demo.arm64.so --prompt \"The door\"\n",
      stdout);
}

} // namespace moerun
