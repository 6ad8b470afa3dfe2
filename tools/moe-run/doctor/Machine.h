// SPDX-License-Identifier: Apache-2.0
/// \file
/// The machine as --doctor sees it: files of /proc and /sys, and what only system calls tell. With --root all of it
/// comes from files of a folder, so that a test can describe any machine; nothing of the real one is asked then. What
/// cannot be read is unknown, never an error. Main source: docs/doctor.md.
#ifndef TOOLS_MOE_RUN_DOCTOR_MACHINE_H
#define TOOLS_MOE_RUN_DOCTOR_MACHINE_H

#include "moert/MachineCheck.h"

#include <stddef.h>
#include <stdint.h>

namespace moerun {

/// The number behind `name` at the start of a line. False if the line is missing.
bool findField(const char *text, const char *name, uint64_t *value);
/// Most CPUs of a set.
inline constexpr uint32_t kMostCpus = 64 * MOERT_CPU_SET_WORDS;
inline bool hasCpu(const moert_cpu_set &set, uint32_t cpu) { return set.words[cpu / 64] >> (cpu % 64) & 1; }

/// What stands behind `name` at the start of a line; null if the line is missing.
const char *findLine(const char *text, const char *name);

class Machine {
public:
  /// `root` may be null: the real machine.
  explicit Machine(const char *root) : prefix(root ? root : ""), isDescribed(root != nullptr) {}

  /// True: files below a folder, not the machine that this runs on.
  bool isInjected() const { return isDescribed; }
  /// What stands before /proc and /sys.
  const char *root() const { return prefix; }

  bool exists(const char *format, ...) const __attribute__((format(printf, 2, 3)));
  /// Reads at most capacity - 1 bytes and ends them with zero. False if there is nothing to be read.
  bool readText(char *text, size_t capacity, const char *format, ...) const __attribute__((format(printf, 4, 5)));
  /// The whole number at the start of a file.
  bool readNumber(int64_t *value, const char *format, ...) const __attribute__((format(printf, 3, 4)));
  /// A field of /proc/meminfo.
  bool readMemory(const char *field, uint64_t *bytes) const;

  /// 0 = unknown. Injected: AT_PAGESZ of /proc/self/auxv, else KernelPageSize of /proc/self/smaps.
  uint64_t pageBytes() const;
  /// CPUs that this process may use. Injected: Cpus_allowed_list of /proc/self/status, else the folders of the CPUs.
  moert_cpu_set cpus() const;
  /// RLIMIT_MEMLOCK, UINT64_MAX = none. Injected: /proc/self/limits.
  bool readLockLimit(uint64_t *bytes) const;
  /// Whether the process has the privilege to which that limit does not apply.
  bool maySkipLockLimit() const;
  /// Release of the kernel.
  bool readKernel(char *text, size_t capacity) const;

private:
  bool readPath(const char *path, char *text, size_t capacity) const;

  const char *prefix;
  bool isDescribed;
};

/// Whether --root, if given, is a folder; false after a message.
bool checkRoot(const char *root);

} // namespace moerun
#endif
