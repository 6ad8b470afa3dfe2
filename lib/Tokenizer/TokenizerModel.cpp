// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks a tokenizer model and lays its tables out in one blob. Part of the link step.
#include "lib/Tokenizer/TokenizerModel.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using llvm::Error;
using llvm::Expected;

namespace moec {

namespace {

template <typename... Args> Error fault(const char *format, const Args &...args) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), format, args...);
}

Error checkMerges(const TokenizerModel &model) {
  llvm::DenseMap<uint64_t, size_t> seen;
  size_t numTokens = model.tokens.size();
  for (auto [rank, merge] : llvm::enumerate(model.merges)) {
    for (uint32_t id : {merge.left, merge.right, merge.result})
      if (id >= numTokens)
        return fault("model.merges[%zu]: token id %u is outside the %zu tokens", rank, id, numTokens);
    if (model.tokens[merge.left] + model.tokens[merge.right] != model.tokens[merge.result])
      return fault("model.merges[%zu]: the text of token %u is not the texts of tokens %u and %u in one", rank,
                   merge.result, merge.left, merge.right);
    auto [entry, isNew] = seen.try_emplace(static_cast<uint64_t>(merge.left) << 32 | merge.right, rank);
    if (!isNew)
      return fault("model.merges[%zu]: the pair of tokens %u and %u stands already at model.merges[%zu]", rank,
                   merge.left, merge.right, entry->second);
  }
  return Error::success();
}

Error checkTokens(const TokenizerModel &model) {
  size_t numTokens = model.tokens.size();
  if (numTokens > model.vocabSize)
    return fault("the tokenizer has %zu tokens, but the model's vocab_size is %u", numTokens, model.vocabSize);
  for (size_t id = 0; id < numTokens; ++id)
    if (model.tokens[id].size() > MOETOK_MAX_TOKEN_BYTES)
      return fault("the token with id %zu has %zu bytes, at most %u are supported", id, model.tokens[id].size(),
                   MOETOK_MAX_TOKEN_BYTES);
  for (const std::vector<uint32_t> *ids : {&model.wholeWords, &model.prefix, &model.suffix})
    for (uint32_t id : *ids)
      if (id >= numTokens)
        return fault("token id %u is outside the %zu tokens", id, numTokens);
  for (unsigned byte = 0; byte < 256; ++byte) {
    uint32_t id = model.byteIds[byte];
    if (id == MOETOK_NO_TOKEN && model.dropsUnknownBytes)
      continue;
    if (id >= numTokens || model.tokens[id] != llvm::StringRef(reinterpret_cast<const char *>(&byte), 1))
      return fault("model.vocab: byte 0x%02X has no token of its own; with unk_token or byte_fallback byte-level BPE "
                   "needs all 256",
                   byte);
  }
  return Error::success();
}

bool isAscii(llvm::StringRef text) {
  return llvm::all_of(text, [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

/// Added tokens by the text in which they are looked for, then first byte, then longest first, then by text.
Expected<std::vector<AddedToken>> sortedAdded(const TokenizerModel &model) {
  std::vector<AddedToken> added = model.added;
  for (const AddedToken &token : added) {
    if (token.id >= model.tokens.size() || model.tokens[token.id].empty())
      return fault("added_tokens: the token with id %u has no text", token.id);
    // Its text would have to be normalized, too. ASCII is normalized as it stands.
    if (model.normalizeNfc && token.normalized && !isAscii(model.tokens[token.id]))
      return fault("added_tokens: expected an ASCII text where \"normalized\" is true, since it is looked for in "
                   "normalized text, but the token with id %u is '%s'",
                   token.id, model.tokens[token.id].c_str());
  }
  auto text = [&](const AddedToken &token) { return llvm::StringRef(model.tokens[token.id]); };
  llvm::sort(added, [&](const AddedToken &a, const AddedToken &b) {
    llvm::StringRef x = text(a), y = text(b);
    if (a.normalized != b.normalized)
      return b.normalized;
    if (x.front() != y.front())
      return static_cast<uint8_t>(x.front()) < static_cast<uint8_t>(y.front());
    if (x.size() != y.size())
      return x.size() > y.size();
    return x != y ? x < y : a.id < b.id;
  });
  llvm::StringMap<uint32_t> idByText;
  for (const AddedToken &token : added) {
    auto [entry, isNew] = idByText.try_emplace(text(token), token.id);
    if (!isNew)
      return fault("added_tokens: ids %u and %u have the same text '%s'", entry->second, token.id,
                   text(token).str().c_str());
  }
  return added;
}

/// Appends little-endian sections. Beyond 4 GiB it only counts, so that the caller can refuse.
class BlobBuilder {
public:
  uint32_t beginSection() {
    bytes.resize(llvm::alignTo(bytes.size(), 4));
    return static_cast<uint32_t>(bytes.size());
  }
  void put(uint32_t value) {
    size_t at = bytes.size();
    bytes.resize(at + 4);
    llvm::support::endian::write32le(bytes.data() + at, value);
  }
  void put(llvm::StringRef text) { bytes.insert(bytes.end(), text.bytes_begin(), text.bytes_end()); }

  std::vector<uint8_t> bytes;
};

std::vector<uint32_t> buildMergeSlots(const std::vector<TokenMerge> &merges) {
  // Twice the number of merges: half of the slots stay empty, so a miss ends after two probes or so.
  std::vector<uint32_t> slots(llvm::NextPowerOf2(std::max<uint64_t>(1, 2 * merges.size() - !merges.empty())));
  uint32_t mask = static_cast<uint32_t>(slots.size()) - 1;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    uint32_t slot = moetok_hash(merges[rank].left, merges[rank].right, mask);
    while (slots[slot] != 0)
      slot = (slot + 1) & mask;
    slots[slot] = static_cast<uint32_t>(rank) + 1;
  }
  return slots;
}

void putTokens(const TokenizerModel &model, BlobBuilder &builder, moetok_header &header) {
  header.num_tokens = static_cast<uint32_t>(model.tokens.size());
  header.token_offsets = builder.beginSection();
  uint32_t offset = 0;
  for (const std::string &token : model.tokens) {
    builder.put(offset);
    offset += static_cast<uint32_t>(token.size());
    header.max_token_bytes = std::max(header.max_token_bytes, static_cast<uint32_t>(token.size()));
  }
  builder.put(offset);
  header.token_bytes = builder.beginSection();
  for (const std::string &token : model.tokens)
    builder.put(llvm::StringRef(token));
}

void putMerges(const TokenizerModel &model, BlobBuilder &builder, moetok_header &header) {
  header.num_merges = static_cast<uint32_t>(model.merges.size());
  header.merges = builder.beginSection();
  for (const TokenMerge &merge : model.merges)
    for (uint32_t id : {merge.left, merge.right, merge.result})
      builder.put(id);
  std::vector<uint32_t> slots = buildMergeSlots(model.merges);
  header.num_merge_slots = static_cast<uint32_t>(slots.size());
  header.merge_slots = builder.beginSection();
  for (uint32_t slot : slots)
    builder.put(slot);
}

void putAdded(const TokenizerModel &model, const std::vector<AddedToken> &added, BlobBuilder &builder,
              moetok_header &header) {
  header.byte_ids = builder.beginSection();
  for (uint32_t id : model.byteIds)
    builder.put(id);
  header.added_begin = builder.beginSection();
  size_t next = 0;
  for (bool normalized : {false, true}) {
    auto isHere = [&](unsigned byte) {
      return next < added.size() && added[next].normalized == normalized &&
             static_cast<uint8_t>(model.tokens[added[next].id].front()) == byte;
    };
    for (unsigned byte = 0; byte < 256; ++byte) {
      builder.put(static_cast<uint32_t>(next));
      while (isHere(byte))
        ++next;
    }
    builder.put(static_cast<uint32_t>(next));
  }
  header.num_added = static_cast<uint32_t>(added.size());
  header.added = builder.beginSection();
  for (const AddedToken &token : added) {
    builder.put(token.id);
    builder.put((token.special ? MOETOK_ADDED_SPECIAL : 0u) | (token.normalized ? MOETOK_ADDED_NORMALIZED : 0u) |
                (token.singleWord ? MOETOK_ADDED_SINGLE_WORD : 0u) | (token.lstrip ? MOETOK_ADDED_LSTRIP : 0u) |
                (token.rstrip ? MOETOK_ADDED_RSTRIP : 0u));
  }
}

void putWords(const TokenizerModel &model, BlobBuilder &builder, moetok_header &header) {
  // Half of the slots stay empty.
  uint64_t numSlots = model.ignoreMerges ? llvm::NextPowerOf2(std::max<uint64_t>(1, 2 * model.wholeWords.size())) : 0;
  std::vector<uint32_t> slots(numSlots);
  uint32_t mask = static_cast<uint32_t>(numSlots) - 1;
  for (uint32_t id : model.wholeWords) {
    llvm::StringRef bytes = model.tokens[id];
    uint32_t slot = moetok_hash_bytes(bytes.bytes_begin(), static_cast<uint32_t>(bytes.size()), mask);
    while (slots[slot] != 0)
      slot = (slot + 1) & mask;
    slots[slot] = id + 1;
  }
  header.num_word_slots = static_cast<uint32_t>(numSlots);
  header.word_slots = builder.beginSection();
  for (uint32_t slot : slots)
    builder.put(slot);
}

void putAffixes(const TokenizerModel &model, BlobBuilder &builder, moetok_header &header) {
  header.num_prefix = static_cast<uint32_t>(model.prefix.size());
  header.num_suffix = static_cast<uint32_t>(model.suffix.size());
  header.affixes = builder.beginSection();
  for (uint32_t id : model.prefix)
    builder.put(id);
  for (uint32_t id : model.suffix)
    builder.put(id);
}

/// The longest special token that the end of a message begins with.
uint32_t stopIdOf(const TokenizerModel &model) {
  llvm::StringRef end = model.chat.texts[MOERT_CHAT_END];
  uint32_t best = UINT32_MAX;
  for (const AddedToken &token : model.added)
    if (token.special && end.starts_with(model.tokens[token.id]) &&
        (best == UINT32_MAX || model.tokens[token.id].size() > model.tokens[best].size()))
      best = token.id;
  return best;
}

/// The runtime trusts special tokens by their place in the text as written.
ChatTemplate usableChat(const TokenizerModel &model) {
  for (const AddedToken &token : model.added)
    if (model.chat.isSupported && token.special && token.normalized)
      return noChatTemplate(
          "the special token '" + model.tokens[token.id] +
          "' is looked for in normalized text (\"normalized\" is true), which is not supported in chats");
  return model.chat;
}

void putChat(const TokenizerModel &model, const ChatTemplate &chat, BlobBuilder &builder, moetok_header &header) {
  moetok_text texts[MOERT_CHAT_NUM_TEXTS];
  for (size_t i = 0; i < MOERT_CHAT_NUM_TEXTS; ++i) {
    texts[i] = {builder.beginSection(), static_cast<uint32_t>(chat.texts[i].size())};
    builder.put(llvm::StringRef(chat.texts[i]));
  }
  header.chat = builder.beginSection();
  builder.put(chat.isSupported ? MOETOK_CHAT_SUPPORTED : chat.isMissing ? MOETOK_CHAT_MISSING : MOETOK_CHAT_REFUSED);
  builder.put(chat.flags);
  builder.put(chat.history);
  builder.put(chat.isSupported ? stopIdOf(model) : UINT32_MAX);
  for (const moetok_text &text : texts) {
    builder.put(text.offset);
    builder.put(text.size);
  }
}

/// The header is an array of 32-bit fields behind its magic, so it is written field by field.
void putHeader(const moetok_header &header, std::vector<uint8_t> &bytes) {
  std::memcpy(bytes.data(), &header, sizeof(header.magic));
  for (size_t at = sizeof(header.magic); at < sizeof(header); at += 4) {
    uint32_t field;
    std::memcpy(&field, reinterpret_cast<const char *>(&header) + at, 4);
    llvm::support::endian::write32le(bytes.data() + at, field);
  }
}

} // namespace

Expected<std::vector<uint8_t>> writeTokenizerBlob(const TokenizerModel &model) {
  if (Error error = checkTokens(model))
    return error;
  if (Error error = checkMerges(model))
    return error;
  Expected<std::vector<AddedToken>> added = sortedAdded(model);
  if (!added)
    return added.takeError();
  moetok_header header = {};
  std::memcpy(header.magic, MOETOK_MAGIC, sizeof(header.magic));
  header.format_version = MOETOK_FORMAT_VERSION;
  header.flags = (model.normalizeNfc ? MOETOK_FLAG_NFC : 0u) | (model.ignoreMerges ? MOETOK_FLAG_WHOLE_WORDS : 0u);
  header.pattern = model.pattern;
  header.vocab_size = model.vocabSize;
  BlobBuilder builder;
  builder.bytes.resize(sizeof(moetok_header));
  putTokens(model, builder, header);
  putMerges(model, builder, header);
  putAdded(model, *added, builder, header);
  putWords(model, builder, header);
  putAffixes(model, builder, header);
  putChat(model, usableChat(model), builder, header);
  builder.bytes.resize(llvm::alignTo(builder.bytes.size(), 8));
  if (builder.bytes.size() > UINT32_MAX)
    return fault("the tokenizer tables need %zu bytes, at most %u are supported", builder.bytes.size(), UINT32_MAX);
  header.total_bytes = static_cast<uint32_t>(builder.bytes.size());
  putHeader(header, builder.bytes);
  return std::move(builder.bytes);
}

/// A field of the chat section, or UINT32_MAX outside of the blob.
static uint32_t chatField(llvm::ArrayRef<uint8_t> blob, size_t field) {
  if (blob.size() < sizeof(moetok_header))
    return UINT32_MAX;
  uint32_t chat = llvm::support::endian::read32le(blob.data() + offsetof(moetok_header, chat));
  if (chat > blob.size() || blob.size() - chat < sizeof(moetok_chat))
    return UINT32_MAX;
  return llvm::support::endian::read32le(blob.data() + chat + field);
}

std::optional<uint32_t> chatStopId(llvm::ArrayRef<uint8_t> blob) {
  uint32_t id = chatField(blob, offsetof(moetok_chat, stop_id));
  return id == UINT32_MAX ? std::nullopt : std::optional<uint32_t>(id);
}

std::string chatRefusal(llvm::ArrayRef<uint8_t> blob) {
  if (chatField(blob, offsetof(moetok_chat, state)) != MOETOK_CHAT_REFUSED)
    return "";
  constexpr size_t kReason = offsetof(moetok_chat, texts) + MOERT_CHAT_REASON * sizeof(moetok_text);
  size_t offset = chatField(blob, kReason), size = chatField(blob, kReason + 4);
  return offset > blob.size() || blob.size() - offset < size
             ? ""
             : std::string(reinterpret_cast<const char *>(blob.data()) + offset, size);
}

} // namespace moec
