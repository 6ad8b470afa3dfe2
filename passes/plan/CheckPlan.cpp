// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks a memory plan independently of the planner: only the L3 program is read. Main source: passes/plan/Passes.td.
#include "passes/plan/Passes.h"
#include "passes/plan/ProgramBuilder.h"
#include "passes/plan/StoredWeight.h"

#include "lib/Plan/MemoryBudget.h"
#include "lib/Support/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CHECKPLAN
#include "passes/plan/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct Live {
  rt::ArenaOp view;
  int64_t begin, end;        // bytes
  int64_t firstUse, lastUse; // positions of top-level operations
};

struct CheckPlan : moe::impl::CheckPlanBase<CheckPlan> {
  using CheckPlanBase::CheckPlanBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<DictionaryAttr>("rt.plan");
    if (!plan) {
      module.emitError("expects the module attribute 'rt.plan'; run moe-plan-memory first");
      return signalPassFailure();
    }
    if (failed(checkModule(module, plan)) || failed(checkWeights(module)))
      return signalPassFailure();
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (failed(checkFunction(function, plan)) || failed(checkModel(function)))
        return signalPassFailure();
    if (failed(checkStates(module, plan)) ||
        failed(checkEnd<rt::StateOp>(module, plan, "state_bytes", "recurrent state")) ||
        failed(checkEnd<rt::ArenaOp>(module, plan, "arena_bytes", "arena")))
      return signalPassFailure();
    if (failed(checkBudget(module, plan)))
      signalPassFailure();
  }

  static int64_t integer(DictionaryAttr dictionary, StringRef key) {
    auto value = dictionary.getAs<IntegerAttr>(key);
    return value ? value.getInt() : 0;
  }

  /// What the module says of its caches against what was planned for them.
  LogicalResult checkModule(ModuleOp module, DictionaryAttr plan) {
    int64_t capacity = integer(plan, "kv_capacity");
    if (auto context = module->getAttrOfType<IntegerAttr>("moe.context"); context && capacity)
      if (context.getInt() > capacity || context.getInt() <= capacity - 64)
        return module.emitError("expects a moe.context of ")
               << capacity - 63 << " to " << capacity << ", for which the caches are planned, but got "
               << context.getInt();
    for (auto [attribute, key] : {std::pair("moe.window", "kv_window"), std::pair("moe.sinks", "kv_sinks")})
      if (auto value = module->getAttrOfType<IntegerAttr>(attribute); value && value.getInt() != integer(plan, key))
        return module.emitError("expects a ")
               << attribute << " of " << integer(plan, key) << " as in the caches, but got " << value.getInt();
    return success();
  }

  /// Resident weights: each has the bytes of its stored form, and views lie where weights or tables do.
  LogicalResult checkWeights(ModuleOp module) {
    llvm::DenseMap<int64_t, int64_t> places; // offset -> bytes
    if (auto pack = module->getAttrOfType<DictionaryAttr>("rt.pack"); pack && pack.get("rope_cos_offset"))
      for (StringRef key : {"rope_cos_offset", "rope_sin_offset"})
        places[integer(pack, key)] = integer(pack, "rope_positions") * integer(pack, "rope_half") * 4;
    bool hasWeights = false;
    for (WeightOp weight : module.getOps<WeightOp>()) {
      auto place = dyn_cast_if_present<rt::ResidentPlaceAttr>(weight.getPlacementAttr());
      if (!place)
        continue;
      FailureOr<moec::LayoutFamily> family = familyOf(module);
      FailureOr<StoredWeight> stored = failed(family) ? FailureOr<StoredWeight>() : storedWeightOf(weight, *family);
      if (failed(stored))
        return failure();
      if (int64_t(place.getBytes()) != stored->bytes)
        return weight.emitOpError("expects a placement of the ")
               << stored->bytes << " bytes that it has, but got " << place.getBytes();
      places[place.getOffset()] = stored->bytes;
      hasWeights = true;
    }
    if (!hasWeights)
      return success();
    WalkResult result = module.walk([&](rt::ResidentOp view) {
      auto place = places.find(view.getOffset());
      int64_t bytes = rt::sizeBytesOf(view.getView().getType());
      if (place != places.end() && place->second == bytes)
        return WalkResult::advance();
      InFlightDiagnostic error = view.emitOpError("expects a weight or table of ")
                                 << bytes << " bytes at " << int64_t(view.getOffset()) << ", but ";
      if (place == places.end())
        return WalkResult(error << "there is none");
      return WalkResult(error << "got one of " << place->second);
    });
    return failure(result.wasInterrupted());
  }

  /// A guess is for a layer of the model, of as many experts as a token may need, and made in its body.
  LogicalResult checkPrefetch(rt::PrefetchOp prefetch, DictionaryAttr model) {
    int64_t layer = static_cast<int64_t>(prefetch.getLayer()), layers = integer(model, "num_layers");
    int64_t count = cast<MemRefType>(prefetch.getIds().getType()).getDimSize(1), most = integer(model, "top_k");
    if (layer >= layers)
      return prefetch.emitOpError("expects a layer of 0 to ") << layers - 1 << ", but got " << layer;
    if (count > most)
      return prefetch.emitOpError("expects at most the ")
             << most << " experts of a token as in moe.model, but got " << count;
    bool isWritten = llvm::any_of(prefetch.getBody().front(), [&](Operation &op) {
      auto step = dyn_cast<rt::ComputeOp>(op);
      return step && llvm::is_contained(step.getOuts(), prefetch.getIds());
    });
    return isWritten ? success() : prefetch.emitOpError("expects a step of its body to write the ids");
  }

  /// What the steps of a function ask for against what the model has.
  LogicalResult checkModel(func::FuncOp function) {
    auto module = function->getParentOfType<ModuleOp>();
    auto model = module->getAttrOfType<DictionaryAttr>("moe.model");
    auto pack = module->getAttrOfType<DictionaryAttr>("rt.pack");
    if (!model || !pack)
      return success();
    WalkResult result = function.walk([&](Operation *op) {
      if (auto rows = dyn_cast<rt::ReadRowsOp>(op)) {
        int64_t table = static_cast<int64_t>(rows.getTable()), most = integer(pack, "num_tables");
        if (table < 0 || table >= most)
          return WalkResult(rows.emitOpError("expects a table of 0 to ") << most - 1 << ", but got " << table);
      }
      if (auto prefetch = dyn_cast<rt::PrefetchOp>(op))
        if (failed(checkPrefetch(prefetch, model)))
          return WalkResult::interrupt();
      if (auto compute = dyn_cast<rt::ComputeOp>(op))
        if (auto topK = compute.getSpec().getAs<IntegerAttr>("top_k"); topK && topK.getInt() != integer(model, "top_k"))
          return WalkResult(compute.emitOpError("expects a top_k of ")
                            << integer(model, "top_k") << " as in moe.model, but got " << topK.getInt());
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  /// Recurrent states: inside, at one place in all functions, and each written by one step of a function.
  LogicalResult checkStates(ModuleOp module, DictionaryAttr plan) {
    SmallVector<rt::StateOp> views;
    module.walk([&](rt::StateOp view) { views.push_back(view); });
    auto endOf = [](rt::StateOp view) { return int64_t(view.getOffset()) + rt::sizeBytesOf(view.getView().getType()); };
    for (auto [i, view] : llvm::enumerate(views)) {
      if (endOf(view) > integer(plan, "state_bytes"))
        return view.emitOpError("ends at byte ")
               << endOf(view) << ", but the recurrent state has " << integer(plan, "state_bytes");
      int64_t writers = 0;
      for (OpOperand &use : view.getView().getUses())
        if (auto step = dyn_cast<rt::ComputeOp>(use.getOwner()))
          writers += llvm::is_contained(step.getOuts(), view.getView());
      if (writers > 1)
        return view.emitOpError("expects one step that writes it, but got ") << writers;
      for (rt::StateOp other : ArrayRef(views).take_front(i)) {
        bool meet = int64_t(view.getOffset()) < endOf(other) && int64_t(other.getOffset()) < endOf(view);
        bool isSame = view.getOffset() == other.getOffset() && view.getView().getType() == other.getView().getType() &&
                      view->getBlock() != other->getBlock();
        if (!meet || isSame)
          continue;
        InFlightDiagnostic error = view.emitOpError("shares bytes of the recurrent state with another one");
        error.attachNote(other.getLoc()) << "that view";
        return error;
      }
    }
    return success();
  }

  /// A session reserves a whole region, so it ends where its last view does, but for alignment.
  template <typename ViewOp>
  LogicalResult checkEnd(ModuleOp module, DictionaryAttr plan, StringRef key, StringRef region) {
    constexpr int64_t kAlign = 64;
    int64_t end = 0;
    module.walk([&](ViewOp view) {
      end = std::max(end, int64_t(view.getOffset()) + rt::sizeBytesOf(view.getView().getType()));
    });
    if (integer(plan, key) - end < kAlign)
      return success();
    return module.emitError("expects at most ") << llvm::alignTo(end, kAlign) << " bytes of " << region
                                                << ", where its last view ends, but got " << integer(plan, key);
  }

  LogicalResult checkFunction(func::FuncOp function, DictionaryAttr plan) {
    llvm::DenseMap<Operation *, int64_t> order;
    for (auto [index, op] : llvm::enumerate(function.getBody().front()))
      order[&op] = index;
    SmallVector<Live> lives;
    for (auto view : function.getBody().front().getOps<rt::ArenaOp>()) {
      Live live{view, int64_t(view.getOffset()), 0, INT64_MAX, -1};
      live.end = live.begin + rt::sizeBytesOf(view.getView().getType());
      if (live.end > integer(plan, "arena_bytes"))
        return view.emitOpError("ends at byte ") << live.end << ", but the arena has " << integer(plan, "arena_bytes");
      for (Operation *user : view.getView().getUsers()) {
        int64_t position = order.lookup(function.getBody().front().findAncestorOpInBlock(*user));
        live.firstUse = std::min(live.firstUse, position);
        live.lastUse = std::max(live.lastUse, position);
      }
      lives.push_back(live);
    }
    for (auto view : function.getBody().front().getOps<rt::ResidentOp>())
      if (int64_t end = int64_t(view.getOffset()) + rt::sizeBytesOf(view.getView().getType());
          end > integer(plan, "resident_bytes"))
        return view.emitOpError("ends at byte ")
               << end << ", but the resident segment has " << integer(plan, "resident_bytes");
    int64_t blockBytes = integer(plan, "kv_block_bytes");
    for (auto view : function.getBody().front().getOps<rt::KvOp>())
      if (int64_t(view.getOffset()) >= blockBytes ||
          rt::sizeBytesOf(view.getView().getType()) != integer(plan, "kv_blocks") * blockBytes)
        return view.emitOpError("expects an offset below the ")
               << blockBytes << " bytes of a block and a view of all " << integer(plan, "kv_blocks") << " blocks";
    for (size_t i = 0; i < lives.size(); ++i)
      for (size_t k = i + 1; k < lives.size(); ++k)
        if (lives[i].begin < lives[k].end && lives[k].begin < lives[i].end && lives[i].firstUse <= lives[k].lastUse &&
            lives[k].firstUse <= lives[i].lastUse)
          return (lives[k].view.emitOpError("shares bytes ")
                  << std::max(lives[i].begin, lives[k].begin) << " to " << std::min(lives[i].end, lives[k].end)
                  << " with a view that is alive at the same time")
                     .attachNote(lives[i].view.getLoc())
                 << "that view";
    return success();
  }

  /// The budget given at compile time against what the plan already knows; code and threads come on top at run time.
  LogicalResult checkBudget(ModuleOp module, DictionaryAttr plan) {
    auto options = module->getAttrOfType<DictionaryAttr>("moe.options");
    int64_t budget = options ? integer(options, "memory_bytes") : 0;
    if (budget <= 0)
      return success();
    moec::MemoryBudget needs;
    auto add = [&](StringRef name, int64_t bytes) { return needs.add(name, static_cast<uint64_t>(bytes)); };
    llvm::Error error = add("resident weights", integer(plan, "resident_bytes"));
    error = llvm::joinErrors(std::move(error), add("arena", integer(plan, "arena_bytes")));
    error = llvm::joinErrors(std::move(error),
                             add("kv cache", integer(plan, "kv_blocks") * integer(plan, "kv_block_bytes")));
    error = llvm::joinErrors(std::move(error), add("recurrent state", integer(plan, "state_bytes")));
    if (integer(plan, "num_expert_records"))
      error =
          llvm::joinErrors(std::move(error), needs.setSlots(integer(plan, "record_bytes"), integer(plan, "min_slots"),
                                                            integer(plan, "num_expert_records")));
    if (error)
      return module.emitError(llvm::toString(std::move(error)));
    auto slots = needs.slotsFor(budget);
    if (!slots)
      return module.emitError("--memory: before code, threads and tables are counted, the model ")
             << llvm::toString(slots.takeError());
    return success();
  }
};

} // namespace
