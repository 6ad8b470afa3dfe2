// SPDX-License-Identifier: Apache-2.0
/// \file
/// Walks from the group of the process up to the root.
#include "tools/moe-run/doctor/MemoryGroup.h"

#include <stdio.h>
#include <string.h>

namespace moerun {

namespace {

/// The names of the files of one version of control groups.
struct Version {
  const char *folder, *limit, *used, *droppable;
};

constexpr Version kVersions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "}};

} // namespace

/// Lowers `least` to what the group `name` has.
static void readGroup(const Machine &machine, const Version &version, const char *name, MemoryGroup &least) {
  char statistics[8192];
  int64_t limit = 0, used = 0;
  uint64_t droppable = 0;
  // Without a limit version 2 says "max", version 1 a number near 2^63.
  if (!machine.readNumber(&limit, "%s%s/%s", version.folder, name, version.limit) || limit < 0 ||
      limit > INT64_MAX / 2 || !machine.readNumber(&used, "%s%s/%s", version.folder, name, version.used) || used < 0)
    return;
  if (machine.readText(statistics, sizeof(statistics), "%s%s/memory.stat", version.folder, name))
    findField(statistics, version.droppable, &droppable);
  auto limitBytes = static_cast<uint64_t>(limit), kept = static_cast<uint64_t>(used);
  kept -= droppable < kept ? droppable : kept;
  uint64_t available = limitBytes > kept ? limitBytes - kept : 0;
  if (least.isLimited && least.availableBytes <= available)
    return;
  least.isLimited = true;
  least.limitBytes = limitBytes;
  least.availableBytes = available;
  snprintf(least.name, sizeof(least.name), "%.100s", *name ? name : "/");
}

MemoryGroup readMemoryGroup(const Machine &machine) {
  MemoryGroup least = {};
  char text[4096], name[512];
  machine.readText(text, sizeof(text), "/proc/self/cgroup");
  // "0::/a/b" in version 2, "9:memory:/a/b" in version 1.
  const char *second = strstr(text, ":memory:");
  const char *groups[] = {findLine(text, "0::"), second ? second + strlen(":memory:") : nullptr};
  for (unsigned i = 0; i < 2; ++i) {
    const char *end = groups[i] ? strchr(groups[i], '\n') : nullptr;
    long length = !groups[i] ? 0 : end ? end - groups[i] : static_cast<long>(strlen(groups[i]));
    snprintf(name, sizeof(name), "%.*s", static_cast<int>(length), groups[i] ? groups[i] : "");
    if (strcmp(name, "/") == 0)
      name[0] = '\0';
    for (;;) {
      readGroup(machine, kVersions[i], name, least);
      char *slash = strrchr(name, '/');
      if (!slash)
        break;
      *slash = '\0';
    }
  }
  return least;
}

} // namespace moerun
