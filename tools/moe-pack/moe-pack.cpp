// SPDX-License-Identifier: Apache-2.0
/// \file
/// Verifies and lists weight packs. Main source: docs/pack-format.md.
#include "tools/moe-pack/Commands.h"
#include "tools/moe-pack/Options.h"

int main(int argc, char **argv) {
  moepack::Options options;
  if (!moepack::parseOptions(argc, argv, options))
    return moepack::kExitUsage;
  if (options.help) {
    moepack::printHelp();
    return moepack::kExitRight;
  }
  return moepack::run(options);
}
