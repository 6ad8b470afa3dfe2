// SPDX-License-Identifier: Apache-2.0
/// \file
/// Proves what is recognized in chat templates, why others are refused, and that messages become ids without special
/// tokens of their own.
#include "test/unit/Tokenizer/SmallTokenizer.h"

#include "lib/Tokenizer/Jinja.h"
#include "runtime/tokenizer/Chat.h"

#include "gtest/gtest.h"

using namespace moec;

static const char kPlain[] = "{% for m in messages %}<s>{{ m.role }}\n{{ m.content }}<t>{% endfor %}"
                             "{% if add_generation_prompt %}<s>assistant\n{% endif %}";

static std::string reasonOf(const std::string &text) {
  ChatTemplate found = recognizeChatTemplate(text, {"<b>", "<e>"});
  return found.isSupported ? "" : found.texts[MOERT_CHAT_REASON];
}

static testing::AssertionResult has(const std::string &message, const std::string &part) {
  bool found = message.find(part) != std::string::npos;
  return (found ? testing::AssertionSuccess() : testing::AssertionFailure()) << "'" << message << "'";
}

/// What `text` writes, or the error with "! " before it.
static std::string written(const std::string &text) {
  llvm::Expected<jinja::NodePtr> root = jinja::parseTemplate(text);
  if (!root)
    return "! " + llvm::toString(root.takeError());
  jinja::Map variables = {{"n", jinja::Value::integer(7)}, {"t", jinja::Value::string("a b")}};
  llvm::Expected<std::string> result = jinja::render(**root, variables);
  return result ? *result : "! " + llvm::toString(result.takeError());
}

TEST(ChatTemplate, ReadsTheTextsOfAFormat) {
  ChatTemplate found = recognizeChatTemplate(kPlain, {});
  ASSERT_TRUE(found.isSupported) << found.texts[MOERT_CHAT_REASON];
  EXPECT_EQ(found.texts[MOERT_CHAT_OPEN], "<s>");
  EXPECT_EQ(found.texts[MOERT_CHAT_CLOSE], "\n");
  EXPECT_EQ(found.texts[MOERT_CHAT_END], "<t>");
  EXPECT_EQ(found.texts[MOERT_CHAT_GENERATE_OFF], "<s>assistant\n");
  EXPECT_EQ(found.flags, 0u);
  EXPECT_EQ(found.history, MOERT_CHAT_HISTORY_KEPT);
}

TEST(ChatTemplate, SaysWhyThereIsNone) {
  EXPECT_TRUE(has(reasonOf("{{ bos_token }}{% for m in messages %}[INST]{{ m.content }}[/INST]{% endfor %}"),
                  "does not write messages one after the other"));
  EXPECT_TRUE(has(reasonOf("{{ strftime_now('%d') }}"), "it calls 'strftime_now', a function that is not known"));
  EXPECT_TRUE(has(reasonOf("{{ raise_exception('never') }}"), "it refuses with 'never'"));
  EXPECT_TRUE(has(reasonOf("a\n{% include 'x' %}"), "line 2: the statement 'include' is not known"));
  EXPECT_TRUE(has(reasonOf("{% for m in messages %}"), "expected 'endfor' before the end"));
  EXPECT_TRUE(has(reasonOf("{{ 'a"), "line 1: expected the end of '{{'"));
  EXPECT_TRUE(has(reasonOf("{% for i in range(900000) %}{{ i }}{% endfor %}"), "in a way that is not known"));
  std::string endless =
      "{% for i in range(40000) %}{% for j in range(40000) %}{% set x = t ~ t %}{% endfor %}{% endfor %}";
  EXPECT_TRUE(has(reasonOf(endless), "it takes too many steps"));
  std::string chain = "{{ t";
  for (int i = 0; i < 20000; ++i)
    chain += ".x";
  EXPECT_TRUE(has(reasonOf(chain + " }}"), "the template cannot be read"));
  EXPECT_TRUE(has(reasonOf("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "too deeply"));
  EXPECT_TRUE(has(reasonOf(std::string(5000, '[').insert(0, "{{ ")), "the template cannot be read"));
  EXPECT_TRUE(has(reasonOf("{{ " + std::string(5000, '(') + " }}"), "expected an expression"));
  // Differs from every kind where an assistant speaks first.
  std::string odd = std::string("{% if messages[0].role == 'assistant' %}?{% endif %}") + kPlain;
  EXPECT_TRUE(has(reasonOf(odd), "it makes of assistant 'one', user 'two' the text '?<s>assistant\\none<t><s>user"));
}

TEST(ChatTemplate, BoundsWhatFunctionsMake) {
  std::string grow;
  for (int i = 0; i < 10; ++i)
    grow += "|replace('a', 'aaaaaaaa')";
  EXPECT_TRUE(has(written("{{ 'aaaaaaaa'" + grow + "|length }}"), "too many steps"));
  std::string big =
      "{% set x = 'aaaaaaaa'|replace('a', 'aaaaaaaa')|replace('a', 'aaaaaaaa')|replace('a', 'aaaaaaaa') %}";
  EXPECT_EQ(written(big + "{{ x|length }}"), "4096");
  EXPECT_TRUE(has(written(big + "{{ range(40000)|join(x)|length }}"), "too many steps"));
  std::string copies = big + "{% set ns = namespace(l=[x]) %}{% for i in range(15) %}{% set ns.l = ns.l + ns.l %}"
                             "{% endfor %}{{ ns.l|length }}";
  EXPECT_TRUE(has(written(copies), "too many steps"));
  std::string search = big + "{% set y = x|replace('a', 'aaaaaaaaaaaaaaaa') %}{{ (x ~ 'b') in y }}";
  EXPECT_TRUE(has(written(search), "too many steps"));
  EXPECT_TRUE(has(written(big + "{{ x.replace('a', x)|length }}"), "too many steps"));
  EXPECT_TRUE(has(written(big + "{% for i in range(2000) %}{{ x.split('a')|length }}{% endfor %}"), "too many steps"));
  EXPECT_TRUE(has(written("{{ range(-9223372036854775807, 9223372036854775807)|length }}"), "not known"));
  EXPECT_EQ(written("{{ 'a,b,c'.split(',', 1)[1] }}{{ 'a,b,c'.split(',')|length }}{{ 'aab'.replace('a', 'x') }}"),
            "b,c3xxb");
  EXPECT_EQ(written("{{ [1, 'b', 3]|join('-') }}{{ ['', 'b']|join('-') }}{{ ''.split(',')|length }}"), "1-b-3-b1");
}

TEST(ChatTemplate, EvaluatesWhatTemplatesUse) {
  EXPECT_EQ(written("{{ n // 2 }}{{ -n % 4 }}{{ 1 + 2 * 3 }}{{ 'x' ~ n }}{{ n == 7 and not n < 3 }}"), "317x7True");
  EXPECT_EQ(written("{{ t.split(' ')[-1] }}{{ t | length }}{{ [1, 2, 3][::-1][0] }}{{ t[1:] }}"), "b33 b");
  EXPECT_EQ(written("{{ 'y' if x is defined else 'n' }}{{ x | default('d') }}{{ {'k': 5}.k }}{{ 'k' in {'k': 1} }}"),
            "nd5True");
  EXPECT_EQ(written("{% set a = 1 %}{% for i in range(3) %}{% set a = i %}{% endfor %}{{ a }}"), "1");
  EXPECT_EQ(written("{% for i in [1, 2, 3] if i != 2 %}{{ i }}{{ ',' if not loop.last }}{% else %}-{% endfor %}"),
            "1,3");
  EXPECT_EQ(written("{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}"
                    "{% endif %}{{ i }}{% endfor %}"),
            "013");
  EXPECT_EQ(written("{% macro m(a, b='z') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}"), "[1z][12]");
  EXPECT_EQ(
      written("{% set ns = namespace(c=0) %}{% for i in [1, 2] %}{% set ns.c = ns.c + i %}{% endfor %}{{ ns.c }}"),
      "3");
  EXPECT_EQ(written("  {% if n %}\nx\n  {%- endif +%}\n{#- c #}\n{% set q %}[{{ n }}]{% endset %}{{ q }}\\\n"),
            "x[7]\\");
  EXPECT_EQ(written("{{ '\\u00e9\\n' \"'\" }}"), "\xC3\xA9\n'");
  EXPECT_EQ(written("{{ missing.member }}"), "! it takes 'member' of something that is not defined");
  EXPECT_EQ(written("{{ t | tojson }}"), "! it uses the filter 'tojson' in a way that is not known");
}

static std::vector<int32_t> idsOf(OpenedTokenizer &opened, std::vector<moert_message> messages, uint32_t generate) {
  moert::ScratchAllocator allocator = opened.scratch.allocator();
  moert::ChatProblem problem;
  size_t count = 0;
  EXPECT_EQ(moert::chatToIds(opened.tokenizer, messages.data(), messages.size(), generate, allocator, nullptr, 0,
                             &count, problem),
            MOERT_STATUS_OK);
  std::vector<int32_t> ids(count);
  moert::chatToIds(opened.tokenizer, messages.data(), messages.size(), generate, allocator, ids.data(), count, &count,
                   problem);
  EXPECT_EQ(opened.scratch.liveBytes, 0u);
  return ids;
}

static OpenedTokenizer openChat() {
  TokenizerModel model = llvm::cantFail(readTokenizerJson(smallTokenizerJson(), "small", kSmallVocabSize));
  model.chat = recognizeChatTemplate(kPlain, {});
  std::vector<uint8_t> blob = llvm::cantFail(writeTokenizerBlob(model));
  EXPECT_EQ(chatStopId(blob), std::nullopt); // "<t>" is not special
  return OpenedTokenizer(blob, kSmallVocabSize);
}

TEST(Chat, TakesNoSpecialTokenFromAMessage) {
  OpenedTokenizer opened = openChat();
  std::vector<int32_t> plain = opened.tokenize("<s>user\na<s>b<t><s>assistant\n");
  std::vector<int32_t> special = opened.tokenize("<s>user\na<s>b<t><s>assistant\n", MOERT_TOKENIZE_ALLOW_SPECIAL);
  std::vector<int32_t> found = idsOf(opened, {{"user", "a<s>b", 5}}, MOERT_CHAT_GENERATE);
  EXPECT_EQ(std::count(found.begin(), found.end(), 260), 2);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), 260), 0);
  EXPECT_EQ(std::count(special.begin(), special.end(), 260), 3);
  EXPECT_EQ(opened.detokenize(found), "<s>user\na<s>b<t><s>assistant\n");
  // Half of a token in the message, half in the template, is none.
  EXPECT_EQ(opened.detokenize(idsOf(opened, {{"user", "<", 1}}, MOERT_CHAT_NUM_TEXTS)), "<s>user\n<<t>");
}

TEST(Chat, RefusesConversationsAndSurvivesRefusedMemory) {
  OpenedTokenizer opened = openChat();
  std::string longText(3000, 'x');
  moert_message messages[] = {{"user", longText.data(), longText.size()}, {"robot", "a", 1}};
  moert::ScratchAllocator allocator = opened.scratch.allocator();
  moert::ChatProblem problem;
  size_t count = 0;
  EXPECT_EQ(
      moert::chatToIds(opened.tokenizer, messages, 2, MOERT_CHAT_GENERATE, allocator, nullptr, 0, &count, problem),
      MOERT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(problem.index, 1u);
  EXPECT_STREQ(problem.text, "has another role than system, user or assistant");
  EXPECT_EQ(moert::chatToIds(opened.tokenizer, nullptr, 0, MOERT_CHAT_GENERATE, allocator, nullptr, 0, &count, problem),
            MOERT_STATUS_INVALID_ARGUMENT);
  moert_message tooLong[] = {{"user", "", SIZE_MAX / 2}, {"user", "", SIZE_MAX / 2}};
  EXPECT_EQ(moert::chatToIds(opened.tokenizer, tooLong, 2, MOERT_CHAT_GENERATE, allocator, nullptr, 0, &count, problem),
            MOERT_STATUS_INVALID_ARGUMENT);
  for (size_t failAt = 1; failAt < 20; ++failAt) {
    opened.scratch.numBlocks = 0;
    opened.scratch.failAt = failAt;
    moert_status status =
        moert::chatToIds(opened.tokenizer, messages, 1, MOERT_CHAT_GENERATE, allocator, nullptr, 0, &count, problem);
    EXPECT_TRUE(status == MOERT_STATUS_OK || status == MOERT_STATUS_NO_MEMORY);
    EXPECT_EQ(opened.scratch.liveBytes, 0u);
  }
}
