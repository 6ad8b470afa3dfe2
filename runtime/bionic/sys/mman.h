// SPDX-License-Identifier: Apache-2.0
/// \file
/// Mapping memory on arm64.
/// Values: bionic libc/kernel/uapi/asm-generic/mman-common.h, mman.h, linux/mman.h.
#ifndef RUNTIME_BIONIC_SYS_MMAN_H
#define RUNTIME_BIONIC_SYS_MMAN_H

#include <stddef.h>

#include <sys/types.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 0x20
#define MAP_NORESERVE 0x4000
#define MAP_FAILED reinterpret_cast<void *>(-1)
#define MADV_DONTNEED 4

extern "C" {
void *mmap(void *address, size_t sizeBytes, int protection, int flags, int file, off_t offset);
int munmap(void *address, size_t sizeBytes);
int mprotect(void *address, size_t sizeBytes, int protection);
int madvise(void *address, size_t sizeBytes, int advice);
}

#endif
