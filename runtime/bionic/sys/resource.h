// SPDX-License-Identifier: Apache-2.0
/// \file
/// Limits of a process.
/// Values: bionic libc/kernel/uapi/asm-generic/resource.h, libc/include/sys/resource.h.
#ifndef RUNTIME_BIONIC_SYS_RESOURCE_H
#define RUNTIME_BIONIC_SYS_RESOURCE_H

#define RLIMIT_MEMLOCK 8

struct rlimit {
  unsigned long rlim_cur;
  unsigned long rlim_max;
};

extern "C" int getrlimit(int resource, struct rlimit *limit);

#endif
