// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `moec targets` prints. Main source: docs/command-line.md.
#ifndef LIB_COMPILER_TARGETS_H
#define LIB_COMPILER_TARGETS_H

#include <string>

namespace moec {

/// Name, triple, instruction level and summary of every target, one a line.
std::string listTargets();

/// Everything that the descriptions hold, as one JSON array.
std::string listTargetsAsJson();

} // namespace moec

#endif
