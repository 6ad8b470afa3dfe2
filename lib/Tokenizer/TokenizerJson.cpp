// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads tokenizer.json of a checkpoint into a TokenizerModel. Part of the import step.
#include "lib/Tokenizer/TokenizerJson.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <optional>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace moec {

namespace {

struct KnownPattern {
  moetok_pattern id;
  StringRef text;
};

/// The regexes that runtime/tokenizer/Pretokenize.cpp has by hand. Compared as text: one character of difference is
/// another tokenizer.
constexpr KnownPattern kPatterns[] = {
    {MOETOK_PATTERN_QWEN2, R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                           R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {MOETOK_PATTERN_QWEN35, R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
                            R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

/// Members of an object; each gives nothing where the member is missing or of another kind.
std::optional<StringRef> stringAt(const JsonObject &object, StringRef key) {
  const Json *value = object.find(key);
  const std::string *text = value ? value->asString() : nullptr;
  return text ? std::optional<StringRef>(*text) : std::nullopt;
}

const JsonObject *objectAt(const JsonObject &object, StringRef key) {
  const Json *value = object.find(key);
  return value ? value->asObject() : nullptr;
}

const JsonArray *arrayAt(const JsonObject &object, StringRef key) {
  const Json *value = object.find(key);
  return value ? value->asArray() : nullptr;
}

bool isFalse(const Json *value) { return value && value->asBool() == false; }
bool isAbsent(const Json *value) { return !value || value->isNull(); }

class Reader {
public:
  Reader(StringRef name, TokenizerModel &model) : name(name), model(model) {}

  Error read(const Json &root);

private:
  Error fault(const Twine &path, const Twine &text) const { return moec::fault(name + ": " + path + ": " + text); }
  Error expects(const Twine &path, const Twine &what, const Json *found) const {
    return fault(path, "expected " + what + ", but found " + (found ? found->describe() : "nothing"));
  }
  /// An option that must be off: absent, null, false or an empty text.
  Error expectOff(const JsonObject &object, const Twine &path, StringRef key) const;

  Error readOptions(const JsonObject &bpe);
  Error readVocab(const JsonObject &bpe);
  Error placeToken(const Twine &path, int64_t id, StringRef bytes);
  Error readMerges(const JsonObject &bpe);
  Error readMerge(size_t rank, const Json &entry);
  Error readAdded(const JsonObject &root);
  Error readAddedToken(size_t index, const Json &entry);
  Error readNormalizer(const Json *normalizer);
  Error readPreTokenizer(const Json *preTokenizer);
  Error readSplit(const JsonObject &split);
  Error checkOutputSide(const JsonObject &root) const;
  Error checkDense() const;

  StringRef name;
  TokenizerModel &model;
  llvm::StringMap<uint32_t> idByText; // texts of model.vocab, as written there
  std::vector<bool> placed;           // by id
};

Error Reader::expectOff(const JsonObject &object, const Twine &path, StringRef key) const {
  const Json *value = object.find(key);
  const std::string *text = value ? value->asString() : nullptr;
  if (isAbsent(value) || isFalse(value) || (text && text->empty()))
    return Error::success();
  return expects(path + "." + key, "none, since the runtime does without it", value);
}

Error Reader::readOptions(const JsonObject &bpe) {
  if (stringAt(bpe, "type") != StringRef("BPE"))
    return expects("model.type", "\"BPE\"", bpe.find("type"));
  for (StringRef key : {"byte_fallback", "ignore_merges", "continuing_subword_prefix", "end_of_word_suffix", "dropout"})
    if (Error error = expectOff(bpe, "model", key))
      return error;
  return Error::success();
}

Error Reader::placeToken(const Twine &path, int64_t id, StringRef bytes) {
  if (id < 0 || id >= static_cast<int64_t>(model.vocabSize))
    return fault(path, "expected an id below " + Twine(model.vocabSize) + " (vocab_size of the config), but found " +
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

Error Reader::readVocab(const JsonObject &bpe) {
  const JsonObject *vocab = objectAt(bpe, "vocab");
  if (!vocab)
    return expects("model.vocab", "an object from token to id", bpe.find("vocab"));
  model.byteIds.fill(UINT32_MAX);
  for (const JsonMember &entry : vocab->members()) {
    StringRef text = entry.key;
    std::string path = ("model.vocab[\"" + text + "\"]").str(), bytes;
    std::optional<int64_t> id = entry.value.asInt64();
    if (!id)
      return expects(path, "an id", &entry.value);
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

Error Reader::readMerge(size_t rank, const Json &entry) {
  std::string path = ("model.merges[" + Twine(rank) + "]").str();
  StringRef left, right;
  if (const std::string *text = entry.asString()) {
    std::tie(left, right) = StringRef(*text).split(' ');
  } else if (const JsonArray *pair = entry.asArray(); pair && pair->size() == 2) {
    const std::string *first = (*pair)[0].asString(), *second = (*pair)[1].asString();
    left = first ? StringRef(*first) : StringRef();
    right = second ? StringRef(*second) : StringRef();
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

Error Reader::readMerges(const JsonObject &bpe) {
  const JsonArray *merges = arrayAt(bpe, "merges");
  if (!merges)
    return expects("model.merges", "an array", bpe.find("merges"));
  for (auto [rank, entry] : llvm::enumerate(*merges))
    if (Error error = readMerge(rank, entry))
      return error;
  return Error::success();
}

Error Reader::readAddedToken(size_t index, const Json &entry) {
  std::string path = ("added_tokens[" + Twine(index) + "]").str();
  const JsonObject *token = entry.asObject();
  if (!token)
    return expects(path, "an object", &entry);
  const Json *idValue = token->find("id");
  std::optional<int64_t> id;
  if (idValue)
    id = idValue->asInt64();
  std::optional<StringRef> content = stringAt(*token, "content");
  if (!id)
    return expects(path + ".id", "an id", idValue);
  if (!content || content->empty())
    return expects(path + ".content", "a text", token->find("content"));
  for (StringRef key : {"single_word", "lstrip", "rstrip"})
    if (Error error = expectOff(*token, path, key))
      return error;
  // A token looked for after normalization may match where the text as written has none.
  if (model.normalizeNfc)
    if (Error error = expectOff(*token, path, "normalized"))
      return error;
  if (Error error = placeToken(path, *id, *content))
    return error;
  const Json *special = token->find("special");
  model.added.push_back({static_cast<uint32_t>(*id), special && special->asBool() == true});
  return Error::success();
}

Error Reader::readAdded(const JsonObject &root) {
  const Json *value = root.find("added_tokens");
  if (isAbsent(value))
    return Error::success();
  const JsonArray *tokens = value->asArray();
  if (!tokens)
    return expects("added_tokens", "an array", value);
  for (auto [index, entry] : llvm::enumerate(*tokens))
    if (Error error = readAddedToken(index, entry))
      return error;
  return Error::success();
}

Error Reader::readNormalizer(const Json *normalizer) {
  if (isAbsent(normalizer))
    return Error::success();
  const JsonObject *object = normalizer->asObject();
  if (!object || stringAt(*object, "type") != StringRef("NFC"))
    return expects("normalizer", "null or {\"type\": \"NFC\"}", normalizer);
  model.normalizeNfc = true;
  return Error::success();
}

Error Reader::readSplit(const JsonObject &split) {
  std::string path = "pre_tokenizer.pretokenizers[0]";
  const JsonObject *pattern = objectAt(split, "pattern");
  std::optional<StringRef> regex = pattern ? stringAt(*pattern, "Regex") : std::nullopt;
  const KnownPattern *known =
      llvm::find_if(kPatterns, [&](const KnownPattern &candidate) { return regex && *regex == candidate.text; });
  if (known == std::end(kPatterns))
    return expects(path + ".pattern", "the split regex of Qwen2 and Qwen3 or that of Qwen3.5",
                   pattern ? pattern->find("Regex") : split.find("pattern"));
  if (stringAt(split, "behavior") != StringRef("Isolated"))
    return expects(path + ".behavior", "\"Isolated\"", split.find("behavior"));
  model.pattern = known->id;
  return expectOff(split, path, "invert");
}

Error Reader::readPreTokenizer(const Json *preTokenizer) {
  const JsonObject *object = preTokenizer ? preTokenizer->asObject() : nullptr;
  const JsonArray *parts = object ? arrayAt(*object, "pretokenizers") : nullptr;
  if (!parts || stringAt(*object, "type") != StringRef("Sequence") || parts->size() != 2)
    return expects("pre_tokenizer", "a Sequence of Split and ByteLevel", preTokenizer);
  const JsonObject *split = (*parts)[0].asObject(), *byteLevel = (*parts)[1].asObject();
  if (!split || stringAt(*split, "type") != StringRef("Split"))
    return expects("pre_tokenizer.pretokenizers[0]", "a Split", &(*parts)[0]);
  if (!byteLevel || stringAt(*byteLevel, "type") != StringRef("ByteLevel"))
    return expects("pre_tokenizer.pretokenizers[1]", "ByteLevel", &(*parts)[1]);
  for (StringRef key : {"add_prefix_space", "use_regex"}) {
    // Both are true where they are absent.
    if (!isFalse(byteLevel->find(key)))
      return expects("pre_tokenizer.pretokenizers[1]." + key, "false", byteLevel->find(key));
  }
  return readSplit(*split);
}

Error Reader::checkOutputSide(const JsonObject &root) const {
  for (StringRef key : {"decoder", "post_processor"}) {
    const Json *value = root.find(key);
    const JsonObject *object = value ? value->asObject() : nullptr;
    if (!isAbsent(value) && (!object || stringAt(*object, "type") != StringRef("ByteLevel")))
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

Error Reader::read(const Json &root) {
  const JsonObject *object = root.asObject();
  const JsonObject *bpe = object ? objectAt(*object, "model") : nullptr;
  if (!bpe)
    return expects("model", "an object", object ? object->find("model") : &root);
  if (Error error = readOptions(*bpe))
    return error;
  if (Error error = readNormalizer(object->find("normalizer")))
    return error;
  if (Error error = readPreTokenizer(object->find("pre_tokenizer")))
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

Expected<TokenizerModel> readTokenizer(const Json &root, StringRef name, uint32_t vocabSize) {
  TokenizerModel model;
  model.vocabSize = vocabSize;
  if (Error error = Reader(name, model).read(root))
    return error;
  return model;
}

} // namespace

Expected<TokenizerModel> readTokenizerJson(StringRef text, StringRef name, uint32_t vocabSize) {
  Expected<Json> root = parseJson(text, name);
  if (!root)
    return root.takeError();
  return readTokenizer(*root, name, vocabSize);
}

static Expected<std::vector<uint8_t>> buildBlob(Expected<Json> root, StringRef name, uint32_t vocabSize) {
  if (!root)
    return root.takeError();
  Expected<TokenizerModel> model = readTokenizer(*root, name, vocabSize);
  if (!model)
    return model.takeError();
  Expected<std::vector<uint8_t>> blob = writeTokenizerBlob(*model);
  if (!blob)
    return fault(name + ": " + llvm::toString(blob.takeError()));
  return blob;
}

Expected<std::vector<uint8_t>> buildTokenizerBlob(StringRef path, uint32_t vocabSize) {
  return buildBlob(parseJsonFile(path), path, vocabSize);
}

Expected<std::vector<uint8_t>> buildTokenizerBlob(StringRef text, StringRef name, uint32_t vocabSize) {
  return buildBlob(parseJson(text, name), name, vocabSize);
}

StringRef patternText(moetok_pattern pattern) {
  return llvm::find_if(kPatterns, [&](const KnownPattern &known) { return known.id == pattern; })->text;
}

} // namespace moec
