// SPDX-License-Identifier: Apache-2.0
/// \file
/// Turns tensors into views of one static arena: level L2 to L3.
/// Main source: passes/plan/Passes.td, docs/architecture.md ("Plan").
#include "passes/plan/FunctionPlanner.h"
#include "passes/plan/Passes.h"

#include "include/moert/Generated.h"
#include "lib/Plan/KvLayout.h"
#include "lib/Support/CheckedMath.h"

namespace mlir::moe {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/plan/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

constexpr int64_t kAlign = 64;
/// Rows whose logits are computed in one call of @head: keeps the logits buffer small and still reads the head's
/// weights once for several rows.
constexpr int64_t kHeadRows = 8;

int64_t alignUp(int64_t value) { return (value + kAlign - 1) / kAlign * kAlign; }

moec::KvLayout layoutOf(CacheType cache) {
  moec::KvLayout layout;
  layout.kvHeads = cache.getKvHeads();
  layout.keyDim = cache.getQkDim();
  layout.valueDim = cache.getVDim();
  Type elem = cache.getElem();
  layout.element = elem.isF32()        ? moec::KvElement::f32
                   : elem.isF16()      ? moec::KvElement::f16
                   : elem.isInteger(8) ? moec::KvElement::i8
                                       : moec::KvElement::i4;
  return layout;
}

/// Adds the L2 functions' KV caches up: bytes of one block of 64 positions of each layer.
FailureOr<KvPlan> planKv(func::FuncOp prefill, int64_t chunk) {
  // 2^31: numbers of positions are 32-bit on the device.
  constexpr int64_t kMostPositions = int64_t(1) << 30;
  KvPlan plan;
  for (Type type : prefill.getArgumentTypes()) {
    auto cache = dyn_cast<CacheType>(type);
    if (!cache)
      continue;
    moec::KvLayout layout = layoutOf(cache);
    if (llvm::Error error = moec::checkKvHeads(layout))
      return prefill.emitError(llvm::toString(std::move(error)));
    if (cache.getCapacity() % 64 || cache.getCapacity() > kMostPositions)
      return prefill.emitError("expects caches with a capacity that is a multiple of 64 up to 2^30, but got ") << type;
    if (!plan.layerOffsets.empty() &&
        (cache.getCapacity() != plan.capacity || cache.getWindow() != plan.window || cache.getSinks() != plan.sinks))
      return prefill.emitError("expects caches of one capacity, window and number of sinks, but got ") << type;
    plan.layerOffsets.push_back(plan.blockBytes);
    plan.blockBytes += alignUp(layout.layerBytes());
    plan.capacity = cache.getCapacity();
    plan.window = cache.getWindow();
    plan.sinks = cache.getSinks();
  }
  moert_kv_window window = moert_make_kv_window(plan.capacity, plan.window, plan.sinks, chunk);
  plan.numBlocks = static_cast<int64_t>(moert_kv_num_blocks(&window, plan.capacity));
  constexpr uint64_t kMostBytes = uint64_t(1) << 62;
  if (moec::checkedMul(plan.numBlocks, plan.blockBytes).value_or(UINT64_MAX) > kMostBytes)
    return prefill.emitError("expects a KV cache of at most 2^62 bytes, but got ")
           << plan.numBlocks << " blocks of " << plan.blockBytes << " bytes";
  return plan;
}

/// Places the recurrent states of the L2 functions.
FailureOr<StatePlan> planStates(ModuleOp module) {
  constexpr uint64_t kMostBytes = uint64_t(1) << 40; // no device has more
  StatePlan plan;
  auto prefill = module.lookupSymbol<func::FuncOp>("prefill");
  SmallVector<Type> states;
  for (Type type : prefill.getArgumentTypes()) {
    auto state = dyn_cast<StateType>(type);
    if (!state)
      continue;
    if (!state.getElem().isF32())
      return prefill.emitError("expects states of f32, but got ") << type;
    uint64_t bytes = 4;
    for (int64_t size : state.getShape())
      bytes = moec::checkedMul(bytes, uint64_t(size)).value_or(UINT64_MAX);
    if (bytes > kMostBytes || uint64_t(plan.bytes) > kMostBytes - bytes)
      return prefill.emitError("expects recurrent states of at most 2^40 bytes together, but got ") << type;
    plan.offsets.push_back(plan.bytes);
    plan.bytes = alignUp(plan.bytes + int64_t(bytes));
    states.push_back(type);
  }
  auto decode = module.lookupSymbol<func::FuncOp>("decode");
  if (!decode)
    return plan; // an error of its own
  SmallVector<Type> others;
  llvm::copy_if(decode.getArgumentTypes(), std::back_inserter(others), llvm::IsaPred<StateType>);
  if (others != states)
    return decode.emitError("expects the states of @prefill in their order");
  return plan;
}

struct PlanMemory : moe::impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto model = module->getAttrOfType<DictionaryAttr>("moe.model");
    auto chunk = module->getAttrOfType<IntegerAttr>("moe.chunk");
    auto pack = module->getAttrOfType<DictionaryAttr>("rt.pack");
    auto prefill = module.lookupSymbol<func::FuncOp>("prefill");
    if (!model || !chunk || !pack || !prefill) {
      module.emitError("expects the attributes moe.model, moe.chunk and rt.pack (moe-place-weights) and @prefill");
      return signalPassFailure();
    }
    int64_t hidden = integer(model, "hidden_size"), vocab = integer(model, "vocab_size");
    FailureOr<KvPlan> kv = planKv(prefill, chunk.getInt());
    FailureOr<StatePlan> state = planStates(module);
    if (failed(kv) || failed(state))
      return signalPassFailure();
    ArenaPlan arena;
    arena.chunk = chunk.getInt();
    arena.headRows = std::min(kHeadRows, arena.chunk);
    arena.hiddenOffset = 0;
    arena.logitsOffset = alignUp(arena.chunk * hidden * 4);
    arena.maximaOffset = arena.logitsOffset + alignUp(arena.headRows * vocab * 4);
    arena.sharedOffset = arena.maximaOffset + alignUp(arena.headRows * llvm::divideCeil(vocab, MOERT_LOGIT_TILE) * 4);
    int64_t arenaBytes = arena.sharedOffset;
    for (auto [name, tokens] :
         {std::pair("prefill", arena.chunk), std::pair("decode", int64_t(1)), std::pair("head", arena.headRows)}) {
      auto function = module.lookupSymbol<func::FuncOp>(name);
      if (!function) {
        module.emitError("expects the entry point @") << name;
        return signalPassFailure();
      }
      FailureOr<int64_t> end = planFunction(function, tokens, *kv, *state, arena, pack);
      if (failed(end))
        return signalPassFailure();
      arenaBytes = std::max(arenaBytes, *end);
    }
    record(module, pack, model, *kv, *state, arena, alignUp(arenaBytes));
  }

  static int64_t integer(DictionaryAttr dictionary, StringRef key) {
    auto value = dictionary.getAs<IntegerAttr>(key);
    return value ? value.getInt() : 0;
  }

  void record(ModuleOp module, DictionaryAttr pack, DictionaryAttr model, const KvPlan &kv, const StatePlan &state,
              const ArenaPlan &arena, int64_t arenaBytes) {
    Builder builder(&getContext());
    SmallVector<NamedAttribute> plan;
    auto put = [&](StringRef key, int64_t value) {
      plan.push_back(builder.getNamedAttr(key, builder.getI64IntegerAttr(value)));
    };
    put("arena_bytes", arenaBytes);
    put("resident_bytes", integer(pack, "resident_bytes"));
    put("kv_block_bytes", kv.blockBytes);
    put("kv_capacity", kv.capacity);
    put("kv_blocks", kv.numBlocks);
    put("kv_window", kv.window);
    put("kv_sinks", kv.sinks);
    put("state_bytes", state.bytes);
    put("record_bytes", integer(pack, "record_bytes"));
    put("num_expert_records", integer(pack, "num_expert_records"));
    put("min_slots", integer(pack, "num_expert_records") ? integer(model, "top_k") : 0);
    put("chunk", arena.chunk);
    put("head_rows", arena.headRows);
    put("hidden_offset", arena.hiddenOffset);
    put("logits_offset", arena.logitsOffset);
    put("maxima_offset", arena.maximaOffset);
    module->setAttr("rt.plan", builder.getDictionaryAttr(plan));
  }
};

} // namespace
