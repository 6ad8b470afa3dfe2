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

} // namespace moec
#endif
