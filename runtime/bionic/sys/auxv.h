// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the kernel tells a process.
/// Source: bionic libc/include/sys/auxv.h.
#ifndef RUNTIME_BIONIC_SYS_AUXV_H
#define RUNTIME_BIONIC_SYS_AUXV_H

#define AT_PAGESZ 6

extern "C" unsigned long getauxval(unsigned long type);

#endif
