// SPDX-License-Identifier: Apache-2.0
/// \file
/// Offsets that generated code and the pack must agree on: resident tensors in their segment, the three matrices of an
/// expert in their record. Used by the plan stage and by the pack plan. Main source: docs/pack-format.md ("Placement").
#ifndef LIB_PACK_PLACEMENT_H
#define LIB_PACK_PLACEMENT_H

#include "lib/Support/CheckedMath.h"
#include "moert/PackFormat.h"

#include <array>
#include <cstdint>
#include <optional>

namespace moec {

/// Places resident tensors one behind the other, at multiples of 64; those of 1 MiB and more at multiples of the page
/// size, so that a part of the pack can begin there and still be read past the page cache.
class ResidentSegment {
public:
  /// The offset of a tensor of `bytes` bytes, or nothing if the segment exceeds 2^64 bytes.
  std::optional<uint64_t> place(uint64_t bytes) {
    std::optional<uint64_t> offset = checkedAlignUp(end, bytes >= 1u << 20 ? MOEPACK_PAGE_BYTES : MOEPACK_TENSOR_ALIGN);
    std::optional<uint64_t> next = offset ? checkedAdd(*offset, bytes) : std::nullopt;
    if (!next || !checkedAlignUp(*next, MOEPACK_PAGE_BYTES))
      return std::nullopt;
    end = *next;
    return offset;
  }
  /// Bytes of the whole segment, a multiple of 64.
  uint64_t sizeBytes() const { return *checkedAlignUp(end, MOEPACK_TENSOR_ALIGN); }

private:
  uint64_t end = 0;
};

/// Where gate, up and down begin in their record.
struct ExpertPlacement {
  std::array<uint64_t, 3> offsets{};
  uint64_t recordBytes = 0; ///< a multiple of the page size
};

/// Places matrices of `bytes` bytes at multiples of 64, or nothing if the record exceeds 2^64 bytes.
inline std::optional<ExpertPlacement> placeExpert(const std::array<uint64_t, 3> &bytes) {
  ExpertPlacement placement;
  std::optional<uint64_t> end = 0;
  for (size_t i = 0; i < 3; ++i) {
    if (!(end = checkedAlignUp(*end, MOEPACK_TENSOR_ALIGN)))
      return std::nullopt;
    placement.offsets[i] = *end;
    if (!(end = checkedAdd(*end, bytes[i])))
      return std::nullopt;
  }
  if (!(end = checkedAlignUp(*end, MOEPACK_PAGE_BYTES)))
    return std::nullopt;
  placement.recordBytes = *end;
  return placement;
}

} // namespace moec

#endif
