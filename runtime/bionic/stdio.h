// SPDX-License-Identifier: Apache-2.0
/// \file
/// Standard input and output. A stream is opaque; bionic has the variables `stdout` and `stderr` since API 23.
/// Source: bionic libc/include/stdio.h.
#ifndef RUNTIME_BIONIC_STDIO_H
#define RUNTIME_BIONIC_STDIO_H

#include <stdarg.h>
#include <stddef.h>

struct FILE;
#define SEEK_SET 0
#define EOF (-1)

extern "C" {
extern FILE *stdout, *stderr;
FILE *fopen(const char *path, const char *mode);
int fclose(FILE *file);
int fflush(FILE *file);
int ferror(FILE *file);
int fileno(FILE *file);
int fseek(FILE *file, long offset, int origin);
size_t fread(void *data, size_t size, size_t count, FILE *file);
size_t fwrite(const void *data, size_t size, size_t count, FILE *file);
int fputc(int character, FILE *file);
int fputs(const char *text, FILE *file);
int putchar(int character);
int rename(const char *from, const char *to);
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
int vfprintf(FILE *file, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
int snprintf(char *text, size_t capacity, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *text, size_t capacity, const char *format, va_list arguments) __attribute__((format(printf, 3, 0)));
}

#endif
