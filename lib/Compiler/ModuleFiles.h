// SPDX-License-Identifier: Apache-2.0
/// \file
/// Modules as text, and what a module records about how it was made. Part of the composition root.
/// Main source: docs/architecture.md ("The steps").
#ifndef LIB_COMPILER_MODULEFILES_H
#define LIB_COMPILER_MODULEFILES_H

#include "lib/Compiler/CompileOptions.h"
#include "lib/Target/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace moec {

/// Parses a module; diagnostics are collected into the error.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> parseModule(mlir::MLIRContext &context, llvm::StringRef text,
                                                              llvm::StringRef name);
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> readModule(mlir::MLIRContext &context, llvm::StringRef path);
std::string printModule(mlir::ModuleOp module);
/// The module without its functions: attributes and weights, which is all that pack and link need.
std::string printMetadata(mlir::ModuleOp module);

/// Records the options (`moe.options`) and the target (`moe.target`) in a fresh module.
void recordOptions(mlir::ModuleOp module, const CompileOptions &options);
void recordTarget(mlir::ModuleOp module, const TargetDescription &target);
/// The target recorded in the module. Errors: none recorded, or not a known one.
llvm::Expected<TargetDescription> recordedTarget(mlir::ModuleOp module);
/// Refuses options that contradict what the resumed module records; `file` stands in messages.
llvm::Error checkResumed(mlir::ModuleOp module, const CompileOptions &options, llvm::StringRef file);
/// Refuses a source file whose size or XXH3-128 has changed since import.
llvm::Error checkSources(mlir::ModuleOp module);

/// Integer, string and real entries of a dictionary attribute of the module; 0 or empty if absent.
int64_t integerOf(mlir::ModuleOp module, llvm::StringRef dictionary, llvm::StringRef key);
/// Most positions of a session: `moe.context`, never more than the planned caches hold.
int64_t contextOf(mlir::ModuleOp module);
std::string textOf(mlir::ModuleOp module, llvm::StringRef dictionary, llvm::StringRef key);
double realOf(mlir::ModuleOp module, llvm::StringRef dictionary, llvm::StringRef key);

/// Collects the errors that a context reports while it lives; `take` makes an error of them.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);
  ~DiagnosticCollector();
  /// The first error reported, with its location if it is in a file; `fallback` if there is none.
  llvm::Error take(llvm::StringRef fallback);

private:
  mlir::MLIRContext &context;
  uint64_t handler;
  std::string first;
};

} // namespace moec

#endif
