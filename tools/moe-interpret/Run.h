// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `moe-interpret` does with its options. Main source: docs/command-line.md.
#ifndef TOOLS_MOE_INTERPRET_RUN_H
#define TOOLS_MOE_INTERPRET_RUN_H

#include "tools/moe-interpret/Options.h"

#include "llvm/Support/raw_ostream.h"

namespace moec {

/// Runs a model or a function and prints what comes out. Errors: the input is at fault; what MLIR has to say about the
/// file is already on stderr.
llvm::Error interpret(const InterpretOptions &options, llvm::raw_ostream &out);

} // namespace moec

#endif
