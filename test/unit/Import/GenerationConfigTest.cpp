// SPDX-License-Identifier: Apache-2.0
/// \file
/// generation_config.json: defaults, limits, and what the sampler cannot do.
#include "test/unit/Import/TinyCheckpoint.h"

using namespace moec;
using namespace moec::test;

static llvm::Expected<GenerationConfig> parse(llvm::StringRef text) {
  Json model = tinyConfig();
  Json json = llvm::cantFail(parseJson(text, "generation_config.json"));
  return parseGenerationConfig(JsonCursor("generation_config.json", json),
                               llvm::cantFail(parseModelConfig(JsonCursor("config.json", model))));
}

static GenerationConfig accepted(llvm::StringRef text) {
  llvm::Expected<GenerationConfig> result = parse(text);
  EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
  return result ? *result : GenerationConfig();
}

TEST(GenerationConfig, SamplingNeedsDoSample) {
  GenerationConfig sampled = accepted(R"({"do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.9})");
  EXPECT_EQ(sampled.temperature, 0.5);
  EXPECT_EQ(sampled.topK, 7u);
  EXPECT_EQ(sampled.topP, 0.9);
  EXPECT_EQ(accepted(R"({"do_sample": false, "temperature": 0.5})").temperature, 0);
  EXPECT_EQ(accepted(R"({"temperature": 0.5})").temperature, 0);
  EXPECT_EQ(accepted(R"({"do_sample": true})").temperature, 1);
  EXPECT_EQ(accepted(R"({"do_sample": true})").topK, 50u);
  EXPECT_EQ(accepted(R"({"do_sample": true, "top_k": null})").topK, 0u);
}

TEST(GenerationConfig, StopIdsFallBackToTheModel) {
  EXPECT_EQ(accepted("{}").eosIds, std::vector<uint32_t>{15});
  EXPECT_EQ(accepted(R"({"eos_token_id": 3})").eosIds, std::vector<uint32_t>{3});
  EXPECT_EQ(accepted(R"({"eos_token_id": [3, 4]})").eosIds, (std::vector<uint32_t>{3, 4}));
}

TEST(GenerationConfig, NamesWhatTheSamplerIgnores) {
  EXPECT_EQ(accepted(R"({"repetition_penalty": 1.05, "min_p": 0})").ignored,
            std::vector<std::string>{"repetition_penalty is 1.05"});
}

TEST(GenerationConfig, RefusesWrongValues) {
  struct {
    const char *text, *why;
  } cases[] = {{R"({"eos_token_id": 16})", "eos_token_id is 16, expects 0 to 15 (vocab_size)"},
               {R"({"eos_token_id": [-1]})", "eos_token_id[0] is -1, expects 0 to 15"},
               {R"({"eos_token_id": "x"})", "eos_token_id is \"x\", expects an integer"},
               {R"({"do_sample": 1})", "do_sample is 1, expects true or false"},
               {R"({"temperature": -0.1})", "temperature is -0.1, expects a number from 0.0 to 100.0"},
               {R"({"top_k": -1})", "top_k is -1, expects 0 to 2147483647"},
               {R"({"top_p": 0})", "top_p is 0, expects more than 0, at most 1"},
               {R"({"top_p": 1.5})", "top_p is 1.5, expects a number from 0.0 to 1.0"},
               {"[]", "the document is an array of 0, expects an object"}};
  for (const auto &one : cases)
    EXPECT_EQ(errorText(parse(one.text)).substr(0, 24), "generation_config.json: ") << one.text;
  for (const auto &one : cases)
    EXPECT_TRUE(contains(errorText(parse(one.text)), one.why));
}
