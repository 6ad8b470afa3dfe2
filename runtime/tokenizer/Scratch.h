// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory for one tokenizer call: an allocator that the caller gives (the ledger in a model, malloc in tests) and a
/// growing buffer on it that starts in storage of its owner. Part of the run step.
#ifndef RUNTIME_TOKENIZER_SCRATCH_H
#define RUNTIME_TOKENIZER_SCRATCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace moert {

/// `allocate` returns nullptr when memory is refused; blocks are 16-byte aligned; `release` gets the same size.
struct ScratchAllocator {
  void *user;
  void *(*allocate)(void *user, size_t sizeBytes);
  void (*release)(void *user, void *block, size_t sizeBytes);
};

/// An array of trivial `T` that holds the first `kInline` elements itself.
template <typename T, size_t kInline> class ScratchArray {
public:
  explicit ScratchArray(const ScratchAllocator &allocator) : allocator(allocator) {}
  ScratchArray(const ScratchArray &) = delete;
  ScratchArray &operator=(const ScratchArray &) = delete;
  ~ScratchArray() { releaseBlock(); }

  /// Makes room for `count` elements and keeps the first `keep`. False when memory is refused; then nothing changed.
  bool reserve(size_t count, size_t keep) {
    if (count <= capacity)
      return true;
    if (count > SIZE_MAX / (2 * sizeof(T)))
      return false;
    size_t grown = count > 2 * capacity ? count : 2 * capacity;
    T *block = static_cast<T *>(allocator.allocate(allocator.user, grown * sizeof(T)));
    if (!block)
      return false;
    memcpy(block, elements, keep * sizeof(T));
    releaseBlock();
    elements = block;
    capacity = grown;
    return true;
  }

  T *data() { return elements; }
  T &operator[](size_t i) { return elements[i]; }

private:
  void releaseBlock() {
    if (elements != inlineElements)
      allocator.release(allocator.user, elements, capacity * sizeof(T));
  }

  const ScratchAllocator &allocator;
  T inlineElements[kInline];
  T *elements = inlineElements;
  size_t capacity = kInline;
};

} // namespace moert
#endif
