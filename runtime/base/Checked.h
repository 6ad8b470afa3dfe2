// SPDX-License-Identifier: Apache-2.0
/// \file
/// Byte arithmetic that cannot wrap: every size and offset that comes from a file or a caller goes through it.
#ifndef RUNTIME_BASE_CHECKED_H
#define RUNTIME_BASE_CHECKED_H

#include <stdint.h>

namespace moert {

/// False if the result does not fit; `result` is then unspecified.
inline bool checkedAdd(uint64_t a, uint64_t b, uint64_t &result) { return !__builtin_add_overflow(a, b, &result); }
inline bool checkedMul(uint64_t a, uint64_t b, uint64_t &result) { return !__builtin_mul_overflow(a, b, &result); }

/// A sum of products that remembers whether anything overflowed.
struct CheckedSum {
  uint64_t total = 0;
  bool valid = true;

  void add(uint64_t amount) { valid = valid && checkedAdd(total, amount, total); }
  void addProduct(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    valid = valid && checkedMul(a, b, product);
    add(product);
  }
};

inline uint64_t minOf(uint64_t a, uint64_t b) { return a < b ? a : b; }
inline uint64_t maxOf(uint64_t a, uint64_t b) { return a > b ? a : b; }
/// `unit` is a power of two; saturates instead of wrapping.
inline uint64_t roundUp(uint64_t bytes, uint64_t unit) {
  uint64_t sum = 0;
  return checkedAdd(bytes, unit - 1, sum) ? sum & ~(unit - 1) : UINT64_MAX & ~(unit - 1);
}

} // namespace moert
#endif
