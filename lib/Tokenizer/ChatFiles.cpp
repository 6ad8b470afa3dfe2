// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads the chat template of a Hugging Face folder. Part of the import step.
#include "lib/Tokenizer/ChatFiles.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Files.h"
#include "lib/Support/Json.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace moec {

namespace {

constexpr uint64_t kMostBytes = 16u << 20;

/// What tokenizer_config.json says about chats.
struct ChatConfig {
  ChatTokens tokens;
  std::optional<std::string> text;
};

/// A token as a text or as an object with a text; empty where it is missing or null.
Expected<std::string> tokenAt(const JsonObject &object, StringRef key, const Twine &name) {
  const Json *value = object.find(key);
  if (!value || value->isNull())
    return std::string();
  const Json *content = value->asObject() ? value->asObject()->find("content") : value;
  const std::string *text = content ? content->asString() : nullptr;
  if (!text)
    return fault(name + ": " + key + ": expected a text or an object with \"content\", but found " + value->describe());
  return *text;
}

/// The template: a text, or the one with the name "default" of several.
Expected<std::optional<std::string>> templateAt(const JsonObject &object, const Twine &name) {
  const Json *value = object.find("chat_template");
  if (!value || value->isNull())
    return std::nullopt;
  if (const std::string *text = value->asString())
    return *text;
  const JsonArray *list = value->asArray();
  if (!list)
    return fault(name + ": chat_template: expected a text or an array, but found " + value->describe());
  for (const Json &entry : *list) {
    const JsonObject *named = entry.asObject();
    const Json *label = named ? named->find("name") : nullptr, *text = named ? named->find("template") : nullptr;
    if (!label || !label->asString() || !text || !text->asString())
      return fault(name + ": chat_template: expected objects with \"name\" and \"template\", but found " +
                   entry.describe());
    if (*label->asString() == "default")
      return *text->asString();
  }
  return std::nullopt;
}

Expected<ChatConfig> readConfig(StringRef path) {
  ChatConfig config;
  if (!llvm::sys::fs::exists(path))
    return config;
  Expected<Json> root = parseJsonFile(path, "", kMostBytes);
  if (!root)
    return root.takeError();
  const JsonObject *object = root->asObject();
  if (!object)
    return fault(path + ": expected an object, but found " + root->describe());
  Expected<std::string> bos = tokenAt(*object, "bos_token", path);
  if (!bos)
    return bos.takeError();
  Expected<std::string> eos = tokenAt(*object, "eos_token", path);
  if (!eos)
    return eos.takeError();
  Expected<std::optional<std::string>> text = templateAt(*object, path);
  if (!text)
    return text.takeError();
  config.tokens = {*bos, *eos};
  config.text = *text;
  return config;
}

} // namespace

Expected<ChatTemplate> readChatTemplate(StringRef folder) {
  llvm::SmallString<128> configPath(folder), templatePath(folder);
  llvm::sys::path::append(configPath, "tokenizer_config.json");
  llvm::sys::path::append(templatePath, "chat_template.jinja");
  Expected<ChatConfig> config = readConfig(configPath);
  if (!config)
    return config.takeError();
  if (llvm::sys::fs::exists(templatePath)) {
    Expected<std::string> text = readTextFile(templatePath, kMostBytes);
    if (!text)
      return text.takeError();
    config->text = std::move(*text);
  }
  if (!config->text)
    return noChatTemplate("the checkpoint has no chat template, neither chat_template.jinja nor one in "
                          "tokenizer_config.json",
                          true);
  return recognizeChatTemplate(*config->text, config->tokens);
}

} // namespace moec
