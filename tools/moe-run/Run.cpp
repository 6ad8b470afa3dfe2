// SPDX-License-Identifier: Apache-2.0
/// \file
/// The run itself: open, tokenize, generate, report.
#include "tools/moe-run/Run.h"

#include "tools/moe-run/Interrupt.h"
#include "tools/moe-run/Library.h"
#include "tools/moe-run/LogitsFile.h"
#include "tools/moe-run/Process.h"
#include "tools/moe-run/Report.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

namespace moerun {

namespace {

/// One run. Steps return false after a message; `exitCode` says whose fault it is.
class Runner {
public:
  explicit Runner(const Options &options) : options(options) {}
  Runner(const Runner &) = delete;
  Runner &operator=(const Runner &) = delete;
  ~Runner() {
    watchInterrupts(nullptr, nullptr);
    if (session)
      api->session_destroy(session);
    if (model)
      api->close(model);
  }

  int run();

private:
  bool load();
  bool open();
  bool readPrompt();
  bool tokenizePrompt();
  bool parseIds();
  bool generate();
  bool report();
  bool fail(const moert_error &error) {
    const char *text = error.message[0] ? error.message : api->status_name(error.status);
    return printError("%s", text);
  }
  bool usage() {
    exitCode = kExitUsage;
    return false;
  }
  moert_sampler_options sampler() const;

  static int32_t onText(void *user, const char *text, size_t sizeBytes, int32_t id);
  static int32_t onLogits(void *user, uint64_t position, const float *logits, uint32_t vocabSize);

  const Options &options;
  const moert_api *api = nullptr;
  moert_model *model = nullptr;
  moert_session *session = nullptr;
  moert_model_info info = {};
  RunResult result;
  LogitsFile logits;
  bool outputFailed = false;
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
  Array<char> packPath;
  if (!findPack(options, packPath))
    return false;
  moert_open_options open = openOptions(options, packPath.data());
  moert_error error = {};
  if (api->open(&open, &model, &error) != MOERT_STATUS_OK || api->model_info(model, &info, &error) != MOERT_STATUS_OK ||
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
  size_t sizeBytes = strlen(options.prompt), count = 0;
  uint32_t flags = options.special ? MOERT_TOKENIZE_ALLOW_SPECIAL : 0;
  Array<int32_t> &ids = result.promptIds;
  moert_error error = {};
  // No text has more tokens than three times its bytes: normalization at most triples it. Ask for the number instead.
  if (api->tokenize(model, options.prompt, sizeBytes, flags, nullptr, 0, &count, &error) != MOERT_STATUS_OK)
    return fail(error);
  if (!ids.reserve(count))
    return printError("out of memory for %zu tokens", count);
  if (api->tokenize(model, options.prompt, sizeBytes, flags, ids.data(), count, &count, &error) != MOERT_STATUS_OK)
    return fail(error);
  ids.setSize(count);
  return true;
}

bool Runner::parseIds() {
  const char *text = options.ids;
  while (*text == ' ')
    ++text;
  while (*text) {
    char *end = nullptr;
    errno = 0;
    long long id = strtoll(text, &end, 10);
    if (end == text || errno != 0 || id < INT32_MIN || id > INT32_MAX || (*end && *end != ',' && *end != ' ')) {
      usageError("--ids expects token ids such as 1,2,3, but got '%s'", text);
      return usage();
    }
    int32_t narrow = static_cast<int32_t>(id);
    if (!result.promptIds.append(&narrow, 1))
      return printError("out of memory");
    text = end + strspn(end, ", ");
  }
  return true;
}

bool Runner::readPrompt() {
  if (options.prompt && !tokenizePrompt())
    return false;
  if (result.promptIds.size() == 0)
    return printError("the prompt is empty: expected at least one token in %s", options.ids ? "--ids" : "--prompt");
  return true;
}

moert_sampler_options Runner::sampler() const {
  moert_sampler_options sampler = {};
  sampler.seed = options.seed;
  sampler.top_p = 1.0f;
  if (options.greedy)
    return sampler;
  sampler.temperature = options.hasTemperature ? static_cast<float>(options.temperature) : info.temperature;
  sampler.top_p = options.hasTopP ? static_cast<float>(options.topP) : info.top_p;
  sampler.top_k = options.hasTopK ? static_cast<int32_t>(options.topK) : info.default_top_k;
  return sampler;
}

int32_t Runner::onText(void *user, const char *text, size_t sizeBytes, int32_t id) {
  static_cast<void>(id);
  Runner &self = *static_cast<Runner *>(user);
  if (self.options.json)
    self.outputFailed = self.outputFailed || !self.result.text.append(text, sizeBytes);
  else
    self.outputFailed = self.outputFailed || fwrite(text, 1, sizeBytes, stdout) != sizeBytes || fflush(stdout) != 0;
  return self.outputFailed;
}

int32_t Runner::onLogits(void *user, uint64_t position, const float *logits, uint32_t vocabSize) {
  static_cast<void>(position);
  static_cast<void>(vocabSize);
  Runner &self = *static_cast<Runner *>(user);
  self.outputFailed = self.outputFailed || !self.logits.writeRow(logits);
  return self.outputFailed;
}

bool Runner::generate() {
  if (options.logitsPath && !logits.open(options.logitsPath, info.vocab_size))
    return false;
  size_t capacity = options.maxTokens != 0 && options.maxTokens < info.context ? options.maxTokens : info.context;
  if (!result.ids.reserve(capacity))
    return printError("out of memory for %zu tokens", capacity);
  moert_error error = {};
  if (api->session_create(model, &session, &error) != MOERT_STATUS_OK)
    return fail(error);
  watchInterrupts(api, session);
  moert_generate_options generate = {};
  generate.struct_bytes = sizeof(generate);
  generate.max_tokens = static_cast<uint32_t>(options.maxTokens);
  generate.chunk = static_cast<uint32_t>(options.chunk);
  generate.sampler = sampler();
  generate.on_text = onText;
  generate.on_logits = options.logitsPath ? onLogits : nullptr;
  generate.user = this;
  result.generated.finish_reason = MOERT_FINISH_ERROR;
  moert_status status = api->generate(session, result.promptIds.data(), result.promptIds.size(), &generate,
                                      result.ids.data(), capacity, &result.generated, &error);
  result.peakBytes = peakResidentBytes();
  size_t numGenerated = result.generated.num_generated;
  result.ids.setSize(numGenerated < capacity ? numGenerated : capacity);
  if (status == MOERT_STATUS_CANCELLED || result.generated.finish_reason == MOERT_FINISH_CANCELLED) {
    result.generated.finish_reason = outputFailed ? MOERT_FINISH_ERROR : MOERT_FINISH_CANCELLED;
    exitCode = outputFailed ? kExitFault : kExitDegraded;
    return outputFailed ? printError("the output was refused: %s", strerror(errno)) : true;
  }
  if (status != MOERT_STATUS_OK) {
    result.generated.finish_reason = MOERT_FINISH_ERROR;
    return fail(error);
  }
  exitCode = kExitRight;
  return true;
}

bool Runner::report() {
  moert_error error = {};
  if (api->statistics(model, &result.statistics, &error) != MOERT_STATUS_OK)
    return fail(error);
  if (options.json && !printJson(result))
    return printError("cannot write to stdout: %s", strerror(errno));
  if (!options.json && isatty(STDOUT_FILENO))
    putchar('\n');
  fflush(stdout);
  if (!options.quiet)
    printCounters(result);
  return true;
}

int Runner::run() {
  // What the command line alone decides comes before anything is loaded.
  if (options.ids && !parseIds())
    return exitCode;
  if (!load() || !open() || !readPrompt())
    return exitCode;
  bool generated = generate();
  if (generated && logits.isOpen() && !logits.finish()) {
    result.generated.finish_reason = MOERT_FINISH_ERROR;
    generated = false;
  }
  // A failed generation still gives its object: what was generated until then, and "error" as the reason.
  bool reported = session == nullptr || report();
  return generated && reported ? exitCode : kExitFault;
}

} // namespace

int run(const Options &options) { return Runner(options).run(); }

} // namespace moerun
