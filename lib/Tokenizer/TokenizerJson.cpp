// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads tokenizer.json of a checkpoint into a TokenizerModel. Part of the import step.
#include "lib/Tokenizer/TokenizerJson.h"

#include "lib/Support/Fault.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/ChatFiles.h"
#include "lib/Tokenizer/SplitPattern.h"
#include "lib/Tokenizer/Vocabulary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Path.h"

#include <optional>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace moec {

namespace {

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

/// The flags of an added token that this program knows.
struct TokenFlag {
  StringRef key;
  bool AddedToken::*field;
};
constexpr TokenFlag kTokenFlags[] = {{"special", &AddedToken::special},
                                     {"normalized", &AddedToken::normalized},
                                     {"single_word", &AddedToken::singleWord},
                                     {"lstrip", &AddedToken::lstrip},
                                     {"rstrip", &AddedToken::rstrip}};

class Reader {
public:
  Reader(StringRef name, TokenizerModel &model) : name(name), model(model), vocabulary(name, model) {}

  Error read(const Json &root);

private:
  Error fault(const Twine &path, const Twine &text) const { return vocabulary.fault(path, text); }
  Error expects(const Twine &path, const Twine &what, const Json *found) const {
    return fault(path, "expected " + what + ", but found " + (found ? found->describe() : "nothing"));
  }
  /// An option that must be off: absent, null, false or an empty text.
  Error expectOff(const JsonObject &object, const Twine &path, StringRef key) const;

  Error readOptions(const JsonObject &bpe);
  Error readVocab(const JsonObject &bpe);
  Error readMerges(const JsonObject &bpe);
  Error readMerge(size_t rank, const Json &entry);
  Error readAdded(const JsonObject &root);
  Error readAddedToken(size_t index, const Json &entry);
  Error readNormalizer(const Twine &path, const Json *normalizer, unsigned depth);
  Error checkDecoder(const Json *decoder) const;
  Error readPostProcessor(const Twine &path, const Json *processor, bool isInSequence);
  Error readTemplate(const Twine &path, const JsonObject &processor);
  Error readTemplatePiece(const Twine &path, const JsonObject &processor, const Json &piece, bool &hasText);

  StringRef name;
  TokenizerModel &model;
  VocabularyBuilder vocabulary;
};

Error Reader::expectOff(const JsonObject &object, const Twine &path, StringRef key) const {
  const Json *value = object.find(key);
  const std::string *text = value ? value->asString() : nullptr;
  if (isAbsent(value) || isFalse(value) || (text && text->empty()))
    return Error::success();
  return expects(path + "." + key, "none, since the runtime does without it", value);
}

//===--- model ----------------------------------------------------------------------------------------------------===//

Error Reader::readOptions(const JsonObject &bpe) {
  if (stringAt(bpe, "type") != StringRef("BPE"))
    return expects("model.type", "\"BPE\"", bpe.find("type"));
  for (StringRef key : {"continuing_subword_prefix", "end_of_word_suffix", "dropout"})
    if (Error error = expectOff(bpe, "model", key))
      return error;
  const Json *ignoreMerges = bpe.find("ignore_merges");
  if (!isAbsent(ignoreMerges) && !ignoreMerges->asBool())
    return expects("model.ignore_merges", "true or false", ignoreMerges);
  model.ignoreMerges = !isAbsent(ignoreMerges) && *ignoreMerges->asBool();
  // Where no byte is unknown, falling back to tokens <0x00> to <0xFF> or to unk_token cannot happen. Without both, a
  // byte that has no token is left out of text.
  const Json *byteFallback = bpe.find("byte_fallback");
  if (!isAbsent(byteFallback) && !byteFallback->asBool())
    return expects("model.byte_fallback", "true or false", byteFallback);
  bool fallsBack = !isAbsent(byteFallback) && *byteFallback->asBool();
  model.dropsUnknownBytes = !fallsBack && isAbsent(bpe.find("unk_token"));
  return Error::success();
}

Error Reader::readVocab(const JsonObject &bpe) {
  const JsonObject *vocab = objectAt(bpe, "vocab");
  if (!vocab)
    return expects("model.vocab", "an object from token to id", bpe.find("vocab"));
  for (const JsonMember &entry : vocab->members()) {
    std::string path = ("model.vocab[\"" + Twine(entry.key) + "\"]").str();
    std::optional<int64_t> id = entry.value.asInt64();
    if (!id)
      return expects(path, "an id", &entry.value);
    if (Error error = vocabulary.addWord(path, entry.key, *id))
      return error;
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
  return vocabulary.addMerge(path, left, right);
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

//===--- added tokens ---------------------------------------------------------------------------------------------===//

Error Reader::readAddedToken(size_t index, const Json &entry) {
  std::string path = ("added_tokens[" + Twine(index) + "]").str();
  const JsonObject *object = entry.asObject();
  if (!object)
    return expects(path, "an object", &entry);
  const Json *idValue = object->find("id");
  std::optional<int64_t> id;
  if (idValue)
    id = idValue->asInt64();
  std::optional<StringRef> content = stringAt(*object, "content");
  if (!id)
    return expects(path + ".id", "an id", idValue);
  if (!content || content->empty())
    return expects(path + ".content", "a text", object->find("content"));
  AddedToken token;
  for (const TokenFlag &flag : kTokenFlags) {
    const Json *value = object->find(flag.key);
    if (isAbsent(value))
      continue;
    if (!value->asBool())
      return expects(path + "." + flag.key, "true or false", value);
    token.*flag.field = *value->asBool();
  }
  return vocabulary.addToken(path, *content, *id, token);
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

//===--- what stands before and behind the model ------------------------------------------------------------------===//

Error Reader::readNormalizer(const Twine &path, const Json *normalizer, unsigned depth) {
  if (isAbsent(normalizer))
    return Error::success();
  const JsonObject *object = normalizer->asObject();
  std::optional<StringRef> type = object ? stringAt(*object, "type") : std::nullopt;
  if (type == StringRef("Sequence") && depth == 0) {
    const JsonArray *parts = arrayAt(*object, "normalizers");
    if (!parts)
      return expects(path + ".normalizers", "an array", object->find("normalizers"));
    for (auto [index, part] : llvm::enumerate(*parts))
      if (Error error = readNormalizer(path + ".normalizers[" + Twine(index) + "]", &part, depth + 1))
        return error;
    return Error::success();
  }
  if (type == StringRef("Prepend") || type == StringRef("Replace"))
    return fault(path, "expected null or {\"type\": \"NFC\"}, but found \"" + *type +
                           "\": this is a SentencePiece-style tokenizer, as that of Llama 2, which is not supported");
  if (type != StringRef("NFC"))
    return expects(path, "null or {\"type\": \"NFC\"}", type ? object->find("type") : normalizer);
  model.normalizeNfc = true;
  return Error::success();
}

Error Reader::checkDecoder(const Json *decoder) const {
  const JsonObject *object = decoder ? decoder->asObject() : nullptr;
  if (!isAbsent(decoder) && (!object || stringAt(*object, "type") != StringRef("ByteLevel")))
    return expects("decoder", "null or ByteLevel", decoder);
  return Error::success();
}

/// One of `single` in a TemplateProcessing: the text itself, or a special token by its name.
Error Reader::readTemplatePiece(const Twine &path, const JsonObject &processor, const Json &piece, bool &hasText) {
  const JsonObject *object = piece.asObject();
  const JsonObject *sequence = object ? objectAt(*object, "Sequence") : nullptr;
  if (sequence && !hasText && stringAt(*sequence, "id") == StringRef("A")) {
    hasText = true;
    return Error::success();
  }
  const JsonObject *special = object ? objectAt(*object, "SpecialToken") : nullptr;
  std::optional<StringRef> id = special ? stringAt(*special, "id") : std::nullopt;
  if (!id)
    return expects(path, "a SpecialToken or, once, the Sequence A", &piece);
  const JsonObject *tokens = objectAt(processor, "special_tokens");
  const JsonObject *token = tokens ? objectAt(*tokens, *id) : nullptr;
  const JsonArray *ids = token ? arrayAt(*token, "ids") : nullptr;
  if (!ids)
    return fault(path, "expected '" + *id + "' in special_tokens of the same object, but it is not there");
  for (const Json &value : *ids) {
    std::optional<int64_t> number = value.asInt64();
    if (!number || *number < 0 || *number >= static_cast<int64_t>(model.tokens.size()))
      return expects(path, "ids below " + Twine(model.tokens.size()) + " for '" + *id + "'", &value);
    (hasText ? model.suffix : model.prefix).push_back(static_cast<uint32_t>(*number));
  }
  return Error::success();
}

Error Reader::readTemplate(const Twine &path, const JsonObject &processor) {
  const JsonArray *single = arrayAt(processor, "single");
  if (!single)
    return expects(path + ".single", "an array", processor.find("single"));
  if (!model.prefix.empty() || !model.suffix.empty())
    return fault(path, "expected one TemplateProcessing that adds tokens, but found two");
  bool hasText = false;
  for (auto [index, piece] : llvm::enumerate(*single))
    if (Error error = readTemplatePiece(path + ".single[" + Twine(index) + "]", processor, piece, hasText))
      return error;
  return hasText ? Error::success() : fault(path + ".single", "expected the Sequence A in it, but found none");
}

Error Reader::readPostProcessor(const Twine &path, const Json *processor, bool isInSequence) {
  if (isAbsent(processor))
    return Error::success();
  const JsonObject *object = processor->asObject();
  std::optional<StringRef> type = object ? stringAt(*object, "type") : std::nullopt;
  if (type == StringRef("ByteLevel")) // changes offsets only
    return Error::success();
  if (type == StringRef("TemplateProcessing"))
    return readTemplate(path, *object);
  const JsonArray *parts = type == StringRef("Sequence") && !isInSequence ? arrayAt(*object, "processors") : nullptr;
  if (!parts)
    return expects(path, "null, ByteLevel, TemplateProcessing or a Sequence of them",
                   type ? object->find("type") : processor);
  for (auto [index, part] : llvm::enumerate(*parts))
    if (Error error = readPostProcessor(path + ".processors[" + Twine(index) + "]", &part, true))
      return error;
  return Error::success();
}

Error Reader::read(const Json &root) {
  const JsonObject *object = root.asObject();
  const JsonObject *bpe = object ? objectAt(*object, "model") : nullptr;
  if (!bpe)
    return expects("model", "an object", object ? object->find("model") : &root);
  if (Error error = readOptions(*bpe))
    return error;
  if (Error error = readNormalizer("normalizer", object->find("normalizer"), 0))
    return error;
  Expected<moetok_pattern> pattern = readPreTokenizer(object->find("pre_tokenizer"));
  if (!pattern)
    return moec::fault(name + ": " + llvm::toString(pattern.takeError()));
  model.pattern = *pattern;
  if (Error error = checkDecoder(object->find("decoder")))
    return error;
  if (Error error = readVocab(*bpe))
    return error;
  if (Error error = readMerges(*bpe))
    return error;
  if (Error error = readAdded(*object))
    return error;
  if (Error error = vocabulary.finish())
    return error;
  return readPostProcessor("post_processor", object->find("post_processor"), false);
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

static Expected<std::vector<uint8_t>> buildBlob(Expected<Json> root, StringRef name, uint32_t vocabSize,
                                                StringRef chatFolder = "") {
  if (!root)
    return root.takeError();
  Expected<TokenizerModel> model = readTokenizer(*root, name, vocabSize);
  if (!model)
    return model.takeError();
  if (!chatFolder.empty()) {
    Expected<ChatTemplate> chat = readChatTemplate(chatFolder);
    if (!chat)
      return chat.takeError();
    model->chat = std::move(*chat);
  }
  Expected<std::vector<uint8_t>> blob = writeTokenizerBlob(*model);
  if (!blob)
    return fault(name + ": " + llvm::toString(blob.takeError()));
  return blob;
}

Expected<std::vector<uint8_t>> buildTokenizerBlob(StringRef path, uint32_t vocabSize) {
  StringRef folder = llvm::sys::path::parent_path(path);
  return buildBlob(parseJsonFile(path), path, vocabSize, folder.empty() ? "." : folder);
}

Expected<std::vector<uint8_t>> buildTokenizerBlob(StringRef text, StringRef name, uint32_t vocabSize) {
  return buildBlob(parseJson(text, name), name, vocabSize);
}

} // namespace moec
