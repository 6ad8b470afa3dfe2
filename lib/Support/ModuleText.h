// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the text of a module may not hold, since MLIR 22's parser would end the process on it. Main source: tests of
/// the parser with test/fuzz.
#ifndef LIB_SUPPORT_MODULETEXT_H
#define LIB_SUPPORT_MODULETEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace moec {

/// Brackets of all kinds, and signs in a row, that may be open at once. The parser recurses at each; modules that moec
/// writes have fewer than 20.
constexpr unsigned kMaxModuleDepth = 200;

/// Errors: brackets or signs beyond kMaxModuleDepth, or an `array<index: ...>`; `<name>:<line>: <what>`.
llvm::Error checkModuleText(llvm::StringRef text, llvm::StringRef name);

} // namespace moec

#endif
