// SPDX-License-Identifier: Apache-2.0
/// \file
/// Verifies and lists weight packs. Main source: docs/pack-format.md.
#include "lib/Support/Files.h"
#include "tools/moe-pack/Commands.h"
#include "tools/moe-pack/Options.h"

#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  moepack::Options options;
  if (!moepack::parseOptions(argc, argv, options))
    return moepack::kExitUsage;
  int code = moepack::kExitRight;
  options.help ? moepack::printHelp() : void(code = moepack::run(options));
  if (llvm::Error error = moec::flushStandardOutput()) {
    llvm::errs() << "moe-pack: " << llvm::toString(std::move(error)) << "\n";
    return moepack::kExitFault;
  }
  return code;
}
