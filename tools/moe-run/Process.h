// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory of this process as the kernel counts it.
#ifndef TOOLS_MOE_RUN_PROCESS_H
#define TOOLS_MOE_RUN_PROCESS_H

#include <stdint.h>

namespace moerun {

/// Resident bytes now; 0 where /proc is missing.
uint64_t residentBytes();
/// The most resident bytes since the start, or since the last reset; 0 where /proc is missing.
uint64_t peakResidentBytes();
/// Starts the peak anew where the kernel allows it.
void resetPeak();

} // namespace moerun
#endif
