// SPDX-License-Identifier: Apache-2.0
/// \file
/// The inner product shared by linear and expert kernels: one row block of a stored matrix times a few activation rows,
/// the whole of K in registers. Step: lower. Main source: docs/pack-format.md (layouts), docs/architecture.md N1.
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

  /// first, first + 1, ..
  static mlir::SmallVector<mlir::Value, 8> indices(FloatBuilder &builder, mlir::Value first, int64_t count) {
    mlir::SmallVector<mlir::Value, 8> result;
    for (int64_t i = 0; i < count; ++i)
      result.push_back(builder.add(first, i));
    return result;
  }

  int64_t rowBlock() const { return layout.rowTile(); }
  /// The most tokens whose accumulators fit in registers, of as many row blocks as rowBlocksAtOnce() says: 2 to 8.
  int64_t widestBlock() const;
  /// Whether products of several tokens read their activations from a copy in the order of the instructions. Then
  /// `reserveCopy` is called outside of all loops, and `copyRows` before `emit` of the same tokens, if there are
  /// several.
  bool copiesRows() const;
  void reserveCopy();
  void copyRows(mlir::ArrayRef<mlir::Value> tokens);
  /// Reads the copy of `other`, which multiplies the same rows of activations.
  void shareCopy(const DotEmitter &other) { copy = other.copy; }
  /// Runs `body` with blocks of tokens that cover [0, count): the first and the number of them; 1 <= count <= most.
  void overTokens(mlir::Value count, int64_t most, llvm::function_ref<void(mlir::Value, int64_t)> body);
  /// The products of rows [begin, end) with the activations of [0, count) of a list: `rowsOf` says which rows of
  /// activations the entries [first, first + number) are, and `body` gets the first row and the number of row blocks
  /// for `emitBlocks`, and the rows of activations. 1 <= count <= most; begin and end are ends of tiles of
  /// `rowsPerTile` rows, or of the matrix. Copies activations where `copiesRows()`; outside of all loops.
  void overProducts(mlir::Value begin, mlir::Value end, int64_t rowsPerTile, mlir::Value count, int64_t most,
                    llvm::function_ref<mlir::SmallVector<mlir::Value, 8>(mlir::Value, int64_t)> rowsOf,
                    llvm::function_ref<void(mlir::Value, int64_t, mlir::ArrayRef<mlir::Value>)> body);
  /// How many row blocks `emitBlocks` should get for products of many tokens: 1 or 2.
  int64_t rowBlocksAtOnce() const;
  /// y[row .. row + rowBlock) of each token, as one f32 vector of rowBlock lanes for each. `row` is a multiple of
  /// rowBlock.
  mlir::SmallVector<mlir::Value, 8> emit(mlir::Value row, mlir::ArrayRef<mlir::Value> tokens);
  /// The same of `numBlocks` row blocks from `row` on, one behind the other in the result.
  mlir::SmallVector<mlir::Value, 8> emitBlocks(mlir::Value row, int64_t numBlocks, mlir::ArrayRef<mlir::Value> tokens);

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
  mlir::Value hiddenInteger(mlir::Value integer);
  /// Loads behind this place are not moved before `values` are known. The scheduler knows no other limit to what it
  /// keeps in registers. Costs no instruction.
  void finishBefore(mlir::ValueRange values);
  mlir::Value rowBase(mlir::Value row);
  mlir::Value weightBytes(mlir::Value base, int64_t offset, int64_t width);
  /// f32 of the scales, or minima, of rows [first, +width) of a block.
  mlir::Value weightScales(mlir::Value block, int64_t first, int64_t width);
  mlir::Value weightMinima(mlir::Value block, int64_t first, int64_t width);
  /// float(Σ codes) * scale of a group of activations: what a minimum is multiplied by.
  mlir::Value activationSum(mlir::Value token, mlir::Value group);
  mlir::Value splatInteger(mlir::Type element, int64_t width, int64_t value);
  Values overSlices(mlir::ValueRange sums, llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body);

  // DotX86Many.cpp
  Values emitX86Many(mlir::Value row, int64_t numBlocks, Tokens tokens);
  void prefetchBlocks(mlir::Value base, int64_t numBlocks);

  // DotX86.cpp
  Values emitX86(mlir::Value row, Tokens tokens);
  void prefetchX86(mlir::Value at, int64_t bytes);
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
  bool isNibbles() const { return matrix.encoding.bits() == 4; }
  /// Addresses of the next activations that are read; whoever reads moves them on.
  using Streams = mlir::MutableArrayRef<mlir::Value>;
  /// The products of `count` <= groupsAtOnce groups, the first one of which is `group` and begins at address `block`.
  using GroupsBody =
      llvm::function_ref<Values(mlir::Value block, mlir::Value group, int64_t count, mlir::ValueRange carried)>;
  Values overGroups(mlir::Value base, mlir::ValueRange initial, int64_t groupsAtOnce, GroupsBody body);
  /// Runs `body` for each slice of 32 columns of a group: unrolled, but for 6-bit codes.
  using SliceBody = llvm::function_ref<void(mlir::Value slice, Streams streams, Values &sums)>;
  Values overArmSlices(mlir::Value block, mlir::ValueRange sums, Streams streams, SliceBody body);
  Values sdotSums(mlir::Value block, Streams streams, int64_t half, int64_t numPairs, bool isJoined);
  Values joinedSums(mlir::ValueRange pairs, int64_t half, bool isJoined, mlir::Value sumOfGroup);
  Values emitSdotGroups(mlir::Value block, mlir::Value group, int64_t count, Tokens tokens, Streams streams,
                        int64_t half, mlir::ValueRange acc);
  /// The 16 codes of row pair `rowPair` (0 .. 3) in chunk `chunk` (0 .. 3, 8 columns each) of a slice of 32 columns:
  /// i8: as they are; i6: times 4; i4: of rows 0 .. 3 plus 8. Of rows 4 .. 7 of i4 as they are, or, if `isJoined`,
  /// times 16 plus the code of row pair `rowPair` - 2.
  mlir::Value armWeights(mlir::Value slice, int64_t chunk, int64_t rowPair, bool isJoined);
  /// f32 of integer sums / 2^shift; exact.
  mlir::Value armFloat(mlir::Value sums, int64_t shift);
  /// The address of a byte of a memref as i64, and loads at addresses.
  mlir::Value addressOf(mlir::Value memref, mlir::Value index);
  mlir::Value behind(mlir::Value address, int64_t bytes);
  mlir::Value pointerTo(mlir::Value address);
  mlir::Value loadAt(mlir::Value address, int64_t offset, mlir::Type element, int64_t width);
  mlir::Value scalesAt(mlir::Value block, int64_t first, int64_t width);
  mlir::Value minimaAt(mlir::Value block, int64_t first, int64_t width);
  Values loadMany(llvm::StringRef name, mlir::Type element, int64_t width, int64_t count, mlir::Value address);
  /// The next 8 * count activations of a row: `count` vectors, each with 8 of them in both halves. 2 or 4.
  Values splatColumns(mlir::Value &stream, int64_t count);
  void moveOn(mlir::Value &stream, int64_t bytes);
  void prefetchAhead(mlir::Value block, int64_t bytes);
  mlir::Value opaque(mlir::Value vector);

  // DotSmmla.cpp
  Values emitSmmla(mlir::Value row, Tokens tokens);
  Values emitSmmlaGroup(mlir::Value block, Streams streams, int64_t numPairs, llvm::ArrayRef<int64_t> rowPairs,
                        mlir::ValueRange acc);
  Values nextVectors(mlir::Value &stream, mlir::Type element, int64_t count);
  int64_t copyBytesOfGroup(int64_t numTokens) const;
  /// The most tokens whose copy fits, or 0: there is none.
  int64_t widestCopy() const;

  // DotAvxVnni.cpp
  Values sumsAvxVnni(mlir::Value block, mlir::Value k, Tokens tokens, mlir::ValueRange initial);

  // DotNeon.cpp
  /// Sums of row pairs in the form of sdot.
  Values neonSums(mlir::Value block, Streams streams, int64_t half, int64_t numPairs);

  Isa isa;
  FloatBuilder &f;
  MatrixSpec matrix;
  Layout layout;
  mlir::Value weights;
  ActivationRows rows;
  /// i8 memref of the copied activations, where there is one.
  mlir::Value copy;
  /// What 4-bit codes of low halves have been added, in 4 lanes.
  mlir::Value nibbleBias;
  /// From the 4-bit codes of a pass in one slice to those in the next, in the same group and behind it.
  mlir::Value stepToSlice, stepToGroup;
};

/// Runs `body` with blocks of `widest`, .., 4, 2, 1 indices that cover [0, count); count <= most. `body` gets the first
/// index and the number of them.
void overBlocks(FloatBuilder &builder, mlir::Value count, int64_t most, int64_t widest,
                llvm::function_ref<void(mlir::Value, int64_t)> body);
/// The same with as few blocks of at most `widest` as possible, whose widths differ by at most one; count >= 1. So no
/// number of tokens falls to the speed of single ones, at the price of a body for each width.
void overEvenBlocks(FloatBuilder &builder, mlir::Value count, int64_t most, int64_t widest,
                    llvm::function_ref<void(mlir::Value, int64_t)> body);

/// Runs `body` with the row blocks of `dot` that cover rows [begin, end) of a matrix of `rows`: the first row, and
/// whether there are `together` blocks or one. begin is a multiple of the rows of `together` blocks, end too or `rows`.
void overRowBlocks(FloatBuilder &builder, mlir::Value begin, mlir::Value end, int64_t rows, int64_t rowBlock,
                   int64_t together, llvm::function_ref<void(mlir::Value, int64_t)> body);

/// Stores `vector` at [row, column ..), leaving out lanes at or behind `columns`.
void storeInside(FloatBuilder &builder, mlir::Value vector, mlir::Value memref, mlir::Value row, mlir::Value column,
                 int64_t columns);
/// Loads `width` lanes at [row.., column ..), `row` being the leading indices; lanes at or behind `columns` are zero.
mlir::Value loadInside(FloatBuilder &builder, mlir::Value memref, llvm::ArrayRef<mlir::Value> row, mlir::Value column,
                       int64_t columns, int64_t width);

} // namespace moec

#endif
