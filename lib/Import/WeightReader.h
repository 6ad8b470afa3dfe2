// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads rows of a weight as float32, in pieces. Part of the pack step and of the reference interpreter.
#ifndef LIB_IMPORT_WEIGHTREADER_H
#define LIB_IMPORT_WEIGHTREADER_H

#include "lib/Import/TensorType.h"
#include "lib/Support/Files.h"
#include "lib/Synth/RandomTensor.h"

namespace moec {

/// A matrix [numRows, numColumns] in a file, or generated. A vector is one row.
struct WeightSource {
  const RandomAccessFile *file; // null where `random` is there
  TensorType type;              // isWeightType
  uint64_t offsetBytes;         // in the file, or of the matrix in the generated tensor
  uint64_t numRows;
  uint64_t numColumns;
  std::optional<RandomTensor> random = std::nullopt;
};

/// Reads rows [firstRow, firstRow + numRows) into `out` [numRows, numColumns]. Conversions of F32, F16 and BF16 are
/// exact; those of block types round as BlockTypes.h says.
///
/// Memory: one buffer of at most 1 MiB on top of `out`.
/// Threads: re-entrant; one source may be read by several threads.
/// Errors: rows beyond the matrix, a type that is no weight type, rows that are not whole blocks, a wrong size of
/// `out`, a failed read.
llvm::Error readWeightRows(const WeightSource &source, uint64_t firstRow, uint64_t numRows,
                           llvm::MutableArrayRef<float> out);

/// Reads the codes of rows, [numRows, numColumns], and their scales, for each row those of all groups and then for Q4_1
/// the minima: see `unpackBlocks`. Errors: as `readWeightRows`; a type other than Q8_0, Q4_0 and Q4_1.
llvm::Error readWeightCodes(const WeightSource &source, uint64_t firstRow, uint64_t numRows,
                            llvm::MutableArrayRef<int8_t> codes, llvm::MutableArrayRef<uint16_t> scales);

/// The values from a file that is opened for this call.
llvm::Expected<std::vector<float>> readWeight(llvm::StringRef path, TensorType type, uint64_t offsetBytes,
                                              uint64_t numRows, uint64_t numColumns);

} // namespace moec
#endif
