// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages of moe-run on stderr, and growing memory without the C++ library.
#ifndef TOOLS_MOE_RUN_MESSAGE_H
#define TOOLS_MOE_RUN_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

namespace moerun {

/// Prints "error: ..." and returns false.
__attribute__((format(printf, 1, 2))) bool printError(const char *format, ...);
/// The same with a pointer to the help.
__attribute__((format(printf, 1, 2))) bool usageError(const char *format, ...);

/// An array of trivial T on malloc. `append` is false when memory is refused.
template <typename T> class Array {
public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { free(elements); }

  bool reserve(size_t count) {
    if (count <= capacity)
      return true;
    size_t grown = count > 2 * capacity ? count : 2 * capacity;
    void *block = grown > SIZE_MAX / sizeof(T) ? nullptr : realloc(elements, grown * sizeof(T));
    if (!block)
      return false;
    elements = static_cast<T *>(block);
    capacity = grown;
    return true;
  }

  bool append(const T *values, size_t count) {
    if (count == 0)
      return true;
    if (!reserve(numElements + count))
      return false;
    memcpy(elements + numElements, values, count * sizeof(T));
    numElements += count;
    return true;
  }

  void setSize(size_t count) { numElements = count; }
  T *data() { return elements; }
  const T *data() const { return elements; }
  size_t size() const { return numElements; }

private:
  T *elements = nullptr;
  size_t numElements = 0;
  size_t capacity = 0;
};

} // namespace moerun
#endif
