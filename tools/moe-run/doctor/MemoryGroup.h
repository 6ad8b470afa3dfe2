// SPDX-License-Identifier: Apache-2.0
/// \file
/// The limit of memory that a control group sets for this process, as containers have. Sources: Linux,
/// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
#ifndef TOOLS_MOE_RUN_DOCTOR_MEMORYGROUP_H
#define TOOLS_MOE_RUN_DOCTOR_MEMORYGROUP_H

#include "tools/moe-run/doctor/Machine.h"

namespace moerun {

struct MemoryGroup {
  bool isLimited; // by the group of the process or one above it
  uint64_t limitBytes;
  uint64_t availableBytes; // the limit without what is used and cannot be dropped
  char name[128];          // of the group with the least available
};

MemoryGroup readMemoryGroup(const Machine &machine);

} // namespace moerun
#endif
