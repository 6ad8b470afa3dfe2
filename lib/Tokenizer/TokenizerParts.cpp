// SPDX-License-Identifier: Apache-2.0
/// \file
/// A tokenizer from the parts that GGUF metadata holds. Part of the import step.
#include "lib/Tokenizer/TokenizerParts.h"

#include "lib/Tokenizer/SplitPattern.h"
#include "lib/Tokenizer/Vocabulary.h"

#include "llvm/ADT/STLExtras.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace moec {

namespace {

bool isAdded(int32_t type) {
  return type == static_cast<int32_t>(TokenType::Control) || type == static_cast<int32_t>(TokenType::UserDefined);
}

Error addTokens(const TokenizerParts &parts, VocabularyBuilder &builder) {
  auto path = [](size_t id) { return ("tokenizer.ggml.tokens[" + Twine(id) + "]").str(); };
  auto typeOf = [&](size_t id) { return parts.types.empty() ? 1 : parts.types[id]; };
  for (auto [id, text] : llvm::enumerate(parts.tokens)) {
    bool isUnused = typeOf(id) == static_cast<int32_t>(TokenType::Unused) || text.empty();
    if (isAdded(typeOf(id)) && !isUnused)
      continue;
    if (Error error = isUnused ? builder.addUnused(path(id), static_cast<int64_t>(id))
                               : builder.addWord(path(id), text, static_cast<int64_t>(id)))
      return error;
  }
  for (auto [rank, merge] : llvm::enumerate(parts.merges)) {
    auto [left, right] = StringRef(merge).split(' ');
    std::string where = ("tokenizer.ggml.merges[" + Twine(rank) + "]").str();
    if (left.empty() || right.empty() || right.contains(' '))
      return builder.fault(where, "expected two tokens as \"a b\", but found '" + merge + "'");
    if (Error error = builder.addMerge(where, left, right))
      return error;
  }
  for (auto [id, text] : llvm::enumerate(parts.tokens)) {
    if (!isAdded(typeOf(id)) || text.empty())
      continue;
    AddedToken token;
    token.special = typeOf(id) == static_cast<int32_t>(TokenType::Control);
    if (Error error = builder.addToken(path(id), text, static_cast<int64_t>(id), token))
      return error;
  }
  return builder.finish();
}

Error addAffix(const TokenizerParts &parts, VocabularyBuilder &builder, std::optional<uint32_t> id, StringRef key,
               std::vector<uint32_t> &affix) {
  if (!id)
    return builder.fault("tokenizer.ggml.add_" + key + "_token",
                         "expected tokenizer.ggml." + key + "_token_id beside it, but found none");
  if (*id >= parts.tokens.size())
    return builder.fault("tokenizer.ggml." + key + "_token_id",
                         "expected an id below " + Twine(parts.tokens.size()) + ", but found " + Twine(*id));
  affix.push_back(*id);
  return Error::success();
}

} // namespace

Expected<TokenizerModel> makeTokenizerModel(const TokenizerParts &parts) {
  TokenizerModel model;
  model.vocabSize = parts.vocabSize;
  VocabularyBuilder builder(parts.name, model);
  if (parts.model != "gpt2")
    return builder.fault("tokenizer.ggml.model", "expected \"gpt2\" (byte-level BPE), but found \"" + parts.model +
                                                     "\"" +
                                                     (parts.model == "llama" ? ", a SentencePiece vocabulary" : ""));
  const NamedPreTokenizer *named = findPreTokenizer(parts.pre);
  if (!named)
    return builder.fault("tokenizer.ggml.pre",
                         "expected one of " + namesOfPreTokenizers() + ", but found \"" + parts.pre + "\"");
  if (!parts.types.empty() && parts.types.size() != parts.tokens.size())
    return builder.fault("tokenizer.ggml.token_type", "expected " + Twine(parts.tokens.size()) +
                                                          " types, one for each token, but found " +
                                                          Twine(parts.types.size()));
  model.pattern = named->pattern;
  model.normalizeNfc = named->normalizeNfc;
  model.ignoreMerges = named->ignoreMerges;
  model.dropsUnknownBytes = true; // as llama.cpp does; SmolLM2 has no token for 21 of the bytes
  if (Error error = addTokens(parts, builder))
    return std::move(error);
  if (parts.addBos)
    if (Error error = addAffix(parts, builder, parts.bosId, "bos", model.prefix))
      return std::move(error);
  if (parts.addEos)
    if (Error error = addAffix(parts, builder, parts.eosId, "eos", model.suffix))
      return std::move(error);
  if (parts.chatTemplate) {
    auto textOf = [&](std::optional<uint32_t> id) { return id && *id < model.tokens.size() ? model.tokens[*id] : ""; };
    model.chat = recognizeChatTemplate(*parts.chatTemplate, {textOf(parts.bosId), textOf(parts.eosId)});
  } else {
    model.chat = noChatTemplate("the file has no tokenizer.chat_template", true);
  }
  return model;
}

} // namespace moec
