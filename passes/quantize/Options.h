// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options that a pass was not given come from the module attribute `moe.options`, which the driver records at import,
/// so that a stage can be resumed from its IR alone. Main source: docs/architecture.md.
#ifndef PASSES_QUANTIZE_OPTIONS_H
#define PASSES_QUANTIZE_OPTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::moe {

/// `given` unless empty, else the string `key` of `moe.options`, else `fallback`.
inline std::string optionOr(ModuleOp module, llvm::StringRef given, llvm::StringRef key, llvm::StringRef fallback) {
  if (!given.empty())
    return given.str();
  if (auto options = module->getAttrOfType<DictionaryAttr>("moe.options"))
    if (auto value = options.getAs<StringAttr>(key))
      return value.str();
  return fallback.str();
}

} // namespace mlir::moe

#endif
