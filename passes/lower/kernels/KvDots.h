// SPDX-License-Identifier: Apache-2.0
/// \file
/// Integer inner products of rows of codes with keys or values of the KV cache, four codes a lane at once. Step: lower.
/// Main source: docs/architecture.md ("KV cache").
#ifndef PASSES_LOWER_KERNELS_KVDOTS_H
#define PASSES_LOWER_KERNELS_KVDOTS_H

#include "passes/lower/kernels/FloatBuilder.h"

namespace moec {

/// Emits exact i32 sums over words of four codes: of a row, and of each lane of the cache. In memory a step of the
/// cache is [lane][4] bytes. Packed bytes hold two words: of keys the halves are two steps of a row for the same lane,
/// of values the same step for two vectors of lanes, the low halves before the high ones.
class KvDots {
public:
  using Values = FloatBuilder::Values;

  KvDots(FloatBuilder &f, Isa isa, mlir::Value region, bool isPacked)
      : f(f), isa(isa), region(region), isPacked(isPacked) {}

  /// Rows that share a load of the cache, and vectors of 16 lanes that `numRows` rows are multiplied with at once; of
  /// packed values that many in memory. No result depends on either.
  int64_t rowsAtOnce() const { return isa == Isa::Avx512Vnni ? 8 : 4; }
  int64_t vectorsAtOnce(int64_t numRows, bool isKey) const;
  /// What unsigned key codes are larger by; the sums of a row start at -keyBias() * Σ codes of the row.
  int64_t keyBias() const;

  /// A product. Codes of rows are bytes in a memref: row r starts at firstCode + r * rowCodes.
  struct Operands {
    mlir::Value codes, firstCode;
    int64_t rowCodes, numRows;
    mlir::Value cache; // byte of the region where lane 0 of step 0 lies
    int64_t stepBytes, numSteps, numVectors;
    mlir::Value ahead; // byte of the region from which on as much memory is asked for meanwhile; or null
  };
  /// Sums [row][vector] of codes -127..127 with keys; `starts` has one i32 for each row, or none.
  Values keySums(const Operands &operands, mlir::ValueRange starts) { return sums(operands, true, starts); }
  /// Sums of codes 0..127 with values: [row][vector], or of packed values [row][vector][half].
  Values valueSums(const Operands &operands) { return sums(operands, false, {}); }

private:
  /// Lanes of a register.
  int64_t nativeLanes() const;
  int64_t piecesEach() const { return kFloatLanes / nativeLanes(); }
  Values sums(const Operands &operands, bool isKey, mlir::ValueRange starts);
  /// Sums after the words [first, first + numWords) of the rows.
  Values addWords(const Operands &operands, bool isKey, mlir::Value step, int64_t numSteps, mlir::ValueRange carried);
  /// The codes of a half of the loaded bytes as the dot product takes them; unsigned ones have the bias.
  mlir::Value decoded(mlir::Value bytes, bool isHigh, bool isKey);
  mlir::Value nibbles(mlir::Value bytes, bool isHigh, bool isKey);
  mlir::Value piece(mlir::Value vector, int64_t number);
  /// sum + the products of one register; `word` has the row's four codes in each lane.
  mlir::Value dot(mlir::Value sum, mlir::Value cache, mlir::Value word, bool isKey);
  mlir::Value dotNeon(mlir::Value sum, mlir::Value cache, mlir::Value word);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int64_t> lanes);
  bool isArm() const { return familyOf(isa) == LayoutFamily::Arm64; }

  FloatBuilder &f;
  Isa isa;
  mlir::Value region;
  bool isPacked;
};

} // namespace moec

#endif
