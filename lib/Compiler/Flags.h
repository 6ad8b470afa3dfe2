// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small table-driven reader of flags, whose messages name the flag and its valid values. Part of the command line.
/// Main source: docs/command-line.md.
#ifndef LIB_COMPILER_FLAGS_H
#define LIB_COMPILER_FLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace moec {

/// One flag. `set` gets its values (`numValues` words) and may refuse them with a message that follows "--flag ".
struct Flag {
  const char *name; ///< "--quant"
  unsigned numValues;
  std::function<llvm::Error(llvm::ArrayRef<llvm::StringRef>)> set;
  bool isRepeatable = false; ///< may stand several times; `set` is called for each
};

/// Reads `words`; words that are not flags go to `positional`. `--flag=value` is the same as `--flag value`.
/// Errors: unknown flags (with the known ones), a flag given twice, missing values, what `set` refuses.
llvm::Error readFlags(llvm::ArrayRef<llvm::StringRef> words, llvm::ArrayRef<Flag> flags,
                      std::vector<std::string> &positional);

/// A flag whose value is one of `choices` (separated by '|').
Flag choice(const char *name, const char *choices, std::string &value);
Flag text(const char *name, std::string &value);
/// A whole number in [smallest, largest].
Flag number(const char *name, uint64_t smallest, uint64_t largest, std::function<void(uint64_t)> set);
/// A real number in [smallest, 1].
Flag share(const char *name, double smallest, std::function<void(double)> set);
/// A size such as 10.5GB, at least one byte.
Flag size(const char *name, std::function<void(uint64_t)> set);
Flag flag(const char *name, bool &value);

} // namespace moec

#endif
