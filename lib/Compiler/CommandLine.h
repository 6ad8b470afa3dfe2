// SPDX-License-Identifier: Apache-2.0
/// \file
/// The command line of `moec`: its flags, their values and help. Main source: docs/command-line.md.
#ifndef LIB_COMPILER_COMMANDLINE_H
#define LIB_COMPILER_COMMANDLINE_H

namespace moec {

/// Runs `moec` and returns its exit code: 0 right, 1 the input or the machine is at fault, 2 wrong usage.
int runCommandLine(int argc, char **argv);

} // namespace moec

#endif
