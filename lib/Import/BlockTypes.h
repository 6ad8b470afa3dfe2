// SPDX-License-Identifier: Apache-2.0
/// \file
/// The block types of gguf files: consecutive values of a row that share scales. Part of the import and pack steps.
/// Main source: docs/gguf.md ("Types").
#ifndef LIB_IMPORT_BLOCKTYPES_H
#define LIB_IMPORT_BLOCKTYPES_H

#include "lib/Import/TensorType.h"

#include "llvm/ADT/ArrayRef.h"

namespace moec {

/// The values of whole blocks as float32: products in the order of the format's definition, each step rounded once.
///
/// Shapes: out.size() is a multiple of the block's values; `bytes` holds as many blocks. Threads: re-entrant.
void dequantizeBlocks(TensorType type, const uint8_t *bytes, llvm::MutableArrayRef<float> out);

/// The codes and f16 scales of whole blocks, and for Q4_1 the minima, as our encodings hold them: those of Q8_0 and
/// Q4_0 as they are; Q4_1 counts its codes from the lowest value and we from the middle, so code = q - 8 and minimum =
/// f16(m + 8 d), where the sum is rounded.
///
/// Shapes: `codes` as `out` above; one scale for each block, and one minimum for Q4_1, else none. Types: Q8_0, Q4_0,
/// Q4_1.
void unpackBlocks(TensorType type, const uint8_t *bytes, llvm::MutableArrayRef<int8_t> codes,
                  llvm::MutableArrayRef<uint16_t> scales, llvm::MutableArrayRef<uint16_t> minima);

} // namespace moec
#endif
