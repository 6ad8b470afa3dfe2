// SPDX-License-Identifier: Apache-2.0
/// \file
/// Validation of the tokenizer tables at open: after it no look-up can leave the blob. Part of the run step.
#include "runtime/tokenizer/Tokenizer.h"

namespace moert {

namespace {

/// Whether `count` elements of `elementBytes` at `offset` lie behind the header and inside the blob.
bool fits(uint32_t offset, uint64_t count, uint64_t elementBytes, uint64_t sizeBytes) {
  return offset % 4 == 0 && offset >= sizeof(moetok_header) && offset <= sizeBytes &&
         count * elementBytes <= sizeBytes - offset;
}

} // namespace

const char *Tokenizer::checkSections(uint64_t sizeBytes) const {
  const moetok_header &h = *header;
  if (h.num_tokens > h.vocab_size)
    return "have more tokens than the vocabulary";
  if (h.num_merge_slots <= h.num_merges || (h.num_merge_slots & (h.num_merge_slots - 1)) != 0)
    return "have a merge hash table of wrong size";
  if (!fits(h.token_offsets, h.num_tokens + 1ull, 4, sizeBytes) || !fits(h.token_bytes, 0, 1, sizeBytes))
    return "have token texts outside the tables";
  if (!fits(h.merges, h.num_merges, sizeof(moetok_merge), sizeBytes) ||
      !fits(h.merge_slots, h.num_merge_slots, 4, sizeBytes))
    return "have merges outside the tables";
  if (!fits(h.byte_ids, 256, 4, sizeBytes) || !fits(h.added_begin, 2 * 257, 4, sizeBytes) ||
      !fits(h.added, h.num_added, sizeof(moetok_added), sizeBytes))
    return "have byte or added-token sections outside the tables";
  if (h.pattern < MOETOK_PATTERN_QWEN2 || h.pattern > MOETOK_PATTERN_SMOLLM)
    return "have an unknown split pattern";
  if ((h.flags & ~static_cast<uint32_t>(MOETOK_FLAG_NFC | MOETOK_FLAG_WHOLE_WORDS)) != 0)
    return "have unknown flags";
  bool hasWords = (h.flags & MOETOK_FLAG_WHOLE_WORDS) != 0;
  if (hasWords != (h.num_word_slots != 0) || (h.num_word_slots & (h.num_word_slots - 1)) != 0 ||
      !fits(h.word_slots, h.num_word_slots, 4, sizeBytes))
    return "have a word hash table of wrong size";
  if (!fits(h.affixes, uint64_t{h.num_prefix} + h.num_suffix, 4, sizeBytes))
    return "have prefix and suffix outside the tables";
  if (!fits(h.chat, 1, sizeof(moetok_chat), sizeBytes))
    return "have a chat format outside the tables";
  if (h.max_token_bytes > MOETOK_MAX_TOKEN_BYTES)
    return "allow tokens that are too long";
  return nullptr;
}

const char *Tokenizer::checkChat(uint64_t sizeBytes) const {
  constexpr uint32_t kAllFlags = 2 * MOERT_CHAT_HAS_SYSTEM - 1;
  const moetok_chat &chat = *chatFormat;
  if (chat.flags > kAllFlags || chat.history > MOERT_CHAT_HISTORY_QWEN35)
    return "have a chat format of an unknown kind";
  for (const moetok_text &text : chat.texts)
    if (!fits(text.offset, text.size, 1, sizeBytes))
      return "have texts of the chat format outside the tables";
  return nullptr;
}

const char *Tokenizer::checkContents() const {
  const moetok_header &h = *header;
  uint64_t room = h.total_bytes - h.token_bytes;
  if (tokenOffsets[0] != 0 || tokenOffsets[h.num_tokens] > room)
    return "have token texts outside the tables";
  for (uint32_t id = 0; id < h.num_tokens; ++id)
    if (tokenOffsets[id + 1] < tokenOffsets[id] || tokenOffsets[id + 1] - tokenOffsets[id] > h.max_token_bytes)
      return "have a token text of wrong length";
  for (uint32_t rank = 0; rank < h.num_merges; ++rank) {
    const moetok_merge &merge = tables.merges[rank];
    if (merge.left >= h.num_tokens || merge.right >= h.num_tokens || merge.result >= h.num_tokens)
      return "have a merge of an unknown token";
  }
  for (uint32_t slot = 0; slot < h.num_merge_slots; ++slot)
    if (tables.slots[slot] > h.num_merges)
      return "have an unknown merge in the hash table";
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (tables.byteIds[byte] >= h.num_tokens && tables.byteIds[byte] != MOETOK_NO_TOKEN)
      return "have a byte without token";
    if (addedBegin[byte] > addedBegin[byte + 1] || addedBegin[257 + byte] > addedBegin[258 + byte])
      return "have added tokens out of order";
  }
  if (addedBegin[256] > h.num_added || addedBegin[2 * 257 - 1] > h.num_added)
    return "have added tokens out of order";
  for (uint32_t slot = 0; slot < h.num_word_slots; ++slot)
    if (wordSlots[slot] > h.num_tokens)
      return "have an unknown word in the hash table";
  for (uint32_t i = 0; i < h.num_prefix + h.num_suffix; ++i)
    if (affixes[i] >= h.num_tokens)
      return "have an unknown token in prefix or suffix";
  for (uint32_t i = 0; i < h.num_added; ++i)
    if (added[i].id >= h.num_tokens || tokenOffsets[added[i].id + 1] == tokenOffsets[added[i].id])
      return "have an added token without text";
  return nullptr;
}

const char *Tokenizer::open(const uint8_t *data, uint64_t sizeBytes, uint32_t vocabSize) {
  blob = data;
  header = reinterpret_cast<const moetok_header *>(data);
  if (!data || reinterpret_cast<uintptr_t>(data) % 8 != 0)
    return "are missing or not aligned";
  if (sizeBytes < sizeof(moetok_header) || sizeBytes > UINT32_MAX)
    return "have a wrong size";
  if (memcmp(header->magic, MOETOK_MAGIC, sizeof(header->magic)) != 0)
    return "do not begin with MOETOKN1";
  if (header->format_version != MOETOK_FORMAT_VERSION)
    return "have another format version than this runtime";
  if (header->total_bytes != sizeBytes)
    return "have a wrong size";
  if (header->vocab_size != vocabSize)
    return "are for another vocabulary size than the model";
  if (const char *problem = checkSections(sizeBytes))
    return problem;
  tokenOffsets = section<uint32_t>(header->token_offsets);
  addedBegin = section<uint32_t>(header->added_begin);
  added = section<moetok_added>(header->added);
  wordSlots = section<uint32_t>(header->word_slots);
  affixes = section<uint32_t>(header->affixes);
  chatFormat = section<moetok_chat>(header->chat);
  tables = {section<uint32_t>(header->byte_ids), section<moetok_merge>(header->merges),
            section<uint32_t>(header->merge_slots), header->num_merge_slots - 1};
  const char *problem = checkChat(sizeBytes);
  return problem ? problem : checkContents();
}

} // namespace moert
