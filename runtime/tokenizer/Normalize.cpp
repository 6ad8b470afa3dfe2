// SPDX-License-Identifier: Apache-2.0
/// \file
/// NFC: decompose, order marks, compose, one run between stable code points at a time. Part of the run step.
#include "runtime/tokenizer/Normalize.h"

#include "runtime/text/Utf8.h"
#include "runtime/tokenizer/Unicode.h"

namespace moert {

namespace {

// An entry of the run is a code point with its combining class in the upper byte.
constexpr uint32_t kCodeMask = (1u << 21) - 1;
constexpr uint32_t classOfEntry(uint32_t entry) { return entry >> 24; }

/// Runs of marks up to this length are ordered by insertion; longer ones by counting, to stay linear.
constexpr size_t kInsertionLimit = 32;

class Normalizer {
public:
  Normalizer(const ScratchAllocator &allocator, uint8_t *out) : run(allocator), sorted(allocator), out(out) {}

  bool append(uint32_t code) {
    uint32_t parts[4];
    uint32_t numParts = decompose(code, parts);
    if (!run.reserve(length + numParts, length))
      return false;
    for (uint32_t i = 0; i < numParts; ++i)
      run[length++] = parts[i] | static_cast<uint32_t>(normalizationOf(parts[i]).combiningClass) << 24;
    return true;
  }

  /// Ends the run: orders, composes and writes it.
  bool flush() {
    if (!orderMarks())
      return false;
    composeRun();
    for (size_t i = 0; i < length; ++i) {
      uint8_t bytes[4];
      uint32_t numBytes = encodeCodePoint(run[i] & kCodeMask, bytes);
      for (uint32_t j = 0; j < numBytes; ++j)
        writeByte(bytes[j]);
    }
    length = 0;
    return true;
  }

  void writeByte(uint8_t byte) {
    if (out)
      out[written] = byte;
    ++written;
  }

  size_t size() const { return written; }

private:
  bool orderMarks() {
    for (size_t begin = 0; begin < length;) {
      if (classOfEntry(run[begin]) == 0) {
        ++begin;
        continue;
      }
      size_t end = begin;
      while (end < length && classOfEntry(run[end]) != 0)
        ++end;
      if (end - begin <= kInsertionLimit)
        insertionSort(begin, end);
      else if (!countingSort(begin, end))
        return false;
      begin = end;
    }
    return true;
  }

  void insertionSort(size_t begin, size_t end) {
    for (size_t i = begin + 1; i < end; ++i) {
      uint32_t entry = run[i];
      size_t j = i;
      for (; j > begin && classOfEntry(run[j - 1]) > classOfEntry(entry); --j)
        run[j] = run[j - 1];
      run[j] = entry;
    }
  }

  bool countingSort(size_t begin, size_t end) {
    if (!sorted.reserve(end - begin, 0))
      return false;
    size_t starts[257] = {};
    for (size_t i = begin; i < end; ++i)
      ++starts[classOfEntry(run[i]) + 1];
    for (size_t i = 1; i < 257; ++i)
      starts[i] += starts[i - 1];
    for (size_t i = begin; i < end; ++i)
      sorted[starts[classOfEntry(run[i])]++] = run[i];
    memcpy(run.data() + begin, sorted.data(), (end - begin) * sizeof(uint32_t));
    return true;
  }

  /// A code point combines with the last starter unless something of the same or a higher class stands between.
  void composeRun() {
    size_t kept = 0, starter = SIZE_MAX;
    uint32_t lastClass = 0;
    for (size_t i = 0; i < length; ++i) {
      uint32_t entry = run[i], combiningClass = classOfEntry(entry);
      bool adjacent = starter != SIZE_MAX && kept == starter + 1;
      if (starter != SIZE_MAX && (adjacent || lastClass < combiningClass)) {
        if (uint32_t composite = compose(run[starter] & kCodeMask, entry & kCodeMask)) {
          run[starter] = composite;
          continue;
        }
      }
      if (combiningClass == 0)
        starter = kept;
      lastClass = combiningClass;
      run[kept++] = entry;
    }
    length = kept;
  }

  ScratchArray<uint32_t, 64> run;
  ScratchArray<uint32_t, 1> sorted;
  size_t length = 0;
  uint8_t *out;
  size_t written = 0;
};

} // namespace

bool isSurelyNfc(const uint8_t *text, size_t size) {
  uint8_t lastClass = 0;
  for (size_t position = 0; position < size;) {
    if (text[position] < 0x80) {
      lastClass = 0;
      ++position;
      continue;
    }
    CodePoint point = decodeCodePoint(text + position, size - position);
    NormalizationProperty property = normalizationOf(point.code);
    if (!property.stable || (property.combiningClass != 0 && lastClass > property.combiningClass))
      return false;
    lastClass = property.combiningClass;
    position += point.length;
  }
  return true;
}

bool normalizeNfc(const uint8_t *text, size_t size, const ScratchAllocator &allocator, uint8_t *out, size_t *outSize) {
  Normalizer normalizer(allocator, out);
  for (size_t position = 0; position < size;) {
    CodePoint point = decodeCodePoint(text + position, size - position);
    position += point.length;
    NormalizationProperty property = normalizationOf(point.code);
    bool boundary = property.stable && property.combiningClass == 0;
    if (boundary && !normalizer.flush())
      return false;
    if (point.code >= kInvalidByte)
      normalizer.writeByte(static_cast<uint8_t>(point.code - kInvalidByte));
    else if (!normalizer.append(point.code))
      return false;
  }
  if (!normalizer.flush())
    return false;
  *outSize = normalizer.size();
  return true;
}

} // namespace moert
