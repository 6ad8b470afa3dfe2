// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moe-interpret`: runs a module with the reference interpreter. Main source: docs/command-line.md.
#include "lib/Support/Files.h"
#include "tools/moe-interpret/Run.h"

int main(int argc, char **argv) {
  auto options = moec::parseInterpretOptions(llvm::ArrayRef<const char *>(argv + 1, argc > 0 ? argc - 1 : 0));
  if (!options) {
    llvm::errs() << "moe-interpret: " << toString(options.takeError()) << "\n";
    return 2;
  }
  llvm::Error error = llvm::Error::success();
  if (options->showsHelp)
    llvm::outs() << moec::kInterpretHelp;
  else
    error = moec::interpret(*options, llvm::outs());
  if (error = llvm::joinErrors(std::move(error), moec::flushStandardOutput()); error) {
    llvm::errs() << "moe-interpret: " << toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
