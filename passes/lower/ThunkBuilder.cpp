// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launch thunks: from the argument array and a range of tiles to calls of kernels. Part of the lower stage.
/// Main source: include/moert/Generated.h, docs/architecture.md ("ABI").
#include "passes/lower/AbiLayout.h"
#include "passes/lower/EntryBuilder.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::rt;

namespace {

/// Calls kernel `name` with pointers args[first + skip ..], then the index arguments.
void callKernel(OpBuilder &builder, Location loc, Attribute kernel, SmallVector<Value> arguments, Value args,
                int64_t first, int64_t last, ValueRange indices) {
  AddressBuilder address(builder, loc);
  for (int64_t index = first; index < last; ++index)
    arguments.push_back(address.loadPointer(args, index * 8));
  arguments.append(indices.begin(), indices.end());
  auto name = cast<SymbolRefAttr>(kernel).getLeafReference();
  LLVM::CallOp::create(builder, loc, TypeRange{}, FlatSymbolRefAttr::get(name), arguments);
}

} // namespace

LLVM::LLVMFuncOp ThunkBuilder::thunkFor(LaunchOp launch, bool inExperts) {
  std::string key;
  llvm::raw_string_ostream(key) << launch.getKernels() << launch.getTiles() << inExperts;
  LLVM::LLVMFuncOp &thunk = thunks[key];
  if (thunk)
    return thunk;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext()), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), {pointer, pointer, i64, i64});
  std::string name = "run_" + cast<SymbolRefAttr>(launch.getKernels()[0]).getLeafReference().str();
  name += "_" + std::to_string(thunks.size() - 1);
  thunk = LLVM::LLVMFuncOp::create(builder, launch.getLoc(), name, type, LLVM::Linkage::Internal);
  if (inExperts)
    buildExperts(thunk, launch);
  else
    buildPlain(thunk, launch);
  return thunk;
}

void ThunkBuilder::buildPlain(LLVM::LLVMFuncOp thunk, LaunchOp launch) {
  OpBuilder builder(module.getContext());
  Location loc = launch.getLoc();
  Block *entry = thunk.addEntryBlock(builder);
  builder.setInsertionPointToEnd(entry);
  AddressBuilder address(builder, loc);
  Value context = entry->getArgument(0), args = entry->getArgument(1), begin = entry->getArgument(2),
        end = entry->getArgument(3);
  Value n = address.load64(context, offsetof(moert_context, n));
  Value position = address.load64(context, offsetof(moert_context, position));
  Value ranks = address.load64(context, offsetof(moert_context, experts_used));
  Value zero = address.constant(0), offset = zero;
  int64_t firstArgument = 0;
  for (auto [kernel, tilesAttr, segment] :
       llvm::zip_equal(launch.getKernels(), launch.getTiles(), launch.getSegments())) {
    auto tiles = cast<TilesAttr>(tilesAttr);
    Value count = address.constant(tiles.getCount());
    bool isRanked = tiles.getPer() == Per::ranked_token;
    if (isRanked || tiles.getPer() == Per::token)
      count = address.multiply(count, n);
    Value first = address.larger(address.subtract(begin, offset), zero);
    Value last = address.smaller(address.subtract(end, offset), count);
    Block *call = builder.createBlock(&thunk.getBody());
    Block *next = builder.createBlock(&thunk.getBody());
    builder.setInsertionPointToEnd(call->getPrevNode());
    LLVM::CondBrOp::create(builder, loc, address.isLess(first, last), call, next);
    builder.setInsertionPointToEnd(call);
    callKernel(builder, loc, kernel, {}, args, firstArgument, firstArgument + segment,
               {isRanked ? ranks : n, position, first, last});
    LLVM::BrOp::create(builder, loc, ValueRange{}, next);
    builder.setInsertionPointToEnd(next);
    offset = address.add(offset, count);
    firstArgument += segment;
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
}

void ThunkBuilder::buildExperts(LLVM::LLVMFuncOp thunk, LaunchOp launch) {
  OpBuilder builder(module.getContext());
  Location loc = launch.getLoc();
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  Block *entry = thunk.addEntryBlock(builder);
  Block *head = builder.createBlock(&thunk.getBody(), {}, {i64}, {loc});
  Block *body = builder.createBlock(&thunk.getBody());
  Block *exit = builder.createBlock(&thunk.getBody());
  Value context = entry->getArgument(0), args = entry->getArgument(1), begin = entry->getArgument(2),
        end = entry->getArgument(3);
  AddressBuilder address(builder, loc);
  builder.setInsertionPointToEnd(entry);
  constexpr int64_t kWave = offsetof(moert_context, wave);
  Value records = address.loadPointer(context, kWave + offsetof(moert_wave, records));
  Value pairBegin = address.loadPointer(context, kWave + offsetof(moert_wave, pair_begin));
  Value pairs = address.loadPointer(context, kWave + offsetof(moert_wave, pairs));
  Value zero = address.constant(0), one = address.constant(1), four = address.constant(4), eight = address.constant(8);
  Value count = address.constant(cast<TilesAttr>(launch.getTiles()[0]).getCount());
  LLVM::BrOp::create(builder, loc, ValueRange{LLVM::SDivOp::create(builder, loc, begin, count)}, head);
  builder.setInsertionPointToEnd(head);
  Value expert = head->getArgument(0), start = address.multiply(expert, count);
  LLVM::CondBrOp::create(builder, loc, address.isLess(start, end), body, exit);
  builder.setInsertionPointToEnd(body);
  Value first = address.larger(address.subtract(begin, start), zero);
  Value last = address.smaller(address.subtract(end, start), count);
  Value record = address.loadPointer(address.at(records, address.multiply(expert, eight)), 0);
  Value bounds = address.at(pairBegin, address.multiply(expert, four));
  Value pairFirst = LLVM::SExtOp::create(builder, loc, i64, address.load(i32, bounds, 0));
  Value pairLast = LLVM::SExtOp::create(builder, loc, i64, address.load(i32, bounds, 4));
  Value routed = address.at(pairs, address.multiply(pairFirst, four));
  // Expert kernels take the number of pairs of this expert in place of n, and no position.
  callKernel(builder, loc, launch.getKernels()[0], {record, routed}, args, 2, launch.getSegments()[0],
             {address.subtract(pairLast, pairFirst), first, last});
  LLVM::BrOp::create(builder, loc, ValueRange{address.add(expert, one)}, head);
  builder.setInsertionPointToEnd(exit);
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
}
