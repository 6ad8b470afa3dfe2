// SPDX-License-Identifier: Apache-2.0
/// \file
/// Generates a kernel for each distinct compute step and launches it: level L3 to L4. Main source:
/// passes/lower/Passes.td.
#include "passes/lower/KernelSelection.h"
#include "passes/lower/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::moe {
#define GEN_PASS_DEF_GENERATEKERNELS
#include "passes/lower/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// Reads the instruction level from `moe.target`.
FailureOr<moec::Isa> isaOf(ModuleOp module) {
  auto target = module->getAttrOfType<DictionaryAttr>("moe.target");
  auto name = target ? target.getAs<StringAttr>("isa") : StringAttr();
  std::optional<moec::Isa> isa;
  if (name)
    isa = llvm::StringSwitch<std::optional<moec::Isa>>(name)
              .Case("avx2", moec::Isa::Avx2)
              .Case("avxvnni", moec::Isa::AvxVnni)
              .Case("avx512vnni", moec::Isa::Avx512Vnni)
              .Case("neon", moec::Isa::Neon)
              .Case("dotprod", moec::Isa::Dotprod)
              .Case("i8mm", moec::Isa::I8mm)
              .Default(std::nullopt);
  if (!isa)
    return module.emitError("expects moe.target with an isa of avx2, avxvnni, avx512vnni, neon, dotprod or i8mm");
  return *isa;
}

struct GenerateKernels : moe::impl::GenerateKernelsBase<GenerateKernels> {
  using GenerateKernelsBase::GenerateKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<moec::Isa> isa = isaOf(module);
    if (failed(isa))
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto kernels = ModuleOp::create(builder, module.getLoc(), "kernels");
    KernelCache cache(kernels, *isa);
    SmallVector<rt::ComputeOp> single;
    SmallVector<rt::ParallelOp> parallel;
    module.walk([&](Operation *op) {
      if (auto region = dyn_cast<rt::ParallelOp>(op))
        parallel.push_back(region);
      else if (auto compute = dyn_cast<rt::ComputeOp>(op);
               compute && !isa_and_present<rt::ParallelOp>(op->getParentOp()))
        single.push_back(compute);
    });
    for (rt::ComputeOp compute : single)
      if (failed(launch(cache, compute, compute)))
        return signalPassFailure();
    for (rt::ParallelOp region : parallel)
      if (failed(launch(cache, region, llvm::to_vector(region.getBody().getOps<rt::ComputeOp>()))))
        return signalPassFailure();
    countJoins(module);
  }

  /// Replaces `op` by one launch of the kernels of `steps`.
  LogicalResult launch(KernelCache &cache, Operation *op, ArrayRef<rt::ComputeOp> steps) {
    SmallVector<Attribute> names, tiles;
    SmallVector<int64_t> segments;
    SmallVector<Value> arguments;
    for (rt::ComputeOp step : steps) {
      FailureOr<Kernel> kernel = cache.kernelFor(step);
      if (failed(kernel))
        return failure();
      names.push_back(kernel->name);
      tiles.push_back(kernel->tiles);
      SmallVector<Value> operands = KernelCache::operandsOf(step);
      segments.push_back(operands.size());
      arguments.append(operands);
    }
    OpBuilder builder(op);
    rt::LaunchOp::create(builder, op->getLoc(), builder.getArrayAttr(names), builder.getArrayAttr(tiles),
                         builder.getDenseI64ArrayAttr(segments), arguments);
    op->erase();
    return success();
  }

  /// Joins of one decoded token: task regions of @decode and @head with more than one tile for one token. A layer's
  /// experts are one. Guesses are made only where experts are read, and not counted.
  void countJoins(ModuleOp module) {
    int64_t joins = 0;
    for (StringRef entry : {"decode", "head"})
      if (auto function = module.lookupSymbol<func::FuncOp>(entry))
        for (Operation &region : function.getBody().front()) {
          int64_t tiles = 0;
          region.walk([&](rt::LaunchOp launch) {
            if (isa<rt::PrefetchOp>(launch->getParentOp()))
              return;
            for (Attribute attribute : launch.getTiles())
              tiles += cast<rt::TilesAttr>(attribute).getCount();
          });
          joins += tiles > 1;
        }
    module->setAttr("rt.joins_per_token", Builder(&getContext()).getI64IntegerAttr(joins));
  }
};

} // namespace
