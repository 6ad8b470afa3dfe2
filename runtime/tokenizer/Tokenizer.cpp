// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tokenize and detokenize. Part of the run step.
#include "runtime/tokenizer/Tokenizer.h"

#include "runtime/text/Utf8.h"
#include "runtime/tokenizer/Normalize.h"
#include "runtime/tokenizer/Pretokenize.h"
#include "runtime/tokenizer/Unicode.h"

namespace moert {

const uint8_t *Tokenizer::tokenBytes(int32_t id, uint32_t *sizeBytes) const {
  uint32_t index = static_cast<uint32_t>(id);
  if (index >= header->num_tokens) {
    *sizeBytes = 0;
    return blob;
  }
  *sizeBytes = tokenOffsets[index + 1] - tokenOffsets[index];
  return blob + header->token_bytes + tokenOffsets[index];
}

Tokenizer::AddedMatch Tokenizer::matchAdded(bool inNormalized, const uint8_t *text, size_t size) const {
  const uint32_t *begin = addedBegin + (inNormalized ? 257 : 0) + text[0];
  for (uint32_t i = begin[0]; i < begin[1]; ++i) {
    uint32_t length;
    const uint8_t *bytes = tokenBytes(static_cast<int32_t>(added[i].id), &length);
    if (length <= size && memcmp(bytes, text, length) == 0)
      return {length, added[i].id, added[i].flags};
  }
  return {0, 0, 0};
}

bool Tokenizer::findWord(const uint8_t *word, size_t size, uint32_t *id) const {
  if (header->num_word_slots == 0 || size > header->max_token_bytes)
    return false;
  uint32_t mask = header->num_word_slots - 1;
  uint32_t slot = moetok_hash_bytes(word, static_cast<uint32_t>(size), mask);
  // The table that the compiler writes has an empty slot; the count bounds the walk in any case.
  for (uint32_t probes = 0; probes <= mask && wordSlots[slot] != 0; ++probes) {
    uint32_t length;
    const uint8_t *bytes = tokenBytes(static_cast<int32_t>(wordSlots[slot] - 1), &length);
    *id = wordSlots[slot] - 1;
    if (length == size && memcmp(bytes, word, size) == 0)
      return true;
    slot = (slot + 1) & mask;
  }
  return false;
}

/// One call of `tokenize`: takes added tokens out of the text as written, normalizes what is between them, takes those
/// out that are looked for in normalized text, cuts the rest into words and merges these. Counts all ids and stores
/// those that fit.
class Tokenizer::Encoder {
public:
  Encoder(const Tokenizer &tokenizer, bool allowSpecial, const TextRanges &untrusted, const ScratchAllocator &allocator,
          int32_t *ids, size_t capacity)
      : tokenizer(tokenizer), allowSpecial(allowSpecial), untrusted(untrusted), allocator(allocator),
        merger(tokenizer.tables, allocator), ids(ids), capacity(capacity) {}

  /// False when memory is refused.
  bool encode(const uint8_t *text, size_t size) { return splitAdded(false, text, size); }

  void push(uint32_t id) {
    if (count < capacity)
      ids[count] = static_cast<int32_t>(id);
    ++count;
  }

  size_t count = 0;

private:
  /// Whether the special token at [begin, end) of the text may be one. Where a part of the text is not trusted, none
  /// that is looked for in normalized text may, since the ranges are those of the text as written.
  bool mayBeSpecial(bool inNormalized, size_t begin, size_t end) {
    if (!allowSpecial || (inNormalized && untrusted.count != 0))
      return false;
    if (inNormalized)
      return true;
    while (nextRange < untrusted.count && untrusted.ranges[nextRange].end <= begin)
      ++nextRange;
    return nextRange == untrusted.count || untrusted.ranges[nextRange].begin >= end;
  }

  bool splitAdded(bool inNormalized, const uint8_t *text, size_t size);
  bool encodeStretch(const uint8_t *text, size_t size);
  bool encodeNormalized(const uint8_t *text, size_t size) {
    return tokenizer.hasNormalizedAdded() ? splitAdded(true, text, size) : encodeWords(text, size);
  }
  bool encodeWords(const uint8_t *text, size_t size);

  const Tokenizer &tokenizer;
  bool allowSpecial;
  const TextRanges &untrusted;
  const ScratchAllocator &allocator;
  Merger merger;
  size_t nextRange = 0;
  int32_t *ids;
  size_t capacity;
};

/// Start of the last code point of text[0, size), size > 0.
static size_t lastCodePoint(const uint8_t *text, size_t size) {
  size_t most = size < 4 ? size : 4;
  for (size_t length = 2; length <= most; ++length)
    if (text[size - length] >= 0xC0 && decodeCodePoint(text + size - length, length).length == length)
      return size - length;
  return size - 1;
}

static bool isSpaceAt(const uint8_t *text, size_t size) {
  return classOf(decodeCodePoint(text, size).code) == CharacterClass::Space;
}

/// Whether a word character ends before `begin` or starts at `end`.
static bool touchesWord(const uint8_t *text, size_t size, size_t begin, size_t end) {
  if (begin != 0) {
    size_t last = lastCodePoint(text, begin);
    if (isWordCharacter(decodeCodePoint(text + last, begin - last).code))
      return true;
  }
  return end != size && isWordCharacter(decodeCodePoint(text + end, size - end).code);
}

/// The order of things is that of the `tokenizers` package: a match that is not taken is passed over as a whole, and
/// stripped white space does not move the search.
bool Tokenizer::Encoder::splitAdded(bool inNormalized, const uint8_t *text, size_t size) {
  size_t stretch = 0;
  for (size_t position = 0; position < size;) {
    AddedMatch match = tokenizer.matchAdded(inNormalized, text + position, size - position);
    if (match.length == 0) {
      ++position;
      continue;
    }
    size_t begin = position, end = position + match.length;
    position = end;
    if ((match.flags & MOETOK_ADDED_SPECIAL) != 0 && !mayBeSpecial(inNormalized, begin, end)) {
      // What reaches into text that is trusted must not hide a token there.
      if (allowSpecial && untrusted.count != 0)
        position = begin + 1;
      continue;
    }
    if ((match.flags & MOETOK_ADDED_SINGLE_WORD) != 0 && touchesWord(text, size, begin, end))
      continue;
    if ((match.flags & MOETOK_ADDED_LSTRIP) != 0)
      for (size_t last; begin > stretch; begin = last) {
        last = lastCodePoint(text, begin);
        if (!isSpaceAt(text + last, begin - last))
          break;
      }
    if ((match.flags & MOETOK_ADDED_RSTRIP) != 0)
      while (end < size && isSpaceAt(text + end, size - end))
        end += decodeCodePoint(text + end, size - end).length;
    if (stretch < begin) {
      size_t length = begin - stretch;
      if (!(inNormalized ? encodeWords(text + stretch, length) : encodeStretch(text + stretch, length)))
        return false;
    }
    push(match.id);
    stretch = end;
  }
  if (stretch >= size)
    return true;
  return inNormalized ? encodeWords(text + stretch, size - stretch) : encodeStretch(text + stretch, size - stretch);
}

bool Tokenizer::Encoder::encodeWords(const uint8_t *text, size_t size) {
  moetok_pattern pattern = static_cast<moetok_pattern>(tokenizer.header->pattern);
  for (size_t position = 0; position < size;) {
    size_t length = nextWord(pattern, text + position, size - position);
    uint32_t id;
    if (tokenizer.findWord(text + position, length, &id)) {
      push(id);
    } else {
      if (!merger.merge(text + position, length))
        return false;
      merger.forEachToken([&](uint32_t part) { push(part); });
    }
    position += length;
  }
  return true;
}

bool Tokenizer::Encoder::encodeStretch(const uint8_t *text, size_t size) {
  if ((tokenizer.header->flags & MOETOK_FLAG_NFC) == 0 || isSurelyNfc(text, size))
    return encodeNormalized(text, size);
  size_t normalizedSize = 0;
  if (!normalizeNfc(text, size, allocator, nullptr, &normalizedSize))
    return false;
  ScratchArray<uint8_t, 1> normalized(allocator);
  if (!normalized.reserve(normalizedSize, 0) ||
      !normalizeNfc(text, size, allocator, normalized.data(), &normalizedSize))
    return false;
  return encodeNormalized(normalized.data(), normalizedSize);
}

moert_status Tokenizer::tokenize(const char *text, size_t sizeBytes, uint32_t flags, const ScratchAllocator &allocator,
                                 int32_t *ids, size_t capacity, size_t *count, const TextRanges &untrusted) const {
  *count = 0;
  if (sizeBytes >= INT32_MAX)
    return MOERT_STATUS_INVALID_ARGUMENT;
  bool addSpecial = (flags & MOERT_TOKENIZE_ADD_SPECIAL) != 0;
  Encoder encoder(*this, (flags & MOERT_TOKENIZE_ALLOW_SPECIAL) != 0, untrusted, allocator, ids, capacity);
  for (uint32_t i = 0; addSpecial && i < header->num_prefix; ++i)
    encoder.push(affixes[i]);
  if (!encoder.encode(reinterpret_cast<const uint8_t *>(text), sizeBytes))
    return MOERT_STATUS_NO_MEMORY;
  for (uint32_t i = 0; addSpecial && i < header->num_suffix; ++i)
    encoder.push(affixes[header->num_prefix + i]);
  *count = encoder.count;
  return MOERT_STATUS_OK;
}

moert_status Tokenizer::detokenize(const int32_t *ids, size_t count, char *text, size_t capacity,
                                   size_t *sizeBytes) const {
  size_t needed = 0;
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] < 0 || static_cast<uint32_t>(ids[i]) >= header->vocab_size) {
      *sizeBytes = i;
      return MOERT_STATUS_INVALID_ARGUMENT;
    }
    uint32_t length;
    const uint8_t *bytes = tokenBytes(ids[i], &length);
    size_t room = needed < capacity ? capacity - needed : 0;
    if (room != 0)
      memcpy(text + needed, bytes, length < room ? length : room);
    needed += length;
  }
  *sizeBytes = needed;
  return MOERT_STATUS_OK;
}

} // namespace moert
