// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text to token ids and back, on the tables that the compiler put into the model. Part of the run step.
/// Main source: include/moert/TokenizerBlob.h.
#ifndef RUNTIME_TOKENIZER_TOKENIZER_H
#define RUNTIME_TOKENIZER_TOKENIZER_H

#include "moert/TokenizerBlob.h"
#include "moert/moert.h"
#include "runtime/tokenizer/Merge.h"
#include "runtime/tokenizer/Scratch.h"

namespace moert {

/// Parts of a text, in bytes, ascending and apart.
struct TextRange {
  size_t begin, end;
};
struct TextRanges {
  const TextRange *ranges = nullptr;
  size_t count = 0;
};

/// A byte-level BPE tokenizer: a view of the blob, which must outlive it. Any thread may use it after `open`.
class Tokenizer {
public:
  /// Checks everything that later look-ups rely on. Returns nullptr, or what is wrong (a constant text that continues
  /// "the tokenizer tables ..."); then the object must not be used. Cost: one pass over the blob.
  const char *open(const uint8_t *data, uint64_t sizeBytes, uint32_t vocabSize);

  /// Writes up to `capacity` ids; `*count` is the number needed, also when it is larger.
  ///
  /// Added tokens that are not special (such as "<think>") are always recognized, special ones only with
  /// MOERT_TOKENIZE_ALLOW_SPECIAL; leftmost first, then longest. Text between them is normalized and cut by itself.
  /// MOERT_TOKENIZE_ADD_SPECIAL adds what the checkpoint puts around a text. `untrusted` are ranges of the text,
  /// ascending, where special tokens are text in any case.
  /// Bytes that are not UTF-8 are symbols; each run of them is cut and merged like other symbols.
  /// Memory: scratch in proportion to the longest word (17 bytes per byte beyond 128 bytes) and, where the text is not
  ///         surely in NFC, a copy of the stretch (up to 3 times its size).
  /// Errors: MOERT_STATUS_NO_MEMORY; MOERT_STATUS_INVALID_ARGUMENT for 2^31 bytes or more.
  moert_status tokenize(const char *text, size_t sizeBytes, uint32_t flags, const ScratchAllocator &allocator,
                        int32_t *ids, size_t capacity, size_t *count, const TextRanges &untrusted = {}) const;

  /// Writes up to `capacity` bytes; `*sizeBytes` is the number needed, also when it is larger.
  /// Errors: MOERT_STATUS_INVALID_ARGUMENT for an id outside the vocabulary; `*sizeBytes` is then its index in `ids`.
  moert_status detokenize(const int32_t *ids, size_t count, char *text, size_t capacity, size_t *sizeBytes) const;

  /// The bytes of one token; none for padding ids and ids outside the vocabulary.
  const uint8_t *tokenBytes(int32_t id, uint32_t *sizeBytes) const;

  /// The format of chats, or null and the reason why there is none.
  const moetok_chat *chat() const { return chatFormat->state == MOETOK_CHAT_SUPPORTED ? chatFormat : nullptr; }
  moert_chat_span chatText(uint32_t index) const {
    return {reinterpret_cast<const char *>(blob + chatFormat->texts[index].offset), chatFormat->texts[index].size};
  }

  uint32_t maxTokenBytes() const { return header->max_token_bytes; }
  uint32_t vocabSize() const { return header->vocab_size; }

private:
  class Encoder;
  struct AddedMatch {
    uint32_t length; // 0 = none
    uint32_t id;
    uint32_t flags;
  };

  const char *checkSections(uint64_t sizeBytes) const;
  const char *checkContents() const;
  const char *checkChat(uint64_t sizeBytes) const;
  AddedMatch matchAdded(bool inNormalized, const uint8_t *text, size_t size) const;
  bool hasNormalizedAdded() const { return addedBegin[2 * 257 - 1] != addedBegin[257]; }
  /// The token that `word` is as it stands; false if it is none.
  bool findWord(const uint8_t *word, size_t size, uint32_t *id) const;

  template <typename T> const T *section(uint32_t offset) const { return reinterpret_cast<const T *>(blob + offset); }

  const uint8_t *blob = nullptr;
  const moetok_header *header = nullptr;
  const uint32_t *tokenOffsets = nullptr;
  const uint32_t *addedBegin = nullptr;
  const moetok_added *added = nullptr;
  const uint32_t *wordSlots = nullptr;
  const uint32_t *affixes = nullptr;
  const moetok_chat *chatFormat = nullptr;
  MergeTables tables = {};
};

} // namespace moert
#endif
