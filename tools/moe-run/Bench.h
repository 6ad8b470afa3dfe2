// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moe-run --bench`: tokens per second of prefill and decode. Main source: docs/command-line.md.
#ifndef TOOLS_MOE_RUN_BENCH_H
#define TOOLS_MOE_RUN_BENCH_H

#include "tools/moe-run/Options.h"

namespace moerun {

/// Measures and prints a table, or one JSON object with --json. Returns the exit code.
int measure(const Options &options);

} // namespace moerun
#endif
