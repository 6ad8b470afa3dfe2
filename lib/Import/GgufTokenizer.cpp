// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading of `tokenizer.ggml.*`.
#include "lib/Import/GgufTokenizer.h"

#include "lib/Support/Fault.h"
#include "lib/Support/JsonCursor.h"

#include "llvm/Support/Path.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace moec {

namespace {

constexpr llvm::StringLiteral kPrefix = "tokenizer.ggml.";

/// Reads keys one after the other and keeps the first error.
class TokenizerKeys {
public:
  explicit TokenizerKeys(const JsonCursor &root) : root(root) {}

  std::string text(StringRef key) {
    return required<std::string>(key, [](JsonCursor at) { return at.string(); });
  }
  std::vector<std::string> texts(StringRef key) {
    return list<std::string>(key, [](JsonCursor at) { return at.string(); });
  }
  std::vector<int32_t> integers(StringRef key) {
    return list<int32_t>(key, [](JsonCursor at) { return at.integer(INT32_MIN, INT32_MAX); });
  }
  bool isThere(StringRef key) const { return root.find((kPrefix + key).str()).has_value(); }
  bool flag(StringRef key) {
    return isThere(key) && required<bool>(key, [](JsonCursor at) { return at.boolean(); });
  }
  std::optional<uint32_t> id(StringRef key) {
    if (!isThere(key))
      return std::nullopt;
    return required<uint32_t>(key, [](JsonCursor at) { return at.integer(0, INT32_MAX); });
  }
  Error take() { return message ? fault(*message) : Error::success(); }

private:
  template <typename T, typename Value> T keep(Expected<Value> value) {
    if (value)
      return static_cast<T>(*value);
    std::string text = llvm::toString(value.takeError());
    message = message ? message : std::optional(std::move(text));
    return T();
  }
  template <typename T, typename Read> T required(StringRef key, Read read) {
    Expected<JsonCursor> at = root.at((kPrefix + key).str());
    if (at)
      return keep<T>(read(*at));
    return keep<T>(Expected<T>(at.takeError()));
  }
  template <typename T, typename Read> std::vector<T> list(StringRef key, Read read) {
    std::vector<T> values;
    auto elements = required<std::vector<JsonCursor>>(key, [](JsonCursor at) { return at.elements(); });
    for (const JsonCursor &element : elements) {
      if (message)
        break;
      values.push_back(keep<T>(read(element)));
    }
    return values;
  }

  const JsonCursor &root;
  std::optional<std::string> message;
};

} // namespace

Expected<TokenizerParts> ggufTokenizerParts(const GgufFile &file, StringRef name, uint32_t vocabSize) {
  JsonCursor root(name, file.metadata());
  TokenizerKeys keys(root);
  TokenizerParts parts;
  parts.name = name.str();
  parts.vocabSize = vocabSize;
  parts.model = keys.text("model");
  if (Error error = keys.take())
    return std::move(error);
  // Other models have other keys; the tokenizer says why they are refused.
  if (parts.model != "gpt2")
    return std::move(parts);
  parts.pre = keys.text("pre");
  parts.tokens = keys.texts("tokens");
  if (keys.isThere("token_type"))
    parts.types = keys.integers("token_type");
  parts.merges = keys.texts("merges");
  parts.bosId = keys.id("bos_token_id");
  parts.eosId = keys.id("eos_token_id");
  parts.addBos = keys.flag("add_bos_token");
  parts.addEos = keys.flag("add_eos_token");
  if (std::optional<JsonCursor> chat = root.find("tokenizer.chat_template"))
    if (Error error = chat->string().moveInto(parts.chatTemplate))
      return std::move(error);
  if (Error error = keys.take())
    return std::move(error);
  return std::move(parts);
}

Expected<std::vector<uint8_t>> buildGgufTokenizer(StringRef path, uint32_t vocabSize) {
  std::string name = llvm::sys::path::filename(path).str();
  Expected<GgufFile> file = GgufFile::open(path, name);
  if (!file)
    return file.takeError();
  Expected<TokenizerParts> parts = ggufTokenizerParts(*file, name, vocabSize);
  if (!parts)
    return parts.takeError();
  Expected<TokenizerModel> model = makeTokenizerModel(*parts);
  if (!model)
    return model.takeError();
  Expected<std::vector<uint8_t>> blob = writeTokenizerBlob(*model);
  if (!blob)
    return fault(name + ": " + llvm::toString(blob.takeError()));
  return blob;
}

} // namespace moec
