// SPDX-License-Identifier: Apache-2.0
/// \file
/// The line from checkpoint to `.so`: the composition root behind `moec compile`. Main source: passes/Phases.def.
#ifndef LIB_COMPILER_COMPILE_H
#define LIB_COMPILER_COMPILE_H

#include "lib/Compiler/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace moec {

/// Runs the steps that `options` asks for. All outputs appear together when everything has succeeded, or none does.
/// Progress goes to `progress`. `programFolder` is the folder of the running program: the runtime archives are beside
/// it. Errors: one text that names the file, tensor, pass or flag at fault.
llvm::Error compile(const CompileOptions &options, llvm::StringRef programFolder, llvm::raw_ostream &progress);

/// Plans a model of generated weights (`options.isRandom`) for one target: the steps up to plan, as `compile` runs
/// them, but with source hashes of zero. Writes nothing; `inspect` gets the planned module.
llvm::Error planRandomModel(const CompileOptions &options, llvm::function_ref<llvm::Error(mlir::ModuleOp)> inspect);

/// The precision plan (docs/precision.md) of `options.model` as JSON, from the steps import to quantize. Writes
/// nothing.
llvm::Expected<std::string> planPrecision(const CompileOptions &options, llvm::raw_ostream &progress);

} // namespace moec

#endif
