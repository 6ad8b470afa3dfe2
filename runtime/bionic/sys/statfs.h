// SPDX-License-Identifier: Apache-2.0
/// \file
/// Space of a file system on 64-bit systems.
/// Source: bionic libc/include/sys/vfs.h.
#ifndef RUNTIME_BIONIC_SYS_STATFS_H
#define RUNTIME_BIONIC_SYS_STATFS_H

#include <stdint.h>

struct statfs {
  uint64_t f_type;
  uint64_t f_bsize;
  uint64_t f_blocks;
  uint64_t f_bfree;
  uint64_t f_bavail;
  uint64_t f_files;
  uint64_t f_ffree;
  int f_fsid[2];
  uint64_t f_namelen;
  uint64_t f_frsize;
  uint64_t f_flags;
  uint64_t f_spare[4];
};
static_assert(sizeof(struct statfs) == 120);

extern "C" int statfs(const char *path, struct statfs *status);

#endif
