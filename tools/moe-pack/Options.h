// SPDX-License-Identifier: Apache-2.0
/// \file
/// The command line of moe-pack.
#ifndef TOOLS_MOE_PACK_OPTIONS_H
#define TOOLS_MOE_PACK_OPTIONS_H

#include <string>

namespace moepack {

constexpr int kExitRight = 0, kExitFault = 1, kExitUsage = 2;

enum class Command { Verify, List };

struct Options {
  Command command = Command::Verify;
  std::string path;
  unsigned numThreads = 0; ///< 0: as many as the machine has
  bool json = false;
  bool help = false;
};

/// Returns false after it has said on stderr what is wrong.
bool parseOptions(int argc, char **argv, Options &options);
void printHelp();

} // namespace moepack

#endif
