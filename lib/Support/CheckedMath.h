// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic on sizes that come from files or options: every overflow is seen.
#ifndef LIB_SUPPORT_CHECKEDMATH_H
#define LIB_SUPPORT_CHECKEDMATH_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>

namespace moec {

/// a + b, or nothing on overflow.
inline std::optional<uint64_t> checkedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    return std::nullopt;
  return sum;
}

/// a * b, or nothing on overflow.
inline std::optional<uint64_t> checkedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}

/// The product of all factors (1 of none), or nothing on overflow. A zero anywhere gives 0.
inline std::optional<uint64_t> checkedProduct(llvm::ArrayRef<uint64_t> factors) {
  for (uint64_t factor : factors)
    if (factor == 0)
      return 0;
  std::optional<uint64_t> product = 1;
  for (uint64_t factor : factors)
    if (!(product = checkedMul(*product, factor)))
      return std::nullopt;
  return product;
}

/// The smallest multiple of `alignment` that is at least `value`, or nothing on overflow or if `alignment` is 0.
inline std::optional<uint64_t> checkedAlignUp(uint64_t value, uint64_t alignment) {
  if (alignment == 0)
    return std::nullopt;
  uint64_t rest = value % alignment;
  return rest == 0 ? std::optional<uint64_t>(value) : checkedAdd(value, alignment - rest);
}

} // namespace moec
#endif
