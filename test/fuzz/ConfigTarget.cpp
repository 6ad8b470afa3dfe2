// SPDX-License-Identifier: Apache-2.0
/// \file
/// config.json and generation_config.json, and for small models the graph that follows from them.
#include "test/fuzz/Targets.h"

#include "lib/Import/GraphBuilder.h"
#include "passes/Pipelines.h"

#include "mlir/IR/Verifier.h"

namespace moec::fuzz {

namespace {

/// Larger models cost more than an input is worth.
bool isSmall(const ModelConfig &config) {
  const DeltaConfig &delta = config.delta;
  return config.numLayers <= 4 && config.numExperts <= 4 && config.hiddenSize <= 64 && config.numHeads <= 8 &&
         config.headDim <= 32 && config.moeIntermediateSize <= 64 && config.vocabSize <= 512 && config.ffnSize <= 128 &&
         config.sharedIntermediateSize <= 64 && delta.numKeyHeads * delta.keyDim <= 64 &&
         delta.numValueHeads * delta.valueDim <= 64;
}

/// A weight file with every tensor that the config asks for; all values are holes of the file.
void writeWeights(const ModelConfig &config) {
  std::string header = "{";
  uint64_t end = 0;
  llvm::cantFail(forEachExpectedTensor(config, [&](llvm::StringRef name, llvm::ArrayRef<uint64_t> shape) {
    uint64_t begin = end, count = 1;
    for (uint64_t extent : shape)
      count *= extent;
    end += 2 * count;
    header += (header.size() > 1 ? ",\"" : "\"") + name.str() +
              "\":{\"dtype\":\"BF16\",\"shape\":" + formatShape(shape) + ",\"data_offsets\":[" + std::to_string(begin) +
              "," + std::to_string(end) + "]}";
    return llvm::Error::success();
  }));
  header += "}";
  std::string content;
  for (unsigned i = 0; i < 8; ++i)
    content += static_cast<char>(uint64_t(header.size()) >> (8 * i));
  content += header;
  writeScratch("model.safetensors", content, content.size() + end);
}

void buildGraph(llvm::StringRef configText, llvm::StringRef generationText, const ModelConfig &config) {
  writeScratch("config.json", configText);
  writeScratch("generation_config.json", generationText.empty() ? "{}" : generationText);
  writeScratch("tokenizer.json", "{}");
  writeWeights(config);
  llvm::Expected<Checkpoint> checkpoint = Checkpoint::open(scratchFolder());
  if (!checkpoint)
    return expectMessage(checkpoint.takeError());
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  GraphOptions options;
  options.context = 64;
  auto module = buildModelModule(context, *checkpoint, options);
  if (!module)
    return expectMessage(module.takeError());
  expect(mlir::succeeded(mlir::verify(**module)), "the graph builder makes a module that does not verify");
}

} // namespace

void fuzzConfig(Bytes input) {
  auto [configText, generationText] = splitAtZero(input);
  llvm::Expected<Json> json = parseJson(configText, "config.json");
  if (!json)
    return expectMessage(json.takeError());
  llvm::Expected<ModelConfig> config = parseModelConfig(JsonCursor("config.json", *json));
  if (!config)
    return expectMessage(config.takeError());
  expect(config->numKvHeads && config->numHeads % config->numKvHeads == 0 && config->topK <= config->numExperts &&
             config->layers.size() == config->numLayers && config->rope.dim % 2 == 0 &&
             config->rope.dim <= config->headDim,
         "a config passes whose numbers do not fit together");
  if (llvm::Expected<Json> generation = parseJson(generationText, "generation_config.json"))
    expectMessage(parseGenerationConfig(JsonCursor("generation_config.json", *generation), *config).takeError());
  else
    expectMessage(generation.takeError());
  if (isSmall(*config))
    buildGraph(configText, generationText, *config);
}

} // namespace moec::fuzz
