// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads tokenizer.json of a checkpoint into a TokenizerModel. Part of the import step.
#include "lib/Tokenizer/TokenizerJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace moec {

namespace {

struct KnownPattern {
  moetok_pattern id;
  StringRef text;
};

/// The regexes that runtime/tokenizer/Pretokenize.cpp has by hand. Compared as text: one character of difference is
/// another tokenizer.
constexpr KnownPattern kPatterns[] = {
    {MOETOK_PATTERN_QWEN2,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {MOETOK_PATTERN_QWEN35,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

/// What a value is, for messages.
std::string describe(const json::Value *value) {
  if (!value)
    return "nothing";
  std::string text;
  llvm::raw_string_ostream(text) << *value;
  // Long enough for a regex, short enough for a line.
  return text.size() > 200 ? text.substr(0, 200) + "..." : text;
}

class Reader {
public:
  Reader(StringRef name, TokenizerModel &model) : name(name), model(model) {}

  Error read(const json::Value &root);

private:
  Error fault(const Twine &path, const Twine &text) const {
    return llvm::createStringError(std::make_error_code(std::errc::invalid_argument), name + ": " + path + ": " + text);
  }
  Error expects(const Twine &path, const Twine &what, const json::Value *found) const {
    return fault(path, "expected " + what + ", but found " + describe(found));
  }
  /// The option may be absent, null or `neutral`.
  Error expectNeutral(const json::Object &object, const Twine &path, StringRef key, const json::Value &neutral) const;

  Error readOptions(const json::Object &bpe);
  Error readVocab(const json::Object &bpe);
  Error placeToken(const Twine &path, int64_t id, StringRef bytes);
  Error readMerges(const json::Object &bpe);
  Error readMerge(size_t rank, const json::Value &entry);
  Error readAdded(const json::Object &root);
  Error readAddedToken(size_t index, const json::Value &entry);
  Error readNormalizer(const json::Value *normalizer);
  Error readPreTokenizer(const json::Value *preTokenizer);
  Error readSplit(const json::Object &split);
  Error checkOutputSide(const json::Object &root) const;
  Error checkDense() const;

  StringRef name;
  TokenizerModel &model;
  llvm::StringMap<uint32_t> idByText; // texts of model.vocab, as written there
  std::vector<bool> placed;           // by id
};

Error Reader::expectNeutral(const json::Object &object, const Twine &path, StringRef key,
                            const json::Value &neutral) const {
  const json::Value *value = object.get(key);
  if (!value || value->kind() == json::Value::Null || *value == neutral)
    return Error::success();
  return expects(path + "." + key, describe(&neutral), value);
}

Error Reader::readOptions(const json::Object &bpe) {
  if (bpe.getString("type") != StringRef("BPE"))
    return expects("model.type", "\"BPE\"", bpe.get("type"));
  for (StringRef key : {"byte_fallback", "ignore_merges"})
    if (Error error = expectNeutral(bpe, "model", key, false))
      return error;
  for (StringRef key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (Error error = expectNeutral(bpe, "model", key, ""))
      return error;
  return expectNeutral(bpe, "model", "dropout", nullptr);
}

Error Reader::placeToken(const Twine &path, int64_t id, StringRef bytes) {
  if (id < 0 || id >= static_cast<int64_t>(model.vocabSize))
    return fault(path, "expected an id from 0 to " + Twine(model.vocabSize) + " - 1 (vocab_size of the config), but found " +
                           Twine(id));
  size_t index = static_cast<size_t>(id);
  if (index >= model.tokens.size()) {
    model.tokens.resize(index + 1);
    placed.resize(index + 1);
  }
  if (placed[index] && model.tokens[index] != bytes)
    return fault(path, "id " + Twine(id) + " already stands for '" + model.tokens[index] + "'");
  placed[index] = true;
  model.tokens[index] = bytes.str();
  return Error::success();
}

Error Reader::readVocab(const json::Object &bpe) {
  const json::Object *vocab = bpe.getObject("vocab");
  if (!vocab)
    return expects("model.vocab", "an object from token to id", bpe.get("vocab"));
  model.byteIds.fill(UINT32_MAX);
  for (const auto &entry : *vocab) {
    StringRef text = entry.first;
    std::string path = ("model.vocab[\"" + text + "\"]").str(), bytes;
    std::optional<int64_t> id = entry.second.getAsInteger();
    if (!id)
      return expects(path, "an id", &entry.second);
    if (!decodeByteLevel(text, bytes))
      return fault(path, "expected only the 256 code points of byte-level BPE");
    if (*id >= 0 && static_cast<size_t>(*id) < placed.size() && placed[*id])
      return fault(path, "id " + Twine(*id) + " already stands for '" + model.tokens[*id] + "'");
    if (Error error = placeToken(path, *id, bytes))
      return error;
    idByText[text] = static_cast<uint32_t>(*id);
    if (bytes.size() == 1)
      model.byteIds[static_cast<uint8_t>(bytes[0])] = static_cast<uint32_t>(*id);
  }
  return Error::success();
}

Error Reader::readMerge(size_t rank, const json::Value &entry) {
  std::string path = ("model.merges[" + Twine(rank) + "]").str();
  StringRef left, right;
  if (std::optional<StringRef> text = entry.getAsString()) {
    std::tie(left, right) = text->split(' ');
  } else if (const json::Array *pair = entry.getAsArray(); pair && pair->size() == 2) {
    left = (*pair)[0].getAsString().value_or("");
    right = (*pair)[1].getAsString().value_or("");
  }
  if (left.empty() || right.empty() || right.contains(' '))
    return expects(path, "two tokens, as \"a b\" or [\"a\", \"b\"]", &entry);
  std::string merged = (left + right).str();
  const StringRef texts[3] = {left, right, merged};
  uint32_t ids[3];
  for (int i = 0; i < 3; ++i) {
    auto found = idByText.find(texts[i]);
    if (found == idByText.end())
      return fault(path, "expected tokens of model.vocab, but '" + texts[i] + "' is not in it");
    ids[i] = found->second;
  }
  model.merges.push_back({ids[0], ids[1], ids[2]});
  return Error::success();
}

Error Reader::readMerges(const json::Object &bpe) {
  const json::Array *merges = bpe.getArray("merges");
  if (!merges)
    return expects("model.merges", "an array", bpe.get("merges"));
  for (auto [rank, entry] : llvm::enumerate(*merges))
    if (Error error = readMerge(rank, entry))
      return error;
  return Error::success();
}

Error Reader::readAddedToken(size_t index, const json::Value &entry) {
  std::string path = ("added_tokens[" + Twine(index) + "]").str();
  const json::Object *token = entry.getAsObject();
  if (!token)
    return expects(path, "an object", &entry);
  std::optional<int64_t> id = token->getInteger("id");
  std::optional<StringRef> content = token->getString("content");
  if (!id)
    return expects(path + ".id", "an id", token->get("id"));
  if (!content || content->empty())
    return expects(path + ".content", "a text", token->get("content"));
  for (StringRef key : {"single_word", "lstrip", "rstrip"})
    if (Error error = expectNeutral(*token, path, key, false))
      return error;
  // A token looked for after normalization may match where the text as written has none.
  if (model.normalizeNfc)
    if (Error error = expectNeutral(*token, path, "normalized", false))
      return error;
  if (Error error = placeToken(path, *id, *content))
    return error;
  model.added.push_back({static_cast<uint32_t>(*id), token->getBoolean("special").value_or(false)});
  return Error::success();
}

Error Reader::readAdded(const json::Object &root) {
  const json::Value *value = root.get("added_tokens");
  if (!value || value->kind() == json::Value::Null)
    return Error::success();
  const json::Array *tokens = value->getAsArray();
  if (!tokens)
    return expects("added_tokens", "an array", value);
  for (auto [index, entry] : llvm::enumerate(*tokens))
    if (Error error = readAddedToken(index, entry))
      return error;
  return Error::success();
}

Error Reader::readNormalizer(const json::Value *normalizer) {
  if (!normalizer || normalizer->kind() == json::Value::Null)
    return Error::success();
  const json::Object *object = normalizer->getAsObject();
  if (!object || object->getString("type") != StringRef("NFC"))
    return expects("normalizer", "null or {\"type\": \"NFC\"}", normalizer);
  model.normalizeNfc = true;
  return Error::success();
}

Error Reader::readSplit(const json::Object &split) {
  std::string path = "pre_tokenizer.pretokenizers[0]";
  const json::Object *pattern = split.getObject("pattern");
  std::optional<StringRef> regex = pattern ? pattern->getString("Regex") : std::nullopt;
  const KnownPattern *known =
      llvm::find_if(kPatterns, [&](const KnownPattern &candidate) { return regex && *regex == candidate.text; });
  if (known == std::end(kPatterns))
    return expects(path + ".pattern", "the split regex of Qwen2 and Qwen3 or that of Qwen3.5", split.get("pattern"));
  if (split.getString("behavior") != StringRef("Isolated"))
    return expects(path + ".behavior", "\"Isolated\"", split.get("behavior"));
  model.pattern = known->id;
  return expectNeutral(split, path, "invert", false);
}

Error Reader::readPreTokenizer(const json::Value *preTokenizer) {
  const json::Object *object = preTokenizer ? preTokenizer->getAsObject() : nullptr;
  const json::Array *parts = object ? object->getArray("pretokenizers") : nullptr;
  if (!parts || object->getString("type") != StringRef("Sequence") || parts->size() != 2)
    return expects("pre_tokenizer", "a Sequence of Split and ByteLevel", preTokenizer);
  const json::Object *split = (*parts)[0].getAsObject(), *byteLevel = (*parts)[1].getAsObject();
  if (!split || split->getString("type") != StringRef("Split"))
    return expects("pre_tokenizer.pretokenizers[0]", "a Split", &(*parts)[0]);
  if (!byteLevel || byteLevel->getString("type") != StringRef("ByteLevel"))
    return expects("pre_tokenizer.pretokenizers[1]", "ByteLevel", &(*parts)[1]);
  for (StringRef key : {"add_prefix_space", "use_regex"}) {
    // Both are true where they are absent.
    if (byteLevel->getBoolean(key) != std::optional<bool>(false))
      return expects("pre_tokenizer.pretokenizers[1]." + key, "false", byteLevel->get(key));
  }
  return readSplit(*split);
}

Error Reader::checkOutputSide(const json::Object &root) const {
  for (StringRef key : {"decoder", "post_processor"}) {
    const json::Value *value = root.get(key);
    const json::Object *object = value ? value->getAsObject() : nullptr;
    bool absent = !value || value->kind() == json::Value::Null;
    if (!absent && (!object || object->getString("type") != StringRef("ByteLevel")))
      return expects(key, "null or ByteLevel", value);
  }
  return Error::success();
}

Error Reader::checkDense() const {
  auto hole = llvm::find(placed, false);
  if (hole != placed.end())
    return fault("model.vocab", "expected ids without gaps, but id " + Twine(hole - placed.begin()) + " of " +
                                    Twine(placed.size()) + " has no token");
  return Error::success();
}

Error Reader::read(const json::Value &root) {
  const json::Object *object = root.getAsObject();
  const json::Object *bpe = object ? object->getObject("model") : nullptr;
  if (!bpe)
    return expects("model", "an object", object ? object->get("model") : &root);
  if (Error error = readOptions(*bpe))
    return error;
  if (Error error = readNormalizer(object->get("normalizer")))
    return error;
  if (Error error = readPreTokenizer(object->get("pre_tokenizer")))
    return error;
  if (Error error = checkOutputSide(*object))
    return error;
  if (Error error = readVocab(*bpe))
    return error;
  if (Error error = readMerges(*bpe))
    return error;
  if (Error error = readAdded(*object))
    return error;
  return checkDense();
}

} // namespace

Expected<TokenizerModel> readTokenizerJson(StringRef text, StringRef name, uint32_t vocabSize) {
  Expected<json::Value> root = json::parse(text);
  if (!root)
    return llvm::createStringError(std::make_error_code(std::errc::invalid_argument),
                                   name + ": expected JSON: " + llvm::toString(root.takeError()));
  TokenizerModel model;
  model.vocabSize = vocabSize;
  if (Error error = Reader(name, model).read(*root))
    return error;
  return model;
}

Expected<std::vector<uint8_t>> buildTokenizerBlob(StringRef path, uint32_t vocabSize) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(file.getError(), "cannot read " + path + ": " + file.getError().message());
  Expected<TokenizerModel> model = readTokenizerJson((*file)->getBuffer(), path, vocabSize);
  if (!model)
    return model.takeError();
  Expected<std::vector<uint8_t>> blob = writeTokenizerBlob(*model);
  if (!blob)
    return llvm::createStringError(std::make_error_code(std::errc::invalid_argument),
                                   path + ": " + llvm::toString(blob.takeError()));
  return blob;
}

} // namespace moec
