// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moe-interpret`: runs a module with the reference interpreter. Main source: docs/command-line.md.
#include "tools/moe-interpret/Run.h"

int main(int argc, char **argv) {
  auto options = moec::parseInterpretOptions(llvm::ArrayRef<const char *>(argv + 1, argc > 0 ? argc - 1 : 0));
  if (!options) {
    llvm::errs() << "moe-interpret: " << toString(options.takeError()) << "\n";
    return 2;
  }
  if (options->showsHelp) {
    llvm::outs() << moec::kInterpretHelp;
    return 0;
  }
  if (llvm::Error error = moec::interpret(*options, llvm::outs())) {
    llvm::outs().flush();
    llvm::errs() << "moe-interpret: " << toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
