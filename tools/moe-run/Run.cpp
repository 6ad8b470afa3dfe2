// SPDX-License-Identifier: Apache-2.0
/// \file
/// The run itself: open, tokenize, generate, report.
#include "tools/moe-run/Run.h"

#include "tools/moe-run/Chat.h"
#include "tools/moe-run/Interrupt.h"
#include "tools/moe-run/Library.h"
#include "tools/moe-run/LogitsFile.h"
#include "tools/moe-run/Process.h"
#include "tools/moe-run/Report.h"
#include "tools/moe-run/doctor/Machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

namespace moerun {

namespace {

/// One run. Steps return false after a message; `exitCode` says whose fault it is.
class Runner : OpenModel {
public:
  explicit Runner(const Options &options) : options(options) {}

  int run();

private:
  bool load();
  bool open();
  bool readPrompt();
  bool tokenizePrompt();
  bool parseIds();
  bool generate();
  moert_status generateAll(moert_error *error);
  moert_status generatePart(const int32_t *ids, size_t count, uint64_t maxTokens, bool isShown, moert_error *error);
  void endLine();
  bool report();
  bool fail(const moert_error &error) {
    const char *text = error.message[0] ? error.message : api->status_name(error.status);
    return printError("%s", text);
  }
  bool readPromptFile();
  bool usage() {
    exitCode = kExitUsage;
    return false;
  }

  static int32_t onText(void *user, const char *text, size_t sizeBytes, int32_t id);
  static int32_t onLogits(void *user, uint64_t position, const float *logits, uint32_t vocabSize);

  const Options &options;
  moert_model_info info = {};
  RunResult result;
  Array<char> promptText;
  size_t capacity = 0; // of result.ids
  LogitsFile logits;
  bool outputFailed = false, logitsFailed = false;
  int outputErrno = 0;
  int exitCode = kExitFault;
};

bool Runner::load() {
  if (!checkLibrary(options))
    return false;
  resetPeak();
  result.baselineBytes = residentBytes();
  api = loadLibrary(options.libraryPath);
  return api != nullptr;
}

bool Runner::open() {
  moert_error error = {};
  if (!openLoaded(options, error, exitCode))
    return false;
  if (api->model_info(model, &info, &error) != MOERT_STATUS_OK ||
      api->model_plan(model, &result.plan, &error) != MOERT_STATUS_OK)
    return fail(error);
  if (options.chunk > info.max_chunk) {
    usageError("--chunk expects a number from 1 to %u (the compiled chunk), but got %llu", info.max_chunk,
               static_cast<unsigned long long>(options.chunk));
    return usage();
  }
  return true;
}

bool Runner::tokenizePrompt() {
  const char *text = options.prompt ? options.prompt : promptText.data();
  size_t sizeBytes = options.prompt ? strlen(text) : promptText.size(), count = 0;
  // Who writes special tokens out writes all of them.
  uint32_t flags = options.special ? MOERT_TOKENIZE_ALLOW_SPECIAL : MOERT_TOKENIZE_ADD_SPECIAL;
  Array<int32_t> &ids = result.promptIds;
  if (options.chat) {
    const char *system = options.system ? options.system : "";
    const moert_message messages[2] = {{"system", system, strlen(system)}, {"user", text, sizeBytes}};
    bool hasSystem = options.system != nullptr;
    return chatIds(*api, model, options, messages + !hasSystem, 1 + hasSystem, ids);
  }
  moert_error error = {};
  // No text has more tokens than three times its bytes: normalization at most triples it. Ask for the number instead.
  if (api->tokenize(model, text, sizeBytes, flags, nullptr, 0, &count, &error) != MOERT_STATUS_OK)
    return fail(error);
  if (!ids.reserve(count))
    return printError("out of memory for %zu tokens", count);
  if (api->tokenize(model, text, sizeBytes, flags, ids.data(), count, &count, &error) != MOERT_STATUS_OK)
    return fail(error);
  ids.setSize(count);
  return true;
}

bool Runner::parseIds() {
  auto skipSpaces = [](const char *at) { return at + strspn(at, " "); };
  const char *text = skipSpaces(options.ids);
  for (bool isFirst = true; isFirst ? *text != '\0' : *text == ','; isFirst = false) {
    text = isFirst ? text : skipSpaces(text + 1);
    char *end = nullptr;
    errno = 0;
    long long id = strtoll(text, &end, 10);
    end += strspn(end, " ");
    if (!strchr("-0123456789", *text) || *text == '\0' || end == text || errno != 0 || id < INT32_MIN ||
        id > INT32_MAX || (*end != ',' && *end != '\0')) {
      usageError("--ids expects token ids such as 1,2,3, but got '%s' at '%s'", options.ids, text);
      return usage();
    }
    int32_t narrow = static_cast<int32_t>(id);
    if (!result.promptIds.append(&narrow, 1))
      return printError("out of memory");
    text = end;
  }
  return true;
}

bool Runner::readPromptFile() {
  const char *path = options.promptFile;
  bool isStdin = strcmp(path, "-") == 0;
  int file = isStdin ? STDIN_FILENO : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return printError("cannot open %s: %s", path, strerror(errno));
  char piece[4096];
  ssize_t got = 0;
  bool fits = true;
  while (fits && (got = read(file, piece, sizeof(piece))) > 0)
    fits = promptText.append(piece, static_cast<size_t>(got));
  int readErrno = errno;
  if (!isStdin)
    close(file);
  if (!fits)
    return printError("out of memory for the text of %s", path);
  if (got < 0)
    return printError("cannot read %s: %s", path, strerror(readErrno));
  // Editors end a file with a line feed that is not meant as part of the prompt.
  if (promptText.size() && promptText.data()[promptText.size() - 1] == '\n')
    promptText.setSize(promptText.size() - 1);
  return true;
}

bool Runner::readPrompt() {
  if (!options.ids && !tokenizePrompt())
    return false;
  if (result.promptIds.size() == 0)
    return printError("the prompt is empty: expected at least one token in %s", options.ids      ? "--ids"
                                                                                : options.prompt ? "--prompt"
                                                                                                 : options.promptFile);
  return true;
}

int32_t Runner::onText(void *user, const char *text, size_t sizeBytes, int32_t id) {
  static_cast<void>(id);
  Runner &self = *static_cast<Runner *>(user);
  if (self.options.json)
    self.outputFailed = self.outputFailed || !self.result.text.append(text, sizeBytes);
  else
    self.outputFailed = self.outputFailed || fwrite(text, 1, sizeBytes, stdout) != sizeBytes || fflush(stdout) != 0;
  if (self.outputFailed && !self.outputErrno)
    self.outputErrno = errno ? errno : EIO;
  return self.outputFailed;
}

int32_t Runner::onLogits(void *user, uint64_t position, const float *logits, uint32_t vocabSize) {
  static_cast<void>(position);
  static_cast<void>(vocabSize);
  Runner &self = *static_cast<Runner *>(user);
  // writeRow says what is wrong.
  self.logitsFailed = self.logitsFailed || !self.logits.writeRow(logits);
  return self.logitsFailed;
}

/// Ids that are shown follow those that are there.
moert_status Runner::generatePart(const int32_t *ids, size_t count, uint64_t maxTokens, bool isShown,
                                  moert_error *error) {
  moert_generate_options generate = {};
  generate.struct_bytes = sizeof(generate);
  generate.max_tokens = static_cast<uint32_t>(maxTokens);
  generate.chunk = static_cast<uint32_t>(options.chunk);
  generate.sampler = samplerOf(options, info);
  generate.on_text = isShown ? onText : nullptr;
  generate.on_logits = options.logitsPath ? onLogits : nullptr;
  generate.user = this;
  size_t used = result.ids.size(), free = isShown ? capacity - used : 0;
  moert_generate_result part = {};
  moert_status status =
      api->generate(session, ids, count, &generate, isShown ? result.ids.data() + used : nullptr, free, &part, error);
  result.generated.finish_reason = part.finish_reason;
  result.generated.slides += part.slides;
  if (isShown)
    result.ids.setSize(used + (part.num_generated < free ? part.num_generated : free));
  return status;
}

/// With --rewind-by what is generated to be forgotten is not shown.
moert_status Runner::generateAll(moert_error *error) {
  const int32_t *ids = result.promptIds.data();
  size_t count = result.promptIds.size();
  uint64_t kept = options.rewindAfter - options.rewindBy;
  if (!options.rewindBy)
    return generatePart(ids, count, options.maxTokens, true, error);
  if (kept) {
    moert_status status = generatePart(ids, count, kept, true, error);
    if (status != MOERT_STATUS_OK || result.generated.finish_reason != MOERT_FINISH_LENGTH)
      return status;
    // The last token was not fed yet.
    ids = result.ids.data() + (kept - 1);
    count = 1;
  }
  moert_status status = generatePart(ids, count, options.rewindBy, false, error);
  if (status == MOERT_STATUS_OK)
    status = api->session_rewind(session, result.promptIds.size() + kept, error);
  return status != MOERT_STATUS_OK
             ? status
             : generatePart(nullptr, 0, options.maxTokens ? options.maxTokens - kept : 0, true, error);
}

bool Runner::generate() {
  if (options.logitsPath && !logits.open(options.logitsPath, info.vocab_size))
    return false;
  capacity = info.context;
  if (options.slides() || (options.maxTokens != 0 && options.maxTokens < capacity))
    capacity = options.maxTokens;
  if (!result.ids.reserve(capacity))
    return printError("out of memory for %zu tokens", capacity);
  moert_error error = {};
  if (api->session_create(model, &session, &error) != MOERT_STATUS_OK)
    return fail(error);
  if (api->statistics(model, &result.statistics, &error) == MOERT_STATUS_OK)
    warnUnlocked(result.statistics);
  watchInterrupts(api, session);
  moert_status status = generateAll(&error);
  result.peakBytes = peakResidentBytes();
  bool isCancelled = status == MOERT_STATUS_CANCELLED || result.generated.finish_reason == MOERT_FINISH_CANCELLED;
  if (isCancelled || outputFailed || logitsFailed) {
    result.generated.finish_reason = MOERT_FINISH_CANCELLED;
    exitCode = kExitDegraded;
    // A row of logits that could not be written has been reported by its file.
    return outputFailed ? printError("the output was refused: %s", strerror(outputErrno)) : !logitsFailed;
  }
  if (status != MOERT_STATUS_OK) {
    if (result.ids.size())
      endLine();
    return fail(error);
  }
  exitCode = kExitRight;
  return true;
}

/// On a terminal what follows the text begins a line.
void Runner::endLine() {
  if (!options.json && isatty(STDOUT_FILENO))
    putchar('\n');
  fflush(stdout);
}

bool Runner::report() {
  moert_error error = {};
  if (api->statistics(model, &result.statistics, &error) != MOERT_STATUS_OK)
    return fail(error);
  result.slow = slowCauses(result.statistics, options.root);
  if (options.json && !printJson(result, guesses.layers()))
    return printError("cannot write to stdout: %s", strerror(errno));
  endLine();
  if (!options.quiet)
    printCounters(result);
  return true;
}

int Runner::run() {
  // What the command line alone decides comes before anything is loaded.
  if (options.ids && !parseIds())
    return exitCode;
  if (options.promptFile && !readPromptFile())
    return exitCode;
  if (!checkRoot(options.root) || !load() || !open() || !readPrompt())
    return exitCode;
  // After an error nothing follows: neither counters nor an object could be told from those of a run that was right.
  bool isRight = generate() && finishTrace() && (!logits.isOpen() || logits.finish()) && report();
  return isRight ? exitCode : kExitFault;
}

} // namespace

int run(const Options &options) { return Runner(options).run(); }

} // namespace moerun
