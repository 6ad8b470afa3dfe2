// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading the files. Sources: Linux, Documentation/filesystems/proc.rst, uapi/linux/auxvec.h, capability.h.
#include "tools/moe-run/doctor/Machine.h"

#include "tools/moe-run/Message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace moerun {

const char *findLine(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, length) == 0)
      return line + length;
  }
  return nullptr;
}

bool findField(const char *text, const char *name, uint64_t *value) {
  const char *at = findLine(text, name);
  char *end = nullptr;
  *value = at ? strtoull(at, &end, 10) : 0;
  return at && end != at;
}

bool checkRoot(const char *root) {
  struct stat status;
  if (root && stat(root, &status) != 0)
    return printError("cannot read the folder %s of --root: %s", root, strerror(errno));
  return !root || S_ISDIR(status.st_mode) ||
         printError("--root expects a folder with proc and sys in it, but %s is a file", root);
}

//===--- files ----------------------------------------------------------------------------------------------------===//

/// Writes root and path. False if they do not fit: then there is no such file.
static bool makePath(char (&path)[PATH_MAX], const char *root, const char *format, va_list arguments) {
  int length = snprintf(path, sizeof(path), "%s", root);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path))
    return false;
  size_t left = sizeof(path) - static_cast<size_t>(length);
  int more = vsnprintf(path + length, left, format, arguments);
  return more >= 0 && static_cast<size_t>(more) < left;
}

bool Machine::exists(const char *format, ...) const {
  char path[PATH_MAX];
  va_list arguments;
  va_start(arguments, format);
  bool fits = makePath(path, prefix, format, arguments);
  va_end(arguments);
  return fits && access(path, 0) == 0;
}

bool Machine::readPath(const char *path, char *text, size_t capacity) const {
  text[0] = '\0';
  // An injected pipe has no other end.
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return false;
  size_t size = 0;
  ssize_t got = 0;
  while (size < capacity - 1 && (got = read(file, text + size, capacity - 1 - size)) > 0)
    size += static_cast<size_t>(got);
  close(file);
  text[size] = '\0';
  return size != 0;
}

bool Machine::readText(char *text, size_t capacity, const char *format, ...) const {
  char path[PATH_MAX];
  va_list arguments;
  va_start(arguments, format);
  bool fits = makePath(path, prefix, format, arguments);
  va_end(arguments);
  text[0] = '\0';
  return fits && readPath(path, text, capacity);
}

bool Machine::readNumber(int64_t *value, const char *format, ...) const {
  char path[PATH_MAX], text[64], *end = nullptr;
  va_list arguments;
  va_start(arguments, format);
  bool fits = makePath(path, prefix, format, arguments);
  va_end(arguments);
  if (!fits || !readPath(path, text, sizeof(text)))
    return false;
  *value = strtoll(text, &end, 10);
  return end != text;
}

bool Machine::readMemory(const char *field, uint64_t *bytes) const {
  char text[8192];
  uint64_t kibibytes = 0;
  if (!readText(text, sizeof(text), "/proc/meminfo") || !findField(text, field, &kibibytes) ||
      __builtin_mul_overflow(kibibytes, 1024, bytes))
    return false;
  return true;
}

//===--- facts that a system call tells ---------------------------------------------------------------------------===//

uint64_t Machine::pageBytes() const {
  if (!isDescribed)
    return getauxval(AT_PAGESZ);
  char text[4096] = {};
  uint64_t kibibytes = 0;
  readText(text, sizeof(text), "/proc/self/auxv");
  for (size_t at = 0; at + 16 <= sizeof(text); at += 16) {
    uint64_t entry[2];
    memcpy(entry, text + at, sizeof(entry));
    if (entry[0] == AT_PAGESZ)
      return entry[1];
  }
  return readText(text, sizeof(text), "/proc/self/smaps") && findField(text, "KernelPageSize:", &kibibytes)
             ? kibibytes * 1024
             : 0;
}

moert_cpu_set Machine::cpus() const {
  moert_cpu_set set = {};
  if (!isDescribed) {
    moert_allowed_cpus(&set);
    return set;
  }
  char text[8192], list[512] = {};
  const char *at = readText(text, sizeof(text), "/proc/self/status") ? findLine(text, "Cpus_allowed_list:") : nullptr;
  if (at) {
    at += strspn(at, " \t");
    const char *end = strchr(at, '\n');
    snprintf(list, sizeof(list), "%.*s", static_cast<int>(end ? end - at : static_cast<long>(strlen(at))), at);
  }
  if (moert_parse_cpus(list, &set))
    return set;
  set = {};
  for (uint32_t cpu = 0; cpu < kMostCpus && exists("/sys/devices/system/cpu/cpu%u", cpu); ++cpu)
    set.words[cpu / 64] |= 1ull << (cpu % 64);
  return set;
}

bool Machine::readLockLimit(uint64_t *bytes) const {
  if (!isDescribed) {
    struct rlimit limit = {};
    bool isKnown = getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
    *bytes = limit.rlim_cur;
    return isKnown;
  }
  char text[8192];
  const char *at = readText(text, sizeof(text), "/proc/self/limits") ? findLine(text, "Max locked memory") : nullptr;
  if (!at)
    return false;
  at += strspn(at, " ");
  if (strncmp(at, "unlimited", 9) == 0) {
    *bytes = UINT64_MAX;
    return true;
  }
  char *end = nullptr;
  *bytes = strtoull(at, &end, 10);
  return end != at;
}

bool Machine::maySkipLockLimit() const {
  constexpr unsigned kCapIpcLock = 14;
  char text[8192];
  const char *at = readText(text, sizeof(text), "/proc/self/status") ? findLine(text, "CapEff:") : nullptr;
  return at && (strtoull(at, nullptr, 16) >> kCapIpcLock & 1);
}

bool Machine::readKernel(char *text, size_t capacity) const {
  if (isDescribed) {
    bool isKnown = readText(text, capacity, "/proc/sys/kernel/osrelease");
    if (char *newline = strchr(text, '\n'))
      *newline = '\0';
    return isKnown;
  }
  struct utsname name = {};
  bool isKnown = uname(&name) == 0;
  snprintf(text, capacity, "%s %s on %s", name.sysname, name.release, name.machine);
  return isKnown;
}

} // namespace moerun
