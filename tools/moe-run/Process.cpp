// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory of this process, from /proc/self/status.
#include "tools/moe-run/Process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace moerun {

namespace {

/// A field of /proc/self/status in bytes. Read into the stack: the measurement must not allocate.
uint64_t statusField(const char *name) {
  char text[8192];
  int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  ssize_t size = read(file, text, sizeof(text) - 1);
  close(file);
  text[size > 0 ? size : 0] = '\0';
  const char *field = strstr(text, name);
  return field ? strtoull(field + strlen(name), nullptr, 10) * 1024 : 0;
}

} // namespace

uint64_t residentBytes() { return statusField("\nVmRSS:"); }

uint64_t peakResidentBytes() { return statusField("\nVmHWM:"); }

void resetPeak() {
  int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return;
  // 5 resets the peak. A refusal leaves the older peak, which is an upper bound.
  ssize_t written = write(file, "5", 1);
  static_cast<void>(written);
  close(file);
}

} // namespace moerun
