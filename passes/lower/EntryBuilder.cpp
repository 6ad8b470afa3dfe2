// SPDX-License-Identifier: Apache-2.0
/// \file
/// Entry functions: views become addresses, launches become calls through the runtime's table, every status is checked.
/// Part of the lower stage. Main source: include/moert/Generated.h, docs/architecture.md ("ABI").
#include "passes/lower/EntryBuilder.h"

#include "passes/lower/AbiLayout.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::rt;

namespace {

class EntryBuilder {
public:
  EntryBuilder(func::FuncOp function, ThunkBuilder &thunks)
      : function(function), thunks(thunks), builder(function.getContext()), address(builder, function.getLoc()),
        loc(function.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult emit(Operation *op);
  void emitLaunch(LaunchOp launch);
  /// Writes the arguments of a launch to the argument array, from argument `first` on; returns where they begin.
  Value storeArguments(LaunchOp launch, int64_t first);
  /// Tiles of a call, or of an expert.
  Value countTiles(LaunchOp launch);
  /// Fills phase `phase` of chain `chain` with a launch whose arguments begin at `first`.
  void storePhase(int64_t chain, int64_t phase, LaunchOp launch, int64_t first);
  void storeInChain(int64_t chain, int64_t field, Value value);
  LogicalResult emitExperts(ExpertsOp experts);
  /// Emits the phases of experts and what runs beside them; returns whether there is something beside, or failure.
  FailureOr<bool> storeChains(ExpertsOp experts);
  /// Emits the loop over waves.
  void emitWaves(Value layer, bool hasBeside);
  LogicalResult emitPrefetch(PrefetchOp prefetch);
  /// Calls entry `offset` of the runtime's table; the result is an i32.
  Value call(int64_t offset, ArrayRef<Value> arguments);
  /// Leaves the function with `status` unless it is zero.
  void check(Value status);
  Value viewAddress(Operation *view);

  func::FuncOp function;
  ThunkBuilder &thunks;
  OpBuilder builder;
  AddressBuilder address;
  Location loc;
  Block *fail = nullptr;
  Value context, calls, n, position, arguments, chains;
  llvm::DenseMap<Value, Value> addressOf;
};

/// Offset in a chain of `field` of one of its phases.
int64_t fieldOfPhase(int64_t phase, int64_t field) {
  return offsetof(moert_chain, phases) + phase * sizeof(moert_phase) + field;
}

} // namespace

Value EntryBuilder::call(int64_t offset, ArrayRef<Value> given) {
  SmallVector<Value> operands{address.loadPointer(calls, offset), context};
  SmallVector<Type> types{context.getType()};
  for (Value value : given) {
    operands.push_back(value);
    types.push_back(value.getType());
  }
  auto type = LLVM::LLVMFunctionType::get(builder.getI32Type(), types);
  return LLVM::CallOp::create(builder, loc, type, operands).getResult();
}

void EntryBuilder::check(Value status) {
  Block *next = builder.createBlock(fail);
  builder.setInsertionPointAfterValue(status);
  Value isError = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, status, address.constant32(0));
  LLVM::CondBrOp::create(builder, loc, isError, fail, ValueRange{status}, next, ValueRange{});
  builder.setInsertionPointToEnd(next);
}

Value EntryBuilder::viewAddress(Operation *view) {
  auto field = [&](int64_t offset) { return address.loadPointer(context, offset); };
  return llvm::TypeSwitch<Operation *, Value>(view)
      .Case([&](ArenaOp op) {
        Value base = address.at(field(offsetof(moert_context, arena)), address.constant(op.getOffset()));
        if (!op.getAtPosition())
          return base;
        MemRefType type = op.getView().getType();
        int64_t rowBytes = type.getNumElements() / type.getDimSize(0) * (type.getElementTypeBitWidth() / 8);
        return address.at(base, address.multiply(position, address.constant(rowBytes)));
      })
      .Case([&](ResidentOp op) {
        return address.at(field(offsetof(moert_context, resident)), address.constant(op.getOffset()));
      })
      .Case([&](KvOp op) { return address.at(field(offsetof(moert_context, kv)), address.constant(op.getOffset())); })
      .Case([&](StateOp op) {
        return address.at(field(offsetof(moert_context, state)), address.constant(op.getOffset()));
      })
      .Case([&](TokensOp) { return field(offsetof(moert_context, tokens)); })
      .Case([&](KvWindowOp) { return address.at(context, offsetof(moert_context, kv_window)); })
      .Default(Value());
}

Value EntryBuilder::storeArguments(LaunchOp launch, int64_t first) {
  for (auto [index, value] : llvm::enumerate(launch.getArgs()))
    if (Value pointer = addressOf.lookup(value))
      LLVM::StoreOp::create(builder, loc, pointer, address.at(arguments, (first + int64_t(index)) * 8));
  return address.at(arguments, first * 8);
}

Value EntryBuilder::countTiles(LaunchOp launch) {
  Value total = address.constant(0);
  for (Attribute attribute : launch.getTiles()) {
    auto tiles = cast<TilesAttr>(attribute);
    Value count = address.constant(tiles.getCount());
    if (tiles.getPer() == Per::token || tiles.getPer() == Per::ranked_token)
      count = address.multiply(count, n);
    total = address.add(total, count);
  }
  return total;
}

void EntryBuilder::emitLaunch(LaunchOp launch) {
  Value given = storeArguments(launch, 0), total = countTiles(launch);
  Value pointer = LLVM::AddressOfOp::create(builder, loc, address.pointer(), thunks.thunkFor(launch, false).getName());
  check(call(offsetof(moert_calls, launch), {pointer, given, total}));
}

void EntryBuilder::storePhase(int64_t chain, int64_t phase, LaunchOp launch, int64_t first) {
  auto store = [&](Value value, int64_t field) { storeInChain(chain, fieldOfPhase(phase, field), value); };
  bool inExperts = launch.isPerExpert();
  StringRef name = thunks.thunkFor(launch, inExperts).getName();
  store(LLVM::AddressOfOp::create(builder, loc, address.pointer(), name), offsetof(moert_phase, kernel));
  store(storeArguments(launch, first), offsetof(moert_phase, args));
  store(countTiles(launch), offsetof(moert_phase, num_tiles));
}

void EntryBuilder::storeInChain(int64_t chain, int64_t field, Value value) {
  LLVM::StoreOp::create(builder, loc, value, address.at(chains, chain * sizeof(moert_chain) + field));
}

FailureOr<bool> EntryBuilder::storeChains(ExpertsOp experts) {
  // Chain 0 has the phases of the experts, chain 1 what runs beside them.
  bool hasBeside = false;
  int64_t numPhases = 0, numArguments = 0;
  for (Operation &op : experts.getBody().front()) {
    if (isa<PrefetchOp>(op))
      continue;
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch) {
      op.emitOpError("expects a launch; run moe-generate-kernels first");
      return failure();
    }
    storePhase(launch.isPerExpert() ? 0 : 1, launch.isPerExpert() ? numPhases++ : 0, launch, numArguments);
    numArguments += launch.getArgs().size();
    hasBeside |= !launch.isPerExpert();
  }
  auto noTiles = address.constant(0);
  auto clear = [&](int64_t chain, int64_t phase) {
    storeInChain(chain, fieldOfPhase(phase, offsetof(moert_phase, num_tiles)), noTiles);
  };
  for (; numPhases < 2; ++numPhases)
    clear(0, numPhases);
  clear(1, 1);
  storeInChain(1, offsetof(moert_chain, num_groups), address.constant(hasBeside));
  return hasBeside;
}

void EntryBuilder::emitWaves(Value layer, bool hasBeside) {
  auto storeGroups = [&](int64_t chain, Value count) { storeInChain(chain, offsetof(moert_chain, num_groups), count); };
  Block *before = builder.getInsertionBlock();
  Block *wave = builder.createBlock(fail), *some = builder.createBlock(fail), *work = builder.createBlock(fail);
  Block *done = builder.createBlock(fail);
  builder.setInsertionPointToEnd(before);
  LLVM::BrOp::create(builder, loc, ValueRange{}, wave);
  builder.setInsertionPointToEnd(wave);
  Value count = call(offsetof(moert_calls, next_wave), {layer});
  Value zero = address.constant32(0);
  LLVM::CondBrOp::create(builder, loc, LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, count, zero), done,
                         some);
  builder.setInsertionPointToEnd(some);
  Value isError = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, count, zero);
  LLVM::CondBrOp::create(builder, loc, isError, fail, ValueRange{count}, work, ValueRange{});
  builder.setInsertionPointToEnd(work);
  // Without experts in the wave this is the time for what runs beside them.
  Value experts = LLVM::AndOp::create(builder, loc, count, address.constant32(MOERT_WAVE_MORE - 1));
  storeGroups(0, LLVM::SExtOp::create(builder, loc, builder.getI64Type(), experts));
  check(call(offsetof(moert_calls, launch_chains), {chains, address.constant32(hasBeside ? 2 : 1)}));
  // What runs beside the experts did so with the first wave.
  if (hasBeside)
    storeGroups(1, address.constant(0));
  LLVM::BrOp::create(builder, loc, ValueRange{}, wave);
  builder.setInsertionPointToEnd(done);
}

LogicalResult EntryBuilder::emitExperts(ExpertsOp experts) {
  auto idsType = cast<MemRefType>(experts.getIds().getType());
  Value layer = address.constant32(experts.getLayer());
  check(call(offsetof(moert_calls, begin_experts),
             {layer, addressOf.lookup(experts.getIds()), address.constant32(idsType.getDimSize(1))}));
  // Its launches use the argument array, so the chains are stored behind it.
  for (auto prefetch : experts.getBody().front().getOps<PrefetchOp>())
    if (failed(emitPrefetch(prefetch)))
      return failure();
  FailureOr<bool> hasBeside = storeChains(experts);
  if (failed(hasBeside))
    return failure();
  emitWaves(layer, *hasBeside);
  return success();
}

LogicalResult EntryBuilder::emitPrefetch(PrefetchOp prefetch) {
  Value layer = address.constant32(prefetch.getLayer());
  Value wanted = call(offsetof(moert_calls, wants_prediction), {layer});
  Block *predict = builder.createBlock(fail), *next = builder.createBlock(fail);
  builder.setInsertionPointAfterValue(wanted);
  Value isWanted = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, wanted, address.constant32(0));
  LLVM::CondBrOp::create(builder, loc, isWanted, predict, next);
  builder.setInsertionPointToEnd(predict);
  for (Operation &op : prefetch.getBody().front()) {
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch)
      return op.emitOpError("expects a launch; run moe-generate-kernels first");
    emitLaunch(launch);
  }
  auto idsType = cast<MemRefType>(prefetch.getIds().getType());
  check(call(offsetof(moert_calls, prefetch),
             {layer, addressOf.lookup(prefetch.getIds()), address.constant32(idsType.getDimSize(1))}));
  LLVM::BrOp::create(builder, loc, ValueRange{}, next);
  builder.setInsertionPointToEnd(next);
  return success();
}

LogicalResult EntryBuilder::emit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ArenaOp, ResidentOp, KvOp, StateOp, KvWindowOp, TokensOp>([&](auto view) {
        addressOf[view.getView()] = viewAddress(view);
        return success();
      })
      .Case([&](ReadRowsOp read) {
        check(call(offsetof(moert_calls, read_rows),
                   {address.constant32(read.getTable()), addressOf.lookup(read.getDestination())}));
        return success();
      })
      .Case([&](PollOp poll) {
        check(call(offsetof(moert_calls, poll), {address.constant32(poll.getLayer())}));
        return success();
      })
      .Case([&](LaunchOp launch) {
        emitLaunch(launch);
        return success();
      })
      .Case([&](ExpertsOp experts) { return emitExperts(experts); })
      .Case([&](PrefetchOp prefetch) { return emitPrefetch(prefetch); })
      .Case([&](func::ReturnOp) {
        LLVM::ReturnOp::create(builder, loc, ValueRange{address.constant32(0)});
        return success();
      })
      .Default([](Operation *other) { return other->emitOpError("should be gone before entries are lowered"); });
}

LogicalResult EntryBuilder::run() {
  // A region of experts needs the arguments of its launches at once.
  int64_t maxArguments = 1;
  for (Operation &op : function.getBody().front()) {
    int64_t numArguments = 0;
    op.walk([&](LaunchOp launch) { numArguments += launch.getArgs().size(); });
    maxArguments = std::max(maxArguments, numArguments);
  }
  builder.setInsertionPoint(function);
  auto type = LLVM::LLVMFunctionType::get(builder.getI32Type(), {address.pointer()});
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, function.getName(), type);
  entry.setVisibility_(LLVM::Visibility::Hidden);
  Block *start = entry.addEntryBlock(builder);
  context = start->getArgument(0);
  fail = builder.createBlock(&entry.getBody(), entry.getBody().end(), {builder.getI32Type()}, {loc});
  LLVM::ReturnOp::create(builder, loc, ValueRange{fail->getArgument(0)});
  builder.setInsertionPointToEnd(start);
  arguments =
      LLVM::AllocaOp::create(builder, loc, address.pointer(), address.pointer(), address.constant(maxArguments));
  chains = LLVM::AllocaOp::create(builder, loc, address.pointer(), builder.getI64Type(),
                                  address.constant(2 * sizeof(moert_chain) / 8));
  calls = address.loadPointer(context, offsetof(moert_context, calls));
  n = address.load64(context, offsetof(moert_context, n));
  position = address.load64(context, offsetof(moert_context, position));
  for (Operation &op : function.getBody().front())
    if (failed(emit(&op)))
      return failure();
  function.erase();
  return success();
}

LogicalResult rt::buildEntry(func::FuncOp function, ThunkBuilder &thunks) {
  return EntryBuilder(function, thunks).run();
}
