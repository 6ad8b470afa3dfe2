// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sizes of the KV cache, with checked arithmetic.
#include "lib/Plan/KvLayout.h"

#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"

namespace moec {

int64_t KvLayout::codeBytes(int64_t count) const {
  switch (element) {
  case KvElement::f32:
    return count * 4;
  case KvElement::f16:
    return count * 2;
  case KvElement::i8:
    return count;
  case KvElement::i4:
    return count / 2;
  }
  return 0;
}

llvm::Error checkKvHeads(const KvLayout &layout) {
  // 65,536: far above any model, and products of the sizes below stay far below 2^63.
  if (layout.kvHeads < 1 || layout.kvHeads > 65536)
    return fault("a KV cache with kv_heads " + llvm::Twine(layout.kvHeads) +
                 " has no kernel; supported are 1 to 65536");
  for (int64_t dim : {layout.keyDim, layout.valueDim})
    if (dim < 8 || dim % 8 != 0 || dim > kKvLargestDim)
      return fault("a KV cache with head_dim " + llvm::Twine(dim) +
                   " has no kernel; supported are multiples of 8 up to " + llvm::Twine(kKvLargestDim));
  return llvm::Error::success();
}

std::optional<uint64_t> kvCacheBytes(const KvLayout &layer, uint64_t numLayers, uint64_t numBlocks) {
  return checkedProduct({static_cast<uint64_t>(layer.layerBytes()), numLayers, numBlocks});
}

} // namespace moec
