// SPDX-License-Identifier: Apache-2.0
/// \file
/// The command line of `moe-interpret`. Main source: docs/command-line.md.
#ifndef TOOLS_MOE_INTERPRET_OPTIONS_H
#define TOOLS_MOE_INTERPRET_OPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace moec {

struct InterpretOptions {
  std::string file;
  std::vector<int32_t> ids;
  std::string logitsFile;
  uint32_t numGreedy = 1;
  uint32_t expertsUsed = 0; // 0: all
  std::string entry;        // empty: a model's entry points, or the only function without arguments
  bool checksHashes = false;
  bool showsHelp = false;
};

/// The text of --help.
extern const char *const kInterpretHelp;

/// Reads the arguments behind the program's name. Errors: wrong usage; names the flag and the valid values.
llvm::Expected<InterpretOptions> parseInterpretOptions(llvm::ArrayRef<const char *> arguments);

} // namespace moec

#endif
