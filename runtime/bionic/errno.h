// SPDX-License-Identifier: Apache-2.0
/// \file
/// bionic reaches errno through `__errno`, glibc through `__errno_location`.
/// Source: bionic libc/include/errno.h; numbers of libc/kernel/uapi/asm-generic/errno-base.h.
#ifndef RUNTIME_BIONIC_ERRNO_H
#define RUNTIME_BIONIC_ERRNO_H

extern "C" int *__errno(void) __attribute__((const));
#define errno (*__errno())

#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EISDIR 21

#endif
