// SPDX-License-Identifier: Apache-2.0
/// \file
/// Memory and strings. The macros keep small copies inline, which `-ffreestanding` would turn into calls.
/// Source: bionic libc/include/string.h.
#ifndef RUNTIME_BIONIC_STRING_H
#define RUNTIME_BIONIC_STRING_H

#include <stddef.h>

extern "C" {
void *memcpy(void *to, const void *from, size_t sizeBytes);
void *memmove(void *to, const void *from, size_t sizeBytes);
void *memset(void *to, int value, size_t sizeBytes);
int memcmp(const void *a, const void *b, size_t sizeBytes);
size_t strlen(const char *text);
void *memrchr(const void *data, int byte, size_t sizeBytes);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t count);
char *strchr(const char *text, int character);
char *strrchr(const char *text, int character);
char *strstr(const char *text, const char *part);
char *strpbrk(const char *text, const char *characters);
size_t strspn(const char *text, const char *characters);
char *strerror(int error);
}

#define memcpy(to, from, sizeBytes) __builtin_memcpy(to, from, sizeBytes)
#define memmove(to, from, sizeBytes) __builtin_memmove(to, from, sizeBytes)
#define memset(to, value, sizeBytes) __builtin_memset(to, value, sizeBytes)
#define memcmp(a, b, sizeBytes) __builtin_memcmp(a, b, sizeBytes)
#define strlen(text) __builtin_strlen(text)

#endif
