// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moec`: the compiler's command line. Main source: docs/command-line.md.
#include "lib/Compiler/CommandLine.h"

int main(int argc, char **argv) { return moec::runCommandLine(argc, argv); }
