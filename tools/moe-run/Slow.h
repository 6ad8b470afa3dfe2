// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names what slowed a run down. Main source: docs/debugging.md.
#ifndef TOOLS_MOE_RUN_SLOW_H
#define TOOLS_MOE_RUN_SLOW_H

#include "moert/moert.h"

namespace moerun {

/// Causes that took a share worth naming, the largest first.
struct SlowCauses {
  struct Cause {
    const char *name;
    double share; // of the time of all calls
  };
  Cause causes[4];
  unsigned count;
};

/// With a `root` (null: none) the machine that is described there stands in for this one; how long experts were waited
/// for is always the run's own.
SlowCauses slowCauses(const moert_statistics &statistics, const char *root);
/// `"slow": [...]` on stdout.
void printSlowJson(const SlowCauses &slow);
/// A line on stderr, if there is a cause.
void printSlow(const SlowCauses &slow);

} // namespace moerun
#endif
