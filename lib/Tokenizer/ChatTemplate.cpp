// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recognition of chat templates. The texts of a format are read off three conversations; flags and history are tried.
/// Part of the import step.
#include "lib/Tokenizer/ChatTemplate.h"

#include "lib/Tokenizer/Jinja.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

using llvm::StringRef;
using llvm::Twine;

namespace moec {

namespace {

struct Turn {
  StringRef role;
  StringRef content;
};
using Conversation = std::vector<Turn>;

/// What the template or a format makes of a conversation; a refusal has no text.
struct Rendered {
  bool isRefused = false;
  std::string text;
  std::string reason;

  bool operator==(const Rendered &other) const {
    return isRefused == other.isRefused && (isRefused || text == other.text);
  }
};

/// How an answer is opened; the order is that of MOERT_CHAT_GENERATE and what follows, none at the end.
constexpr uint32_t kOpenings[] = {MOERT_CHAT_GENERATE, MOERT_CHAT_GENERATE_ON, MOERT_CHAT_GENERATE_OFF,
                                  MOERT_CHAT_NUM_TEXTS};

/// Conversations that tell formats apart: order of roles, white space, thinking at all places.
const std::vector<Conversation> &conversations() {
  static const std::vector<Conversation> list = {
      {{"user", "one two"}},
      {{"system", "be kind"}, {"user", "one"}},
      {{"system", ""}, {"user", "one"}},
      {{"user", ""}},
      {{"user", "one"}, {"assistant", "two"}},
      {{"user", "one"}, {"assistant", "two"}, {"user", "three"}},
      {{"system", "be kind"}, {"user", "one"}, {"assistant", "two"}, {"user", "three"}, {"assistant", "four"}},
      {{"user", "one"}, {"user", "two"}},
      {{"user", "one"}, {"system", "be kind"}, {"user", "two"}},
      {{"system", "be kind"}},
      {{"assistant", "one"}, {"user", "two"}},
      {{"user", "one"}, {"assistant", "two"}, {"assistant", "three"}},
      {{"system", " \n be kind\t\n"}, {"user", "\n\n one \n"}, {"assistant", " \n two \n\n"}, {"user", "three\n"}},
      {{"user", "\tone"}, {"assistant", "\n\ntwo\n"}},
      {{"user", "one"}, {"assistant", "<think>\nhm\n</think>\n\ntwo"}, {"user", "three"}},
      {{"user", "one"}, {"assistant", "<think>\nhm\n</think>\n\ntwo"}},
      {{"user", "one"}, {"assistant", "<think>\n\n</think>\n\ntwo"}, {"assistant", "three"}},
      {{"user", "one"}, {"assistant", "<think> hm </think> two "}, {"assistant", "three"}, {"assistant", "four"}},
      {{"user", "one"}, {"assistant", "hm\n</think>\n\ntwo"}, {"assistant", "a</think>b</think>c"}},
      {{"user", "one"}, {"assistant", "<think>a<think>b</think>c<think>d</think>e"}, {"user", "</think>x"}},
      {{"user", "one"}, {"assistant", "<think>never closed"}},
      {{"user", "one"}, {"assistant", "two"}, {"user", "<tool_response>\n3\n</tool_response>"}},
      {{"user", "one"},
       {"assistant", "<think>\nhm\n</think>\n\ntwo"},
       {"user", "<tool_response>3</tool_response>"},
       {"assistant", "four"},
       {"user", "five"}},
      {{"user", "<tool_response>3</tool_response>"}},
      {{"user", "<tool_response>3"}, {"assistant", "<|im_end|>"}, {"user", "{{ messages }} {% if x %}"}},
  };
  return list;
}

class Recognizer {
public:
  Recognizer(const jinja::Node &root, const ChatTokens &tokens) : root(root), tokens(tokens) {}

  ChatTemplate run() {
    std::string problem;
    if (!readTexts(problem))
      return noChatTemplate(problem);
    for (const Conversation &conversation : conversations())
      for (uint32_t opening : kOpenings)
        expected.push_back(renderTemplate(conversation, opening));
    return choose();
  }

private:
  Rendered renderTemplate(const Conversation &conversation, uint32_t opening) const;
  static Rendered renderFormat(const ChatTemplate &format, const Conversation &conversation, uint32_t opening);
  bool readTexts(std::string &problem);
  bool readFrame(const std::string &both, std::string &problem);
  bool readOpenings(const std::string &plain, std::string &problem);
  ChatTemplate choose();
  size_t countMatches(const ChatTemplate &format) const;
  std::string difference(const ChatTemplate &format) const;

  const jinja::Node &root;
  const ChatTokens &tokens;
  ChatTemplate result;
  std::vector<Rendered> expected; // by conversation, then opening
};

Rendered Recognizer::renderTemplate(const Conversation &conversation, uint32_t opening) const {
  jinja::List messages;
  for (const Turn &turn : conversation)
    messages.push_back(jinja::Value::makeMap(
        {{"role", jinja::Value::string(turn.role.str())}, {"content", jinja::Value::string(turn.content.str())}}));
  jinja::Map variables = {{"messages", jinja::Value::makeList(std::move(messages))},
                          {"tools", jinja::Value::none()},
                          {"documents", jinja::Value::none()},
                          {"bos_token", jinja::Value::string(tokens.bos)},
                          {"eos_token", jinja::Value::string(tokens.eos)},
                          {"add_generation_prompt", jinja::Value::boolean(opening != MOERT_CHAT_NUM_TEXTS)}};
  if (opening == MOERT_CHAT_GENERATE_ON || opening == MOERT_CHAT_GENERATE_OFF)
    variables.emplace_back("enable_thinking", jinja::Value::boolean(opening == MOERT_CHAT_GENERATE_ON));
  llvm::Expected<std::string> text = jinja::render(root, variables);
  if (!text)
    return {true, "", llvm::toString(text.takeError())};
  return {false, std::move(*text), ""};
}

Rendered Recognizer::renderFormat(const ChatTemplate &format, const Conversation &conversation, uint32_t opening) {
  std::vector<moert_chat_turn> turns;
  for (const Turn &turn : conversation)
    turns.push_back({{turn.role.data(), turn.role.size()}, {turn.content.data(), turn.content.size()}});
  Rendered rendered;
  moert_chat_sink sink = {&rendered.text, [](void *user, moert_chat_span text, int) {
                            static_cast<std::string *>(user)->append(text.data, text.size);
                          }};
  moert_chat_format view = format.format();
  size_t index = 0;
  if (const char *problem = moert_chat_render(&view, turns.data(), turns.size(), opening, &sink, &index))
    return {true, "", problem};
  return rendered;
}

/// Reads begin, open, close and end off a system and a user message.
bool Recognizer::readFrame(const std::string &both, std::string &problem) {
  StringRef text = both;
  auto [head, behindSystem] = text.split("SYSTEMTEXT");
  auto [middle, end] = behindSystem.split("USERTEXT");
  // <end><open>user<close>
  StringRef next = middle.starts_with(end) ? middle.drop_front(end.size()) : StringRef();
  auto [open, close] = next.split("user");
  std::string first = (open + "system" + close).str();
  if (end.empty() || open.empty() || !next.contains("user") || !head.ends_with(first)) {
    problem =
        "the template does not write messages one after the other in one way: a system message 'SYSTEMTEXT' and a "
        "user's 'USERTEXT' become '" +
        both + "'";
    return false;
  }
  result.texts[MOERT_CHAT_BEGIN] = head.drop_back(first.size()).str();
  result.texts[MOERT_CHAT_OPEN] = open.str();
  result.texts[MOERT_CHAT_CLOSE] = close.str();
  result.texts[MOERT_CHAT_END] = end.str();
  return true;
}

/// Reads how an answer is opened, for a conversation that without it is `plain`.
bool Recognizer::readOpenings(const std::string &plain, std::string &problem) {
  for (uint32_t opening : {MOERT_CHAT_GENERATE, MOERT_CHAT_GENERATE_ON, MOERT_CHAT_GENERATE_OFF}) {
    Rendered rendered = renderTemplate({{"user", "USERTEXT"}}, opening);
    if (rendered.isRefused || !StringRef(rendered.text).starts_with(plain)) {
      problem = rendered.isRefused ? "the template cannot be used: " + rendered.reason
                                   : "the template changes messages where an answer is opened: 'USERTEXT' becomes '" +
                                         rendered.text + "'";
      return false;
    }
    result.texts[opening] = rendered.text.substr(plain.size());
  }
  return true;
}

bool Recognizer::readTexts(std::string &problem) {
  Rendered both = renderTemplate({{"system", "SYSTEMTEXT"}, {"user", "USERTEXT"}}, MOERT_CHAT_NUM_TEXTS);
  Rendered user = renderTemplate({{"user", "USERTEXT"}}, MOERT_CHAT_NUM_TEXTS);
  for (const Rendered *rendered : {&both, &user})
    if (rendered->isRefused) {
      problem = "the template cannot be used: " + rendered->reason;
      return false;
    }
  if (!readFrame(both.text, problem) || !readOpenings(user.text, problem))
    return false;
  const auto &texts = result.texts;
  std::string open = texts[MOERT_CHAT_OPEN], close = texts[MOERT_CHAT_CLOSE], end = texts[MOERT_CHAT_END];
  StringRef head = user.text;
  if (!head.consume_front(texts[MOERT_CHAT_BEGIN]) || !head.consume_back(open + "user" + close + "USERTEXT" + end)) {
    problem = "the template writes a user's message 'USERTEXT' as '" + user.text +
              "', another way than behind a system "
              "message";
    return false;
  }
  if (head.empty())
    return true;
  if (!head.consume_front(open + "system" + close) || !head.consume_back(end)) {
    problem = "the template puts '" + head.str() + "' before a user's message, which is no system message";
    return false;
  }
  result.flags = MOERT_CHAT_HAS_SYSTEM;
  result.texts[MOERT_CHAT_SYSTEM] = head.str();
  return true;
}

size_t Recognizer::countMatches(const ChatTemplate &format) const {
  size_t at = 0, matches = 0;
  for (const Conversation &conversation : conversations())
    for (uint32_t opening : kOpenings)
      matches += renderFormat(format, conversation, opening) == expected[at++];
  return matches;
}

/// Says in which conversation the closest format differs.
std::string Recognizer::difference(const ChatTemplate &format) const {
  size_t at = 0;
  for (const Conversation &conversation : conversations())
    for (uint32_t opening : kOpenings) {
      const Rendered &wanted = expected[at++];
      Rendered found = renderFormat(format, conversation, opening);
      if (found == wanted)
        continue;
      std::string what;
      for (const Turn &turn : conversation)
        what += (what.empty() ? "" : ", ") + turn.role.str() + " '" + turn.content.str() + "'";
      return "the template is of no kind that is known: it makes of " + what + " the text '" +
             (wanted.isRefused ? wanted.reason : wanted.text) + "', the closest kind '" +
             (found.isRefused ? found.reason : found.text) + "'";
    }
  return "";
}

ChatTemplate Recognizer::choose() {
  ChatTemplate best = result;
  size_t most = 0;
  for (uint32_t history = MOERT_CHAT_HISTORY_KEPT; history <= MOERT_CHAT_HISTORY_QWEN35; ++history)
    for (uint32_t flags = 0; flags < MOERT_CHAT_HAS_SYSTEM; ++flags) {
      ChatTemplate candidate = result;
      candidate.history = history;
      candidate.flags |= flags;
      size_t matches = countMatches(candidate);
      if (matches > most) {
        most = matches;
        best = candidate;
      }
    }
  if (most != expected.size())
    return noChatTemplate(difference(best));
  best.isSupported = true;
  return best;
}

} // namespace

moert_chat_format ChatTemplate::format() const {
  moert_chat_format view = {flags, history, {}};
  for (size_t i = 0; i < texts.size(); ++i)
    view.texts[i] = {texts[i].data(), texts[i].size()};
  return view;
}

ChatTemplate noChatTemplate(const Twine &reason, bool isMissing) {
  ChatTemplate none;
  none.isMissing = isMissing;
  // Long enough to see what is wrong, short enough for a message on the device.
  std::string line;
  for (char c : reason.str())
    line += c == '\n' ? std::string("\\n") : std::string(1, c);
  none.texts[MOERT_CHAT_REASON] = llvm::StringRef(line).take_front(500).str();
  return none;
}

ChatTemplate recognizeChatTemplate(StringRef text, const ChatTokens &tokens) {
  constexpr size_t kMostBytes = 256 << 10;
  if (text.size() > kMostBytes)
    return noChatTemplate("the template has " + Twine(text.size()) + " bytes, at most " + Twine(kMostBytes) +
                          " are supported");
  llvm::Expected<jinja::NodePtr> root = jinja::parseTemplate(text);
  if (!root)
    return noChatTemplate("the template cannot be read: " + llvm::toString(root.takeError()));
  return Recognizer(**root, tokens).run();
}

} // namespace moec
