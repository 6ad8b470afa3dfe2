// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tokenize and detokenize. Part of the run step.
#include "runtime/tokenizer/Tokenizer.h"

#include "runtime/tokenizer/Normalize.h"
#include "runtime/tokenizer/Pretokenize.h"

namespace moert {

/// Where ids go: counts all, stores those that fit.
struct Tokenizer::Output {
  int32_t *ids;
  size_t capacity;
  size_t count = 0;
  bool refused = false;

  void push(uint32_t id) {
    if (count < capacity)
      ids[count] = static_cast<int32_t>(id);
    ++count;
  }
};

const uint8_t *Tokenizer::tokenBytes(int32_t id, uint32_t *sizeBytes) const {
  uint32_t index = static_cast<uint32_t>(id);
  if (index >= header->num_tokens) {
    *sizeBytes = 0;
    return blob;
  }
  *sizeBytes = tokenOffsets[index + 1] - tokenOffsets[index];
  return blob + header->token_bytes + tokenOffsets[index];
}

Tokenizer::AddedMatch Tokenizer::matchAdded(const uint8_t *text, size_t size, bool allowSpecial) const {
  for (uint32_t i = addedBegin[text[0]]; i < addedBegin[text[0] + 1u]; ++i) {
    if ((added[i].flags & MOETOK_ADDED_SPECIAL) != 0 && !allowSpecial)
      continue;
    uint32_t length;
    const uint8_t *bytes = tokenBytes(static_cast<int32_t>(added[i].id), &length);
    if (length <= size && memcmp(bytes, text, length) == 0)
      return {length, added[i].id};
  }
  return {0, 0};
}

void Tokenizer::encodeWords(const uint8_t *text, size_t size, Merger &merger, Output &output) const {
  moetok_pattern pattern = static_cast<moetok_pattern>(header->pattern);
  for (size_t position = 0; position < size && !output.refused;) {
    size_t length = nextWord(pattern, text + position, size - position);
    if (!merger.merge(text + position, length)) {
      output.refused = true;
      return;
    }
    merger.forEachToken([&](uint32_t id) { output.push(id); });
    position += length;
  }
}

bool Tokenizer::encodeStretch(const uint8_t *text, size_t size, Merger &merger, const ScratchAllocator &allocator,
                              Output &output) const {
  if ((header->flags & MOETOK_FLAG_NFC) == 0 || isSurelyNfc(text, size)) {
    encodeWords(text, size, merger, output);
    return !output.refused;
  }
  size_t normalizedSize = 0;
  if (!normalizeNfc(text, size, allocator, nullptr, &normalizedSize))
    return false;
  ScratchArray<uint8_t, 1> normalized(allocator);
  if (!normalized.reserve(normalizedSize, 0) ||
      !normalizeNfc(text, size, allocator, normalized.data(), &normalizedSize))
    return false;
  encodeWords(normalized.data(), normalizedSize, merger, output);
  return !output.refused;
}

moert_status Tokenizer::tokenize(const char *text, size_t sizeBytes, uint32_t flags, const ScratchAllocator &allocator,
                                 int32_t *ids, size_t capacity, size_t *count) const {
  *count = 0;
  if (sizeBytes >= INT32_MAX)
    return MOERT_STATUS_INVALID_ARGUMENT;
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(text);
  bool allowSpecial = (flags & MOERT_TOKENIZE_ALLOW_SPECIAL) != 0;
  Merger merger(tables, allocator);
  Output output{ids, capacity};
  size_t stretch = 0;
  for (size_t position = 0; position < sizeBytes;) {
    AddedMatch match = matchAdded(bytes + position, sizeBytes - position, allowSpecial);
    if (match.length == 0) {
      ++position;
      continue;
    }
    if (!encodeStretch(bytes + stretch, position - stretch, merger, allocator, output))
      return MOERT_STATUS_NO_MEMORY;
    output.push(match.id);
    position += match.length;
    stretch = position;
  }
  if (!encodeStretch(bytes + stretch, sizeBytes - stretch, merger, allocator, output))
    return MOERT_STATUS_NO_MEMORY;
  *count = output.count;
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
