// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a module in the LLVM dialect to an object file in memory: translation, optimization and code generation, all in
/// process. Step: object. Main source: docs/architecture.md, "Object".
#ifndef LIB_OBJECT_OBJECT_H
#define LIB_OBJECT_OBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>

namespace moec {

/// The machine that code is generated for.
struct ObjectOptions {
  /// For instance aarch64-linux-gnu.
  std::string triple;
  /// "generic" with explicit features: tuning for a big core slows little ones (docs/architecture.md).
  std::string cpu = "generic";
  /// For instance +dotprod,+i8mm.
  std::string features;
  /// If not empty: a section of this name with `metadata` as content, which linkers leave out.
  std::string metadataSection = "";
  std::string metadata = "";
};

/// Registers the translations of the dialects that a lowered module holds: builtin and llvm.
void registerObjectTranslations(mlir::DialectRegistry &registry);

/// Generates a relocatable object: position-independent, one section for each function, no fast-math, no contraction.
///
/// The bytes are a function of the module and the options alone. Errors: an unknown target, CPU or feature; a module
/// that is not in the LLVM dialect.
llvm::Expected<llvm::SmallVector<char, 0>> emitObject(mlir::ModuleOp module, const ObjectOptions &options);

/// The same as assembly text.
llvm::Expected<std::string> emitAssembly(mlir::ModuleOp module, const ObjectOptions &options);

/// The optimized LLVM IR as text.
llvm::Expected<std::string> emitLLVMIR(mlir::ModuleOp module, const ObjectOptions &options);

} // namespace moec

#endif
