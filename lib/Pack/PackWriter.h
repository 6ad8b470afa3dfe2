// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes a pack from start to end while worker threads read and quantize the next pieces. The pack step.
/// Main source: docs/pack-format.md.
#ifndef LIB_PACK_PACKWRITER_H
#define LIB_PACK_PACKWRITER_H

#include "lib/Pack/PackPlan.h"
#include "lib/Support/Files.h"

namespace moec {

/// Where the values of tensors come from.
class TensorSource {
public:
  virtual ~TensorSource() = default;
  /// Fills `out` [rowEnd - rowBegin, cols] with rows of tensor number `tensor` of the plan.
  /// Threads: called by several at once.
  virtual llvm::Error readRows(size_t tensor, int64_t rowBegin, int64_t rowEnd,
                               llvm::MutableArrayRef<float> out) const = 0;
  /// Whether `readCodes` gives a tensor's codes, which are stored as they are.
  virtual bool hasCodes(size_t /*tensor*/) const { return false; }
  /// Fills codes [rowEnd - rowBegin, cols] and scales, for each row as `quantizeRow` has them.
  virtual llvm::Error readCodes(size_t tensor, int64_t rowBegin, int64_t rowEnd, llvm::MutableArrayRef<int8_t> codes,
                                llvm::MutableArrayRef<uint16_t> scales) const;
};

struct PackWriteOptions {
  /// Threads that quantize; 0: as many as the machine has. The bytes do not depend on it.
  unsigned numThreads = 0;
  /// Told after each piece, by the calling thread: bytes written and bytes of the whole pack.
  std::function<void(uint64_t doneBytes, uint64_t totalBytes)> progress;
};

struct PackWriteResult {
  Digest128 weightsId; ///< of the directory, which holds the checksums of all records
  uint64_t totalBytes = 0;
};

/// Adds `path` (and `path`.1, … for further parts) to `outputs` and writes them; the caller commits. `plan` is
/// finished.
///
/// Memory: for each thread about three pieces of 4 MiB (or one row tile, where that is larger).
/// Errors: those of `source` and of quantization, the first in the order of the pack; of writing.
llvm::Expected<PackWriteResult> writePack(const PackPlan &plan, const TensorSource &source, llvm::StringRef path,
                                          OutputTransaction &outputs, const PackWriteOptions &options = {});

} // namespace moec

#endif
