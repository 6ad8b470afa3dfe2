// SPDX-License-Identifier: Apache-2.0
/// \file
/// Divides the tensors of a pack into pieces of bounded size and turns the values of a piece into its stored bytes.
/// Part of the pack writer.
#ifndef LIB_PACK_PIECEENCODER_H
#define LIB_PACK_PIECEENCODER_H

#include "lib/Pack/PackWriter.h"

#include <memory>

namespace moec {

/// Consecutive rows of one tensor; whole row tiles of a matrix.
struct PackPiece {
  uint32_t record;
  size_t tensor;
  int64_t rowBegin, rowEnd;
  uint64_t offset; ///< in the concatenation of all parts
};

/// All pieces of a finished plan by ascending offset.
std::vector<PackPiece> piecesOf(const PackPlan &plan);

/// Encodes pieces one after the other; keeps its buffers for the next. One for each thread.
class PieceEncoder {
public:
  PieceEncoder(const PackPlan &plan, const TensorSource &source);
  ~PieceEncoder();

  /// The stored bytes of a piece. Errors: of the source, of quantization.
  llvm::Expected<std::vector<uint8_t>> encode(const PackPiece &piece);

private:
  struct Strip;
  const PackPlan &plan;
  const TensorSource &source;
  std::unique_ptr<Strip> strip;
};

} // namespace moec

#endif
