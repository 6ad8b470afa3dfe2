// SPDX-License-Identifier: Apache-2.0
/// \file
/// Builds the L3 program of one function step by step and keeps the life of every buffer; offsets are set at the end.
/// Part of the plan stage. Main source: docs/architecture.md ("Plan").
#ifndef PASSES_PLAN_PROGRAMBUILDER_H
#define PASSES_PLAN_PROGRAMBUILDER_H

#include "dialects/rt/RtDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace mlir::rt {

/// One buffer in the arena: an `rt.arena` view whose offset is set by `ProgramBuilder::place`.
struct Buffer {
  ArenaOp view;
  int64_t sizeBytes = 0;
  int64_t firstStep = -1, lastStep = -1;
};

/// Emits steps into the body of one entry function. Not thread-safe.
class ProgramBuilder {
public:
  ProgramBuilder(OpBuilder &builder, Location loc, Value context) : builder(builder), loc(loc), context(context) {}

  /// A new buffer of `shape`; its view stands at the function's start.
  Value makeBuffer(ArrayRef<int64_t> shape, Type elem);
  /// A buffer at a fixed arena offset, alive for the whole call. `atPosition`: rows from the context's position.
  Value makeFixed(ArrayRef<int64_t> shape, Type elem, int64_t offset, bool atPosition);
  Value makeResident(ArrayRef<int64_t> shape, Type elem, int64_t offset);
  /// The KV region, `offset` bytes in.
  Value makeKv(int64_t sizeBytes, int64_t offset);
  Value makeKvWindow();
  /// The ids of up to `count` tokens.
  Value makeTokens(int64_t count);
  /// The recurrent state of a layer, `offset` bytes into the live state.
  Value makeState(ArrayRef<int64_t> shape, int64_t offset);

  /// Starts the next step; following computes belong to it until the next call.
  void nextStep() { ++step; }
  void compute(Kind kind, ValueRange ins, ValueRange outs, ArrayRef<NamedAttribute> spec);
  void readRows(int64_t table, Value destination);
  void poll(int64_t layer);
  /// Marks a buffer as used in the current step.
  void touch(Value buffer);
  OpBuilder &getBuilder() { return builder; }
  Value getContext() const { return context; }
  Location getLoc() const { return loc; }

  /// Assigns offsets from `base` and returns the end of the arena part used, in bytes.
  llvm::Expected<int64_t> place(int64_t base);

private:
  OpBuilder &builder;
  Location loc;
  Value context;
  int64_t step = 0;
  SmallVector<Buffer> buffers;
  llvm::DenseMap<Value, unsigned> bufferOf;
};

/// Bytes of a static memref type.
int64_t sizeBytesOf(MemRefType type);

} // namespace mlir::rt

#endif
