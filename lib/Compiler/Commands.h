// SPDX-License-Identifier: Apache-2.0
/// \file
/// The commands of `moec` that have files of their own, and what commands share. Main source: docs/command-line.md.
#ifndef LIB_COMPILER_COMMANDS_H
#define LIB_COMPILER_COMMANDS_H

#include "lib/Compiler/CompileOptions.h"
#include "lib/Compiler/Flags.h"

#include <optional>

namespace moec {

/// Exit codes.
inline constexpr int kInputAtFault = 1, kWrongUsage = 2;

/// Prints the error, after wrong usage also how to get help, and returns `code`.
int fail(int code, llvm::Error error);

/// `--seed`: any number of 64 bits.
Flag seedFlag(std::optional<uint64_t> &seed);

/// `--routing`: plain weights, or S of a Zipf distribution in thousandths.
Flag routingFlag(std::optional<uint32_t> &zipfThousandths);

/// Flags that say how a model is compiled: what `compile` and `estimate` share.
std::vector<Flag> modelFlags(CompileOptions &options);

int runSynth(llvm::ArrayRef<llvm::StringRef> words);
int runSimulateCache(llvm::ArrayRef<llvm::StringRef> words);
int runEstimate(llvm::ArrayRef<llvm::StringRef> words);

} // namespace moec

#endif
