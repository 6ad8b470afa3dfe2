// SPDX-License-Identifier: Apache-2.0
/// \file
/// A conversation on the terminal. Before each answer the whole conversation is written anew; what the session holds of
/// it already is kept, the rest is rewound and fed.
#include "tools/moe-run/Chat.h"

#include "tools/moe-run/Interrupt.h"
#include "tools/moe-run/Library.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

namespace moerun {

moert_chat_options chatOptions(const Options &options) {
  moert_chat_options chat = {};
  chat.struct_bytes = sizeof(chat);
  chat.thinking = options.think ? MOERT_THINKING_ON : options.noThink ? MOERT_THINKING_OFF : MOERT_THINKING_DEFAULT;
  return chat;
}

bool chatIds(const moert_api &api, const moert_model *model, const Options &options, const moert_message *messages,
             size_t numMessages, Array<int32_t> &ids) {
  moert_chat_options chat = chatOptions(options);
  moert_error error = {};
  size_t count = 0;
  if (api.chat(model, messages, numMessages, &chat, nullptr, 0, &count, &error) != MOERT_STATUS_OK)
    return printError("--chat: %s", error.message);
  if (!ids.reserve(count))
    return printError("out of memory for %zu tokens", count);
  if (api.chat(model, messages, numMessages, &chat, ids.data(), count, &count, &error) != MOERT_STATUS_OK)
    return printError("--chat: %s", error.message);
  ids.setSize(count);
  return true;
}

moert_sampler_options samplerOf(const Options &options, const moert_model_info &info) {
  moert_sampler_options sampler = {};
  sampler.seed = options.seed;
  sampler.top_p = 1.0f;
  if (options.greedy)
    return sampler;
  sampler.temperature = options.hasTemperature ? static_cast<float>(options.temperature) : info.temperature;
  sampler.top_p = options.hasTopP ? static_cast<float>(options.topP) : info.top_p;
  sampler.min_p = static_cast<float>(options.minP);
  sampler.top_k = options.hasTopK ? static_cast<int32_t>(options.topK) : info.default_top_k;
  return sampler;
}

namespace {

class Conversation : OpenModel {
public:
  explicit Conversation(const Options &options) : options(options) {}

  int run();

private:
  /// A message; its text stands in `texts`, which moves as it grows.
  struct Turn {
    const char *role;
    size_t begin, size;
  };

  bool open();
  bool addTurn(const char *role, const char *text, size_t size);
  /// Drops the texts of turns that are gone.
  void cutTexts() {
    texts.setSize(turns.size() ? turns.data()[turns.size() - 1].begin + turns.data()[turns.size() - 1].size : 0);
  }
  bool readLine(bool &isEnd);
  bool command(bool &isCommand);
  bool feed();
  bool answer();
  bool takeBack();
  /// Prints the error that a call ended with. What another message may avoid is noted in `isRefused`.
  bool end(moert_status status) {
    isRefused = status == MOERT_STATUS_CONTEXT_FULL || status == MOERT_STATUS_NO_MEMORY ||
                status == MOERT_STATUS_INVALID_ARGUMENT;
    return status == MOERT_STATUS_OK || printError("%s", error.message[0] ? error.message : api->status_name(status));
  }
  static int32_t onText(void *user, const char *text, size_t sizeBytes, int32_t id);

  const Options &options;
  moert_model_info info = {};
  moert_error error = {};
  Array<Turn> turns;
  Array<char> texts, line, reply;
  Array<int32_t> ids, held, generated; // of the conversation, in the session, of the last answer
  uint64_t numAgain = 0;               // answers to the last question that were taken back
  bool outputFailed = false;
  bool isRefused = false, wasRefused = false; // the last message, any message
  int exitCode = kExitFault;
};

bool Conversation::open() {
  if (!openModel(options, error, exitCode))
    return false;
  // The format must be there before anybody types.
  const moert_message probe = {"user", "?", 1};
  return end(api->model_info(model, &info, &error)) && chatIds(*api, model, options, &probe, 1, ids) &&
         end(api->session_create(model, &session, &error));
}

bool Conversation::addTurn(const char *role, const char *text, size_t size) {
  Turn turn = {role, texts.size(), size};
  return (texts.append(text, size) && turns.append(&turn, 1)) || printError("out of memory for a message");
}

bool Conversation::readLine(bool &isEnd) {
  if (isatty(STDIN_FILENO))
    fputs("> ", stderr);
  line.setSize(0);
  char c = 0;
  ssize_t got = 0;
  while ((got = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n')
    if (!line.append(&c, 1))
      return printError("out of memory for a line");
  isEnd = got == 0 && line.size() == 0;
  return got >= 0 || printError("cannot read stdin: %s", strerror(errno));
}

/// Writes the conversation and rewinds the session to what it holds of it.
bool Conversation::feed() {
  Array<moert_message> messages;
  for (size_t i = 0; i < turns.size(); ++i) {
    const Turn &turn = turns.data()[i];
    moert_message message = {turn.role, texts.data() + turn.begin, turn.size};
    if (!messages.append(&message, 1))
      return printError("out of memory for %zu messages", turns.size());
  }
  isRefused = true;
  if (!chatIds(*api, model, options, messages.data(), messages.size(), ids))
    return false;
  isRefused = false;
  size_t same = 0;
  while (same < held.size() && same < ids.size() && held.data()[same] == ids.data()[same])
    ++same;
  if (same < held.size() && !end(api->session_rewind(session, same, &error)))
    return false;
  held.setSize(same);
  return true;
}

int32_t Conversation::onText(void *user, const char *text, size_t sizeBytes, int32_t) {
  Conversation &self = *static_cast<Conversation *>(user);
  self.outputFailed =
      fwrite(text, 1, sizeBytes, stdout) != sizeBytes || fflush(stdout) != 0 || !self.reply.append(text, sizeBytes);
  return self.outputFailed;
}

bool Conversation::answer() {
  size_t capacity = options.maxTokens && options.maxTokens < info.context ? options.maxTokens : info.context;
  if (!generated.reserve(capacity))
    return printError("out of memory for %zu tokens", capacity);
  moert_generate_options generate = {};
  generate.struct_bytes = sizeof(generate);
  generate.max_tokens = static_cast<uint32_t>(options.maxTokens);
  generate.chunk = static_cast<uint32_t>(options.chunk);
  generate.sampler = samplerOf(options, info);
  generate.sampler.seed += numAgain; // the same draws would give the same answer
  generate.on_text = onText;
  generate.user = this;
  moert_generate_result result = {};
  reply.setSize(0);
  size_t fed = held.size();
  watchInterrupts(api, session);
  moert_status status = api->generate(session, ids.data() + fed, ids.size() - fed, &generate, generated.data(),
                                      capacity, &result, &error);
  watchInterrupts(api, nullptr); // at the prompt Ctrl-C ends the program
  if (outputFailed)
    return printError("the output was refused");
  bool isDone = status == MOERT_STATUS_CANCELLED || end(status);
  size_t numGenerated = result.num_generated < capacity ? result.num_generated : capacity;
  uint64_t length = api->session_length(session);
  held.setSize(0);
  if (!held.append(ids.data(), ids.size()) || !held.append(generated.data(), numGenerated))
    return printError("out of memory");
  held.setSize(length < held.size() ? length : held.size());
  if (!isDone)
    return false;
  putchar('\n');
  if (fflush(stdout) != 0)
    return printError("the output was refused");
  isRefused = result.finish_reason == MOERT_FINISH_CONTEXT;
  if (isRefused)
    return printError("the context of %u tokens is full", info.context);
  return addTurn("assistant", reply.data(), reply.size());
}

/// Goes on without the message that could not be answered, if that helps.
bool Conversation::takeBack() {
  size_t first = options.system ? 1 : 0;
  if (!isRefused || turns.size() <= first)
    return false;
  isRefused = false;
  wasRefused = true;
  turns.setSize(turns.size() - 1);
  cutTexts();
  fputs(turns.size() > first ? "the message is taken back; /undo takes back those before it\n"
                             : "the message is taken back\n",
        stderr);
  return true;
}

/// /regen takes the last answer back and asks for another one, /undo takes the last question back, too.
bool Conversation::command(bool &isCommand) {
  auto is = [&](const char *name) {
    return line.size() == strlen(name) && memcmp(line.data(), name, line.size()) == 0;
  };
  bool isUndo = is("/undo");
  isCommand = isUndo || is("/regen");
  if (!isCommand)
    return true;
  size_t first = options.system ? 1 : 0;
  if (turns.size() < first + 2) {
    fputs("there is nothing to take back\n", stderr);
    return true;
  }
  turns.setSize(turns.size() - (isUndo ? 2 : 1));
  cutTexts();
  numAgain = isUndo ? 0 : numAgain + 1;
  return isUndo || (feed() && answer());
}

int Conversation::run() {
  if (!open() || (options.system && !addTurn("system", options.system, strlen(options.system))))
    return exitCode;
  for (bool isEnd = false;;) {
    if (!readLine(isEnd))
      return kExitFault;
    // On a terminal the error was seen; a script sees the exit code.
    if (isEnd && !finishTrace())
      return kExitFault;
    if (isEnd)
      return wasRefused && !isatty(STDIN_FILENO) ? kExitFault : kExitRight;
    bool isCommand = false;
    if (line.size() && !command(isCommand) && !takeBack())
      return kExitFault;
    if (line.size() == 0 || isCommand)
      continue;
    numAgain = 0;
    bool isAnswered = addTurn("user", line.data(), line.size()) && feed() && answer();
    if (!isAnswered && !takeBack())
      return kExitFault;
  }
}

} // namespace

int converse(const Options &options) { return Conversation(options).run(); }

} // namespace moerun
