// SPDX-License-Identifier: Apache-2.0
/// \file
/// What moe-pack does.
#ifndef TOOLS_MOE_PACK_COMMANDS_H
#define TOOLS_MOE_PACK_COMMANDS_H

#include "tools/moe-pack/Options.h"

namespace moepack {

/// Results go to stdout, messages and progress to stderr. Returns the exit code.
int run(const Options &options);

} // namespace moepack

#endif
