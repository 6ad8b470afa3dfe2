// SPDX-License-Identifier: Apache-2.0
/// \file
/// Emits L3 steps and places their buffers. Main source: docs/architecture.md ("Plan").
#include "passes/plan/ProgramBuilder.h"

#include "lib/Plan/ArenaPlanner.h"

using namespace mlir;
using namespace mlir::rt;

int64_t rt::sizeBytesOf(MemRefType type) { return type.getNumElements() * (type.getElementTypeBitWidth() / 8); }

Value ProgramBuilder::makeBuffer(ArrayRef<int64_t> shape, Type elem) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(context.getParentBlock());
  auto type = MemRefType::get(shape, elem);
  auto view = ArenaOp::create(builder, loc, type, context, 0, false);
  bufferOf[view.getView()] = buffers.size();
  buffers.push_back({view, sizeBytesOf(type)});
  return view.getView();
}

Value ProgramBuilder::makeFixed(ArrayRef<int64_t> shape, Type elem, int64_t offset, bool atPosition) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(context.getParentBlock());
  return ArenaOp::create(builder, loc, MemRefType::get(shape, elem), context, offset, atPosition);
}

Value ProgramBuilder::makeResident(ArrayRef<int64_t> shape, Type elem, int64_t offset) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(context.getParentBlock());
  return ResidentOp::create(builder, loc, MemRefType::get(shape, elem), context, offset);
}

Value ProgramBuilder::makeKv(int64_t sizeBytes, int64_t offset) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(context.getParentBlock());
  return KvOp::create(builder, loc, MemRefType::get({sizeBytes}, builder.getI8Type()), context, offset);
}

Value ProgramBuilder::makeKvWindow() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(context.getParentBlock());
  return KvWindowOp::create(builder, loc, MemRefType::get({4}, builder.getI32Type()), context);
}

Value ProgramBuilder::makeTokens(int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(context.getParentBlock());
  return TokensOp::create(builder, loc, MemRefType::get({count}, builder.getI32Type()), context);
}

Value ProgramBuilder::makeState(ArrayRef<int64_t> shape, int64_t offset) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(context.getParentBlock());
  return StateOp::create(builder, loc, MemRefType::get(shape, builder.getF32Type()), context, offset);
}

void ProgramBuilder::touch(Value value) {
  auto found = bufferOf.find(value);
  if (found == bufferOf.end())
    return;
  Buffer &buffer = buffers[found->second];
  if (buffer.firstStep < 0)
    buffer.firstStep = step;
  buffer.lastStep = step;
}

void ProgramBuilder::compute(Kind kind, ValueRange ins, ValueRange outs, ArrayRef<NamedAttribute> spec) {
  for (Value value : llvm::concat<const Value>(llvm::to_vector(ins), llvm::to_vector(outs)))
    touch(value);
  ComputeOp::create(builder, loc, kind, ins, outs, builder.getDictionaryAttr(spec));
}

void ProgramBuilder::readRows(int64_t table, Value destination) {
  touch(destination);
  ReadRowsOp::create(builder, loc, context, table, destination);
}

void ProgramBuilder::poll(int64_t layer) { PollOp::create(builder, loc, context, layer); }

llvm::Expected<int64_t> ProgramBuilder::place(int64_t base) {
  std::vector<moec::ArenaBuffer> lives;
  std::vector<Buffer *> used;
  for (Buffer &buffer : buffers) {
    if (buffer.firstStep < 0)
      continue;
    lives.push_back({int64_t(used.size()), buffer.sizeBytes, buffer.firstStep, buffer.lastStep, 64});
    used.push_back(&buffer);
  }
  auto assignment = moec::planArena(lives);
  if (!assignment)
    return assignment.takeError();
  if (llvm::Error error = moec::checkArena(lives, *assignment))
    return std::move(error);
  for (auto [buffer, offset] : llvm::zip_equal(used, assignment->offsets))
    buffer->view.setOffset(base + offset);
  for (Buffer &buffer : buffers)
    if (buffer.firstStep < 0)
      buffer.view.erase();
  return base + assignment->sizeBytes;
}
