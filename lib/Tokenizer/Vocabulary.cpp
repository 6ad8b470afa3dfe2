// SPDX-License-Identifier: Apache-2.0
/// \file
/// Words, merges and added tokens of a byte-level BPE vocabulary. Part of the import step.
#include "lib/Tokenizer/Vocabulary.h"

#include "lib/Support/Fault.h"
#include "lib/Tokenizer/TokenizerJson.h"

#include "llvm/ADT/STLExtras.h"

using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace moec {

Error VocabularyBuilder::fault(const Twine &path, const Twine &text) const {
  return moec::fault(name + ": " + path + ": " + text);
}

Error VocabularyBuilder::checkId(const Twine &path, int64_t id) {
  if (id < 0 || id >= static_cast<int64_t>(model.vocabSize))
    return fault(path, "expected an id below " + Twine(model.vocabSize) + " (vocab_size of the config), but found " +
                           Twine(id));
  if (static_cast<size_t>(id) >= model.tokens.size()) {
    model.tokens.resize(static_cast<size_t>(id) + 1);
    places.resize(model.tokens.size(), Place::Empty);
  }
  return Error::success();
}

Error VocabularyBuilder::addWord(const Twine &path, StringRef text, int64_t id) {
  if (Error error = checkId(path, id))
    return error;
  size_t index = static_cast<size_t>(id);
  if (places[index] != Place::Empty)
    return fault(path, "id " + Twine(id) + " already stands for '" + model.tokens[index] + "'");
  std::string bytes;
  bool isByteLevel = decodeByteLevel(text, bytes);
  places[index] = isByteLevel ? Place::Word : Place::ForeignWord;
  model.tokens[index] = isByteLevel ? bytes : text.str();
  idByText[text] = static_cast<uint32_t>(id);
  if (isByteLevel && bytes.size() == 1)
    model.byteIds[static_cast<uint8_t>(bytes[0])] = static_cast<uint32_t>(id);
  return Error::success();
}

Error VocabularyBuilder::addUnused(const Twine &path, int64_t id) {
  if (Error error = checkId(path, id))
    return error;
  places[static_cast<size_t>(id)] = Place::Unused;
  return Error::success();
}

Error VocabularyBuilder::addMerge(const Twine &path, StringRef left, StringRef right) {
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

Error VocabularyBuilder::addToken(const Twine &path, StringRef content, int64_t id, AddedToken token) {
  auto word = idByText.find(content);
  if (word != idByText.end() && static_cast<int64_t>(word->second) != id)
    return fault(path, "'" + content + "' has id " + Twine(id) + " here, but id " + Twine(word->second) +
                           " in model.vocab; give it one id");
  if (Error error = checkId(path, id))
    return error;
  size_t index = static_cast<size_t>(id);
  if (word == idByText.end() && places[index] != Place::Empty && model.tokens[index] != content)
    return fault(path, "id " + Twine(id) + " already stands for '" + model.tokens[index] + "'");
  token.id = static_cast<uint32_t>(id);
  places[index] = Place::Added;
  model.tokens[index] = content.str();
  model.added.push_back(token);
  return Error::success();
}

std::optional<uint32_t> VocabularyBuilder::find(StringRef text) const {
  if (auto word = idByText.find(text); word != idByText.end())
    return word->second;
  for (const AddedToken &token : model.added)
    if (model.tokens[token.id] == text)
      return token.id;
  return std::nullopt;
}

Error VocabularyBuilder::finish() {
  for (size_t id = 0; id < places.size(); ++id)
    if (places[id] == Place::Empty)
      return fault("model.vocab",
                   "expected ids without gaps, but id " + Twine(id) + " of " + Twine(places.size()) + " has no token");
  for (const auto &[text, id] : idByText) {
    if (places[id] == Place::ForeignWord)
      return fault("model.vocab[\"" + text + "\"]", "expected only the 256 code points of byte-level BPE");
    // A word that stands for itself need not be merged together. Words that are added tokens, too, are cut out before.
    if (model.ignoreMerges && places[id] == Place::Word)
      model.wholeWords.push_back(id);
  }
  llvm::sort(model.wholeWords);
  return Error::success();
}

} // namespace moec
