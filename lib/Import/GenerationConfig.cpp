// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading of generation_config.json.
#include "lib/Import/GenerationConfig.h"

using llvm::Error;
using llvm::Expected;

namespace moec {

namespace {

constexpr double kMaxTemperature = 100;
// What transformers uses when a file asks for sampling and leaves top_k out.
constexpr uint32_t kDefaultTopK = 50;

struct Neutral {
  llvm::StringLiteral key;
  double value;
};

// Options that the sampler does not have, with the value that means "off".
constexpr Neutral kUnsupported[] = {
    {"repetition_penalty", 1}, {"min_p", 0}, {"typical_p", 1}, {"num_beams", 1}, {"no_repeat_ngram_size", 0}};

Error readSampling(const JsonCursor &root, GenerationConfig &result) {
  result.temperature = 1;
  if (std::optional<JsonCursor> field = root.find("temperature")) {
    Expected<double> temperature = field->number(0, kMaxTemperature);
    if (!temperature)
      return temperature.takeError();
    result.temperature = *temperature;
  }
  result.topK = kDefaultTopK;
  if (const Json *value = root.json().asObject()->find("top_k"); value && value->isNull())
    result.topK = 0;
  if (std::optional<JsonCursor> field = root.find("top_k")) {
    Expected<int64_t> topK = field->integer(0, INT32_MAX);
    if (!topK)
      return topK.takeError();
    result.topK = static_cast<uint32_t>(*topK);
  }
  if (std::optional<JsonCursor> field = root.find("top_p")) {
    Expected<double> topP = field->number(0, 1);
    if (!topP)
      return topP.takeError();
    if (*topP == 0)
      return field->wrong("more than 0, at most 1");
    result.topP = *topP;
  }
  return Error::success();
}

} // namespace

GenerationConfig defaultGenerationConfig(const ModelConfig &config) {
  GenerationConfig result;
  result.eosIds = config.eosIds;
  return result;
}

Expected<GenerationConfig> parseGenerationConfig(const JsonCursor &root, const ModelConfig &config) {
  if (!root.json().asObject())
    return root.wrong("an object");
  GenerationConfig result = defaultGenerationConfig(config);
  if (std::optional<JsonCursor> field = root.find("eos_token_id")) {
    Expected<std::vector<uint32_t>> ids = parseTokenIds(*field, config.vocabSize);
    if (!ids)
      return ids.takeError();
    result.eosIds = std::move(*ids);
  }
  bool doSample = false;
  if (std::optional<JsonCursor> field = root.find("do_sample")) {
    Expected<bool> flag = field->boolean();
    if (!flag)
      return flag.takeError();
    doSample = *flag;
  }
  // The values are checked also where greedy choice makes them idle.
  GenerationConfig sampling = result;
  if (Error error = readSampling(root, sampling))
    return std::move(error);
  if (doSample)
    result = std::move(sampling);
  for (const Neutral &option : kUnsupported)
    if (std::optional<JsonCursor> field = root.find(option.key); field && field->json().asDouble() != option.value)
      result.ignored.push_back((option.key + " is " + field->json().describe()).str());
  return std::move(result);
}

} // namespace moec
