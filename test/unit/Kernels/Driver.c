/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Runs one kernel under emulation: reads buffers and scalars from a file, calls, writes the buffers back. The file is
/// int64 values: number of buffers, number of scalars, four scalars, then each buffer as its size and bytes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ARGUMENTS = 16, SCALARS = 4, ALIGNMENT = 64 };

void kernel(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
            int64_t, int64_t, int64_t, int64_t);

static int64_t read_number(FILE *file) {
  int64_t value = 0;
  if (fread(&value, sizeof value, 1, file) != 1)
    exit(2);
  return value;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 1;
  FILE *input = fopen(argv[1], "rb"), *output = fopen(argv[2], "wb");
  if (!input || !output)
    return 1;
  int64_t buffers = read_number(input), scalars[SCALARS], a[MAX_ARGUMENTS] = {0}, sizes[MAX_ARGUMENTS];
  int64_t count = read_number(input);
  for (int i = 0; i < SCALARS; ++i)
    scalars[i] = read_number(input);
  for (int64_t i = 0; i < buffers; ++i) {
    sizes[i] = read_number(input);
    void *memory = aligned_alloc(ALIGNMENT, (size_t)(sizes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (!memory || fread(memory, 1, (size_t)sizes[i], input) != (size_t)sizes[i])
      return 2;
    a[i] = (int64_t)(intptr_t)memory;
  }
  for (int64_t i = 0; i < count; ++i)
    a[buffers + i] = scalars[i];
  kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
  for (int64_t i = 0; i < buffers; ++i)
    if (fwrite((void *)(intptr_t)a[i], 1, (size_t)sizes[i], output) != (size_t)sizes[i])
      return 3;
  return fclose(output);
}
