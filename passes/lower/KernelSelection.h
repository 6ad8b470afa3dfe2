// SPDX-License-Identifier: Apache-2.0
/// \file
/// Chooses and generates the kernel of a compute step; equal steps share one. Part of the lower stage.
/// Main source: docs/architecture.md ("Kernels").
#ifndef PASSES_LOWER_KERNELSELECTION_H
#define PASSES_LOWER_KERNELSELECTION_H

#include "dialects/rt/RtDialect.h"
#include "passes/lower/kernels/DeltaKernels.h"
#include "passes/lower/kernels/FloatKernels.h"
#include "passes/lower/kernels/Linear.h"

namespace mlir::moe {

struct Kernel {
  SymbolRefAttr name;
  rt::TilesAttr tiles;
};

class KernelCache {
public:
  /// Kernels are added to `module` for instruction level `isa`.
  KernelCache(ModuleOp module, moec::Isa isa) : module(module), isa(isa) {}

  /// The kernel of a step, generated on first use. A shape that no generator takes is an error on the step.
  FailureOr<Kernel> kernelFor(rt::ComputeOp step);

  /// The step's operands in the order of the kernel's arguments.
  static SmallVector<Value> operandsOf(rt::ComputeOp step);

private:
  /// Generates `name` and returns the number of its tiles.
  FailureOr<rt::TilesAttr> generate(rt::ComputeOp step, StringRef name);
  /// Says whether kernel `name` takes the operands of the step.
  LogicalResult checkOperands(rt::ComputeOp step, StringRef name);
  FailureOr<rt::TilesAttr> generateMatrix(rt::ComputeOp step, StringRef name, moec::KernelContext &context);
  FailureOr<rt::TilesAttr> generateKv(rt::ComputeOp step, StringRef name, moec::KernelContext &context);
  FailureOr<rt::TilesAttr> generateDelta(rt::ComputeOp step, StringRef name, moec::KernelContext &context);

  ModuleOp module;
  moec::Isa isa;
  llvm::DenseMap<Attribute, Kernel> kernels;
};

} // namespace mlir::moe

#endif
