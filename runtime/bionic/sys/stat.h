// SPDX-License-Identifier: Apache-2.0
/// \file
/// Status of a file on arm64.
/// Source: bionic libc/include/sys/stat.h; file types of libc/kernel/uapi/linux/stat.h.
#ifndef RUNTIME_BIONIC_SYS_STAT_H
#define RUNTIME_BIONIC_SYS_STAT_H

#include <stdint.h>

#include <sys/types.h>
#include <time.h>

#define S_ISDIR(mode) (((mode) & 0170000) == 0040000)
#define S_ISREG(mode) (((mode) & 0170000) == 0100000)

struct stat {
  uint64_t st_dev;
  unsigned long st_ino;
  uint32_t st_mode;
  uint32_t st_nlink;
  uint32_t st_uid;
  uint32_t st_gid;
  uint64_t st_rdev;
  unsigned long pad1;
  off_t st_size;
  int st_blksize;
  int pad2;
  long st_blocks;
  timespec st_atim;
  timespec st_mtim;
  timespec st_ctim;
  unsigned unused[2];
};
static_assert(sizeof(struct stat) == 128);

extern "C" {
int fstat(int file, struct stat *status);
int stat(const char *path, struct stat *status);
}

#endif
