// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory, numbers and paths.
/// Source: bionic libc/include/stdlib.h.
#ifndef RUNTIME_BIONIC_STDLIB_H
#define RUNTIME_BIONIC_STDLIB_H

#include <stddef.h>

extern "C" {
void *malloc(size_t sizeBytes); // named by xxhash.h, never called
void *realloc(void *block, size_t sizeBytes);
void free(void *block);
int posix_memalign(void **block, size_t alignment, size_t sizeBytes);
double strtod(const char *text, char **end);
long long strtoll(const char *text, char **end, int base);
unsigned long long strtoull(const char *text, char **end, int base);
char *realpath(const char *path, char *resolved);
}

#endif
