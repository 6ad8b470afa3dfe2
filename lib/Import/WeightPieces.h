// SPDX-License-Identifier: Apache-2.0
/// \file
/// The values of a `moe.weight` from the pieces of its source. Used by the pack step and by the reference interpreter.
/// Main source: the description of `#moe.source`.
#ifndef LIB_IMPORT_WEIGHTPIECES_H
#define LIB_IMPORT_WEIGHTPIECES_H

#include "dialects/moe/MoeDialect.h"
#include "lib/Import/WeightReader.h"

#include <memory>

namespace moec {

/// An entry of `moe.files`: a file, or what generates it.
struct WeightFile {
  std::unique_ptr<RandomAccessFile> file; // null where the weights are generated
  RandomKind random;
  uint64_t sizeBytes = 0;

  std::string name() const { return file ? "'" + file->path() + "'" : "a generated file"; }
};

/// One matrix of a weight, or a vector as a matrix of one row.
///
/// Threads: re-entrant once created. The files must outlive it.
class PiecedWeight {
public:
  /// Matrix `index` of a weight of rank 3, else the weight itself (`index` 0).
  ///
  /// Errors: a dtype that is not read, a file that `files` lacks, a piece that ends behind its file, sizes beyond 2^64.
  static llvm::Expected<PiecedWeight> create(mlir::moe::WeightOp weight, int64_t index,
                                             llvm::ArrayRef<WeightFile> files);

  /// Rows [firstRow, firstRow + numRows) into `out`, piece by piece. Errors: those of `readWeightRows`.
  llvm::Error readRows(uint64_t firstRow, uint64_t numRows, llvm::MutableArrayRef<float> out) const;
  /// The same of codes and their scales. Errors: those of `readWeightCodes`; a vector.
  llvm::Error readCodes(uint64_t firstRow, uint64_t numRows, llvm::MutableArrayRef<int8_t> codes,
                        llvm::MutableArrayRef<uint16_t> scales) const;

private:
  struct Piece {
    WeightSource source;
    uint64_t firstRow; ///< of the source
  };
  using Read = llvm::function_ref<llvm::Error(const WeightSource &source, uint64_t firstRow, uint64_t numRows)>;
  /// Calls `read` for the run of rows in each piece, in order.
  llvm::Error forEachPiece(uint64_t firstRow, uint64_t numRows, Read read) const;

  PiecedWeight(std::string name, bool isColumn, uint64_t rowsOfPiece, uint64_t numColumns)
      : name(std::move(name)), isColumn(isColumn), rowsOfPiece(rowsOfPiece), numColumns(numColumns) {}

  std::string name;
  bool isColumn;        ///< a vector of several pieces: one value a row
  uint64_t rowsOfPiece; ///< that belong to this matrix
  uint64_t numColumns;
  std::vector<Piece> pieces;
};

} // namespace moec
#endif
