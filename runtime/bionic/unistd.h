// SPDX-License-Identifier: Apache-2.0
/// \file
/// Processes and files by descriptor.
/// Source: bionic libc/include/unistd.h.
#ifndef RUNTIME_BIONIC_UNISTD_H
#define RUNTIME_BIONIC_UNISTD_H

#include <stddef.h>

#include <sys/types.h>

#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define X_OK 1

extern "C" {
int access(const char *path, int mode);
int close(int file);
pid_t getpid(void);
int isatty(int file);
ssize_t pread(int file, void *data, size_t sizeBytes, off_t offset);
ssize_t read(int file, void *data, size_t sizeBytes);
ssize_t readlink(const char *path, char *target, size_t capacity);
int unlink(const char *path);
ssize_t write(int file, const void *data, size_t sizeBytes);
}

#endif
