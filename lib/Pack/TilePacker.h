// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes row tiles of a stored matrix. Everything it knows of a layout it asks the address function once, so it packs
/// every family. Part of the pack writer. Main source: lib/Pack/Layout.h.
#ifndef LIB_PACK_TILEPACKER_H
#define LIB_PACK_TILEPACKER_H

#include "lib/Pack/Layout.h"

#include <vector>

namespace moec {

/// Packs tiles of one layout. A value type; threads: const functions are re-entrant.
///
/// Codes lie in one or two planes: all bits of a code, or the low 4 and the high 2. A run is a word of consecutive
/// bytes whose parts come from consecutive columns, so that a whole word is moved at a time; how long the words are
/// follows from the addresses.
class TilePacker {
public:
  /// Cost: a few operations for each value of a block.
  explicit TilePacker(const Layout &layout);

  /// Writes row tile `tile` to `out` [tileBytes()]. `codes` holds the rows of the tile that exist, [n][cols], and
  /// `scales` their f16 bits, [n][encoding().numScales(cols)]; n = min(rowTile(), rows() - tile * rowTile()).
  void pack(int64_t tile, llvm::ArrayRef<int8_t> codes, llvm::ArrayRef<uint16_t> scales,
            llvm::MutableArrayRef<uint8_t> out) const;
  /// The same for floats: `values` [n][cols], which `checkFloats` has passed.
  void pack(int64_t tile, llvm::ArrayRef<float> values, llvm::MutableArrayRef<uint8_t> out) const;

private:
  /// Bytes of a block that hold the same bits of codes: `partBits` bits from bit `codeShift` of a code on.
  struct Plane {
    int codeShift, partBits;
    int64_t runBytes;              ///< 8, 4, 2 or 1
    std::vector<uint32_t> targets; ///< first byte of each run, in the block
    std::vector<uint64_t> sources; ///< [8 / partBits][runs]: row * cols + column of the code in the run's first byte
    std::vector<uint8_t> biases;   ///< of each run: what is added to the codes of a byte
  };

  Plane planeOf(int codeShift, int partBits) const;
  void packPlane(const Plane &plane, const int8_t *codes, uint8_t *out) const;
  int64_t rowsInTile(int64_t tile) const;

  Layout layout;
  std::vector<Plane> planes;
};

} // namespace moec

#endif
