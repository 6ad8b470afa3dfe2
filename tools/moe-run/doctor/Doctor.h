// SPDX-License-Identifier: Apache-2.0
/// \file
/// `moe-run --doctor`: checks the machine against a model before anything is loaded. Main source:
/// docs/doctor.md.
#ifndef TOOLS_MOE_RUN_DOCTOR_DOCTOR_H
#define TOOLS_MOE_RUN_DOCTOR_DOCTOR_H

#include "tools/moe-run/Options.h"

namespace moerun {

/// Prints one finding a check, each with what was found, what is needed and a remedy; with --json one object. Returns 0
/// if the model runs, 3 if it runs with warnings, 1 if it cannot run. What cannot be read is unknown, which is no
/// fault.
int examine(const Options &options);

} // namespace moerun
#endif
