// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads configs and writes random checkpoints.
#include "lib/Compiler/RandomModels.h"

#include "lib/Import/GgufModel.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Json.h"
#include "lib/Support/Sizes.h"
#include "lib/Synth/BuiltInConfigs.h"
#include "lib/Synth/ByteTokenizer.h"
#include "lib/Synth/CheckpointFolder.h"
#include "lib/Tokenizer/TokenizerJson.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace moec {

namespace {

constexpr uint64_t kMaxConfigBytes = 16 << 20;
constexpr uint64_t kMaxTokenizerBytes = 256 << 20;

llvm::ArrayRef<EmbeddedText> builtIn() { return {kBuiltInConfigs, kNumBuiltInConfigs}; }

/// The text of FOLDER/NAME, or nothing if there is no such file.
llvm::Error readOptional(llvm::StringRef folder, llvm::StringRef name, std::string &text) {
  std::string path = (folder + "/" + name).str();
  if (!llvm::sys::fs::exists(path))
    return llvm::Error::success();
  return readTextFile(path, kMaxConfigBytes).moveInto(text);
}

/// What a folder is called, also for "." and "folder/".
std::string folderName(llvm::StringRef folder) {
  llvm::SmallString<256> path(folder);
  if (llvm::sys::fs::make_absolute(path))
    return folder.str();
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return llvm::sys::path::filename(llvm::StringRef(path).rtrim('/')).str();
}

/// The generation config that goes with generated weights: the most likely token, and the stop ids of the config.
std::string defaultGeneration(const Checkpoint &checkpoint) {
  JsonObject object;
  if (!checkpoint.generation().eosIds.empty())
    object.set("eos_token_id", JsonArray(checkpoint.generation().eosIds.begin(), checkpoint.generation().eosIds.end()));
  object.set("do_sample", false);
  return writeJson(std::move(object)) + "\n";
}

/// Config, generation config and tokenizer of a gguf file.
llvm::Expected<RandomModel> readGgufModel(llvm::StringRef path) {
  RandomModel model;
  model.name = llvm::sys::path::stem(path).str();
  model.configName = llvm::sys::path::filename(path).str();
  model.tokenizer = path.str();
  auto file = GgufFile::open(path, model.configName);
  if (!file)
    return file.takeError();
  auto translated = translateGguf(*file, model.configName);
  if (!translated)
    return translated.takeError();
  model.keys = std::move(translated->keys);
  model.config = writeJson(translated->config);
  model.generation = writeJson(translated->generation);
  return model;
}

/// The text of tokenizer.json, which the importer would accept.
llvm::Expected<std::string> tokenizerText(const RandomModel &model, uint64_t vocabSize) {
  if (isGgufFile(model.tokenizer))
    return fault("synth takes a config and writes a checkpoint folder, but '" + model.tokenizer +
                 "' is a gguf file, whose tokenizer cannot be written as tokenizer.json; give a config.json, or a "
                 "tokenizer by --tokenizer");
  auto text =
      model.tokenizer.empty() ? byteTokenizerJson(vocabSize) : readTextFile(model.tokenizer, kMaxTokenizerBytes);
  if (!text)
    return text.takeError();
  llvm::StringRef name = model.tokenizer.empty() ? llvm::StringRef("tokenizer.json") : model.tokenizer;
  if (auto blob = buildTokenizerBlob(*text, name, static_cast<uint32_t>(vocabSize)); !blob)
    return blob.takeError();
  return text;
}

} // namespace

std::vector<std::string> builtInConfigNames() {
  std::vector<std::string> names;
  for (const EmbeddedText &config : builtIn())
    names.push_back(config.name);
  return names;
}

llvm::Expected<RandomModel> readRandomModel(llvm::StringRef config) {
  RandomModel model;
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(config, status)) {
    auto known = llvm::find_if(builtIn(), [&](const EmbeddedText &entry) { return config == entry.name; });
    if (known == builtIn().end())
      return fault("config '" + config +
                   "' does not exist; expects a config.json, a folder that holds one, or one of " +
                   llvm::join(builtInConfigNames(), ", "));
    model.name = known->name;
    model.config = known->text;
    model.configName = model.name + ".json";
    return model;
  }
  if (isGgufFile(config))
    return readGgufModel(config);
  std::string path = config.str(), folder;
  if (status.type() == llvm::sys::fs::file_type::directory_file) {
    folder = config.size() > 1 ? config.rtrim('/').str() : path;
    path = folder + "/config.json";
    if (!llvm::sys::fs::exists(path))
      return fault("'" + config + "' has no config.json");
    if (llvm::Error error = readOptional(folder, "generation_config.json", model.generation))
      return std::move(error);
    if (llvm::sys::fs::exists(folder + "/tokenizer.json"))
      model.tokenizer = folder + "/tokenizer.json";
  } else if (llvm::sys::path::filename(path) == "config.json") {
    folder = llvm::sys::path::parent_path(path).str();
    folder = folder.empty() ? "." : folder;
  }
  model.name = folder.empty() ? llvm::sys::path::stem(path).str() : folderName(folder);
  model.configName = path;
  if (llvm::Error error = readTextFile(path, kMaxConfigBytes).moveInto(model.config))
    return std::move(error);
  return model;
}

llvm::Error synthesize(const SynthOptions &options, llvm::raw_ostream &progress) {
  auto model = readRandomModel(options.config);
  if (!model)
    return model.takeError();
  model->seed = options.seed;
  model->zipfThousandths = options.zipfThousandths;
  model->shardBytes = options.shardBytes;
  model->type = options.dtype == "f32" ? RandomType::F32 : options.dtype == "f16" ? RandomType::F16 : RandomType::BF16;
  if (!options.tokenizer.empty())
    model->tokenizer = options.tokenizer;
  auto checkpoint = Checkpoint::random(*model);
  if (!checkpoint)
    return checkpoint.takeError();
  auto tokenizer = tokenizerText(*model, checkpoint->config().vocabSize);
  if (!tokenizer)
    return tokenizer.takeError();
  std::string generation = model->generation.empty() ? defaultGeneration(*checkpoint) : model->generation;
  const TextFile texts[] = {{"config.json", model->config},
                            {"generation_config.json", generation},
                            {"tokenizer.json", std::move(*tokenizer)}};
  const RandomCheckpoint &weights = *checkpoint->generated();
  int shown = -1;
  return writeCheckpointFolder(weights, texts, options.output, [&](uint64_t done, uint64_t total) {
    if (shown < 0)
      progress << "moec: synth    " << options.output << ", " << formatSize(total) << " in " << weights.files().size()
               << (weights.files().size() == 1 ? " file" : " files") << ", seed " << options.seed << "\n";
    shown = std::max(shown, 0);
    int tenth = static_cast<int>(done / (total / 10 + 1));
    if (tenth > shown && total > (uint64_t(256) << 20))
      progress << "moec: synth    " << tenth * 10 << " %\n";
    shown = std::max(shown, tenth);
  });
}

} // namespace moec
