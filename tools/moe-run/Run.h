// SPDX-License-Identifier: Apache-2.0
/// \file
/// The run itself: open, tokenize, generate, report.
#ifndef TOOLS_MOE_RUN_RUN_H
#define TOOLS_MOE_RUN_RUN_H

#include "tools/moe-run/Options.h"

namespace moerun {

/// Everything behind the command line. Returns the exit code.
int run(const Options &options);

} // namespace moerun
#endif
