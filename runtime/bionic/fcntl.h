// SPDX-License-Identifier: Apache-2.0
/// \file
/// Opening files on arm64, where O_DIRECT differs from x86-64.
/// Values: bionic libc/kernel/uapi/asm-generic/fcntl.h and asm-arm64/asm/fcntl.h.
#ifndef RUNTIME_BIONIC_FCNTL_H
#define RUNTIME_BIONIC_FCNTL_H

#define O_RDONLY 0
#define O_WRONLY 01
#define O_NONBLOCK 04000
#define O_CLOEXEC 02000000
#define O_DIRECT 0200000

extern "C" int open(const char *path, int flags, ...);

#endif
