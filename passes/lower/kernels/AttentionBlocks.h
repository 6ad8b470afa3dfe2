// SPDX-License-Identifier: Apache-2.0
/// \file
/// One block of 64 positions of attention: what is done there for the query heads of a KV head and one token. Spans,
/// tiles and merging are in AttentionKernel.cpp. Step: lower. Main source: docs/architecture.md ("KV cache").
#ifndef PASSES_LOWER_KERNELS_ATTENTIONBLOCKS_H
#define PASSES_LOWER_KERNELS_ATTENTIONBLOCKS_H

#include "passes/lower/kernels/FloatKernels.h"
#include "passes/lower/kernels/KvAccess.h"

#include <memory>

namespace moec {

/// Partial results of a span, in memory. A row is a query head of a token; a token has `rowsEach` rows, of which the
/// first `numHeads` are in use.
struct AttentionRows {
  int64_t numHeads, rowsEach;
  int64_t stride;      // f32 of a row of `sums`
  mlir::Value largest; // f32 [rows]
  mlir::Value total;   // f32 [rows]
  mlir::Value sums;    // f32 [rows * stride], by lanes of the cache (LaneRun)
};

/// The token that a block is added for, and which of its positions the token sees.
struct BlockView {
  mlir::Value token;     // row of q
  mlir::Value row;       // the token's first row
  mlir::Value firstHead; // query head of that row
  mlir::Value kvHead;
  mlir::Value block; // byte of the region where the layer of the block starts
  mlir::Value next;  // the same of the block to ask for meanwhile, or null
  /// Positions [0, sinkEnd) and [windowBegin, windowEnd) of the block; null where all are seen.
  mlir::Value sinkEnd, windowBegin, windowEnd;

  bool isWhole() const { return !sinkEnd; }
  /// i1 for the 16 positions from `position` on.
  mlir::Value seen(FloatBuilder &f, mlir::Value position) const;
};

/// The arithmetic of a block for one kind of cache.
class AttentionBlocks {
public:
  virtual ~AttentionBlocks() = default;
  /// Prepares the queries of a token.
  virtual void emitQueries(mlir::Value token, mlir::Value row, mlir::Value firstHead) = 0;
  /// Adds the positions of a block to the rows of a token.
  virtual void emitBlock(const BlockView &view) = 0;

protected:
  using Values = FloatBuilder::Values;
  static constexpr int64_t kPositions = kKvBlockPositions, kBlockVectors = kPositions / kFloatLanes;

  AttentionBlocks(FloatBuilder &f, const AttentionSpec &spec, mlir::Value q, mlir::Value region,
                  const AttentionRows &rows)
      : f(f), spec(spec), kv(spec.kv), rows(rows), q(q), region(region) {}

  void overRows(llvm::function_ref<void(mlir::Value)> body) { f.loop(f.index(0), f.index(rows.numHeads), 1, body); }

  FloatBuilder &f;
  const AttentionSpec &spec;
  const KvLayout &kv;
  const AttentionRows &rows;
  mlir::Value q, region;
};

/// Where the columns of a value are in a row of sums: a run of `width` columns at `column` is at `lane`.
struct LaneRun {
  int64_t column, lane, width;
};
/// Columns from the first on that are at their own number.
int64_t attentionPlainColumns(const KvLayout &kv);
/// The others.
llvm::SmallVector<LaneRun, 2> attentionLaneRuns(const KvLayout &kv);

/// Both allocate their scratch memory for `numRows` rows.
std::unique_ptr<AttentionBlocks> makeIntegerBlocks(FloatBuilder &f, const AttentionSpec &spec, Isa isa, mlir::Value q,
                                                   mlir::Value region, const AttentionRows &rows, int64_t numRows);
std::unique_ptr<AttentionBlocks> makeFloatBlocks(FloatBuilder &f, const AttentionSpec &spec, Isa isa, mlir::Value q,
                                                 mlir::Value region, const AttentionRows &rows);

} // namespace moec

#endif
