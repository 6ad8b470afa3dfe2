// SPDX-License-Identifier: Apache-2.0
/// \file
/// The name of the kernel.
/// Source: bionic libc/include/sys/utsname.h.
#ifndef RUNTIME_BIONIC_SYS_UTSNAME_H
#define RUNTIME_BIONIC_SYS_UTSNAME_H

struct utsname {
  char sysname[65];
  char nodename[65];
  char release[65];
  char version[65];
  char machine[65];
  char domainname[65];
};

extern "C" int uname(struct utsname *name);

#endif
