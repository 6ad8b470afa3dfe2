// SPDX-License-Identifier: Apache-2.0
/// \file
/// The inner product shared by linear and expert kernels: one row block of a stored matrix times a few activation rows,
/// the whole of K in registers. Step: lower. Main source: docs/pack-format.md (layouts), DESIGN §4.1 N1.
#ifndef PASSES_LOWER_KERNELS_DOT_H
#define PASSES_LOWER_KERNELS_DOT_H

#include "lib/Pack/Layout.h"
#include "passes/lower/kernels/FloatBuilder.h"
#include "passes/lower/kernels/KernelBuilder.h"

#include "llvm/Support/Error.h"

namespace moec {

/// A stored matrix [rows, columns]; y = W x.
struct MatrixSpec {
  int64_t rows = 0;
  int64_t columns = 0;
  Encoding encoding;
  /// Where the matrix starts in its memref, in bytes.
  int64_t offsetBytes = 0;

  /// Where the values lie. `check` has passed.
  Layout layout(LayoutFamily family) const;
};

/// Says whether the matrix can be multiplied.
llvm::Error check(const MatrixSpec &matrix, llvm::StringRef what);

/// Activation rows. Float weights read `floats` [n][K]; integer weights read codes i8 [n][K], scales f32 [n][K/G] and
/// sums i32 [n][K/G].
struct ActivationRows {
  mlir::Value floats;
  mlir::Value codes;
  mlir::Value scales;
  mlir::Value sums;
};

/// Appends the memref types of activation rows: one for float weights, three for integer weights.
void appendRowTypes(llvm::SmallVectorImpl<mlir::Type> &types, mlir::Builder &builder, const MatrixSpec &matrix,
                    int64_t maxRows);
/// Takes activation rows from the front of `memrefs`.
ActivationRows takeRows(mlir::ValueRange &memrefs, const MatrixSpec &matrix);

/// Emits products of one row block. The result is the same bits for every ISA and every number of tokens.
class DotEmitter {
public:
  DotEmitter(Isa isa, FloatBuilder &builder, const MatrixSpec &matrix, mlir::Value weights, ActivationRows rows)
      : isa(isa), f(builder), matrix(matrix), layout(matrix.layout(familyOf(isa))), weights(weights), rows(rows) {}

  int64_t rowBlock() const { return layout.rowTile(); }
  /// The most tokens whose accumulators fit in registers: 8, 4 or 2.
  int64_t widestBlock() const;
  /// y[row .. row + rowBlock) of each token, as one f32 vector of rowBlock lanes for each. `row` is a multiple of
  /// rowBlock.
  mlir::SmallVector<mlir::Value, 8> emit(mlir::Value row, mlir::ArrayRef<mlir::Value> tokens);

private:
  using Values = mlir::SmallVector<mlir::Value, 8>;
  using Tokens = mlir::ArrayRef<mlir::Value>;

  // Dot.cpp
  Values emitFloat(mlir::Value row, Tokens tokens);
  const Encoding &encoding() const { return matrix.encoding; }
  int64_t group() const { return matrix.encoding.group; }
  int64_t groupBytes() const { return layout.blockBytes(); }
  int64_t codeBytes() const { return layout.codeBytes(); }
  /// The same value, which the optimizer cannot see through.
  mlir::Value hidden(mlir::Value index);
  mlir::Value rowBase(mlir::Value row);
  void prefetch(mlir::Value base, int64_t bytes);
  mlir::Value weightBytes(mlir::Value base, int64_t offset, int64_t width);
  /// f32 of the scales, or minima, of rows [first, +width) of a block.
  mlir::Value weightScales(mlir::Value block, int64_t first, int64_t width);
  mlir::Value weightMinima(mlir::Value block, int64_t first, int64_t width);
  /// float(Σ codes) * scale of a group of activations: what a minimum is multiplied by.
  mlir::Value activationSum(mlir::Value token, mlir::Value group);
  mlir::Value intrinsic(llvm::StringRef name, mlir::Type type, mlir::ValueRange arguments);
  mlir::Value splatInteger(mlir::Type element, int64_t width, int64_t value);
  mlir::Value bitcast(mlir::Value vector, mlir::Type element);
  Values overSlices(mlir::ValueRange sums, llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);

  // DotX86.cpp
  Values emitX86(mlir::Value row, Tokens tokens);
  void prefetchX86(mlir::Value at, int64_t bytes);
  void fenceX86(mlir::ValueRange values);
  mlir::Value maddPairs(mlir::Value x, mlir::Value y);
  Values nibblesAvx2(mlir::Value block, mlir::Value k, Tokens tokens, mlir::ValueRange initial);
  Values bytesAvx2(mlir::Value block, mlir::Value k, Tokens tokens, mlir::ValueRange initial);
  Values sumsVnni(mlir::Value block, mlir::Value k, Tokens tokens, mlir::ValueRange initial);
  Values sumsAvx2(mlir::Value block, mlir::Value k, Tokens tokens, mlir::ValueRange initial);
  /// Bytes [first, +width) of the 64 unsigned codes of word `word` (0 .. 7) of a slice of 32 columns.
  mlir::Value x86Weights(mlir::Value slice, int64_t word, int64_t first, int64_t width);
  mlir::Value activationWord(mlir::Value token, mlir::Value k, int64_t lanes);

  // DotArm.cpp
  Values emitArm(mlir::Value row, Tokens tokens);
  Values overGroups(mlir::Value base, mlir::ValueRange acc,
                    llvm::function_ref<Values(mlir::Value block, mlir::Value group, mlir::ValueRange)> body);
  Values emitSdotGroup(mlir::Value block, mlir::Value group, Tokens tokens, int64_t half, mlir::ValueRange acc);
  Values smmlaColumns(mlir::Value k, Tokens tokens);
  Values smmlaRowPair(mlir::Value slice, int64_t pair, mlir::ValueRange columns, mlir::ValueRange sums);
  void finishBefore(mlir::ValueRange values);
  Values emitSmmlaGroup(mlir::Value block, mlir::Value group, Tokens tokens, mlir::ValueRange acc);
  /// The 16 signed codes of row pair `rowPair` (0 .. 3) in chunk `chunk` (0 .. 3, 8 columns each) of a slice of 32
  /// columns, times 2^armShift().
  mlir::Value armWeights(mlir::Value slice, int64_t chunk, int64_t rowPair);
  int64_t armShift() const { return 8 - matrix.encoding.bits(); }
  mlir::Value armFloat(mlir::Value sums);

  // DotAvxVnni.cpp
  Values sumsAvxVnni(mlir::Value block, mlir::Value k, Tokens tokens, mlir::ValueRange initial);

  // DotNeon.cpp
  Values neonSums(mlir::Value block, mlir::Value group, Tokens tokens, int64_t half, int64_t numPairs);

  Isa isa;
  FloatBuilder &f;
  MatrixSpec matrix;
  Layout layout;
  mlir::Value weights;
  ActivationRows rows;
};

/// Runs `body` with blocks of `widest`, .., 4, 2, 1 indices that cover [0, count); count <= most. `body` gets the first
/// index and the number of them.
void overBlocks(FloatBuilder &builder, mlir::Value count, int64_t most, int64_t widest,
                llvm::function_ref<void(mlir::Value, int64_t)> body);

/// Stores `vector` at [row, column ..), leaving out lanes at or behind `columns`.
void storeInside(FloatBuilder &builder, mlir::Value vector, mlir::Value memref, mlir::Value row, mlir::Value column,
                 int64_t columns);
/// Loads `width` lanes at [row.., column ..), `row` being the leading indices; lanes at or behind `columns` are zero.
mlir::Value loadInside(FloatBuilder &builder, mlir::Value memref, llvm::ArrayRef<mlir::Value> row, mlir::Value column,
                       int64_t columns, int64_t width);

} // namespace moec

#endif
