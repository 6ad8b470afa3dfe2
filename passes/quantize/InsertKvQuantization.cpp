// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sets the element type of every KV cache, in function types and values alike.
/// Main source: passes/quantize/Passes.td, docs/architecture.md ("KV cache").
#include "passes/quantize/Options.h"
#include "passes/quantize/Passes.h"

namespace mlir::moe {
#define GEN_PASS_DEF_INSERTKVQUANTIZATION
#include "passes/quantize/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct InsertKvQuantization : moe::impl::InsertKvQuantizationBase<InsertKvQuantization> {
  using InsertKvQuantizationBase::InsertKvQuantizationBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string name = optionOr(module, elem, "kv", "int8");
    Builder builder(&getContext());
    Type type = llvm::StringSwitch<Type>(name)
                    .Case("f32", builder.getF32Type())
                    .Case("f16", builder.getF16Type())
                    .Case("int8", builder.getI8Type())
                    .Case("int4", builder.getIntegerType(4))
                    .Default(Type());
    if (!type) {
      module.emitError("expects KV elements f32, f16, int8 or int4, but got '") << name << "'";
      return signalPassFailure();
    }
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](CacheType cache) -> Type {
      return CacheType::get(&getContext(), cache.getKvHeads(), cache.getQkDim(), cache.getVDim(), cache.getCapacity(),
                            type, cache.getWindow(), cache.getSinks());
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }
};

} // namespace
