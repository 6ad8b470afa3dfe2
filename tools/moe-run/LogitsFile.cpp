// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes logits row by row into a NumPy file.
#include "tools/moe-run/LogitsFile.h"

#include <stdio.h>

namespace moerun {

/// A multiple of 64, as the format asks for, with room for any number of rows.
static constexpr size_t kHeaderBytes = 128;

bool LogitsFile::open(const char *path, uint32_t columns) {
  numColumns = columns;
  return file.open(path, "the logits") && writeHeader();
}

bool LogitsFile::writeHeader() {
  char header[kHeaderBytes + 1];
  memset(header, ' ', sizeof(header));
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = static_cast<char>(kHeaderBytes - 10);
  header[9] = 0;
  int length =
      snprintf(header + 10, kHeaderBytes - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (%llu, %u), }",
               static_cast<unsigned long long>(numRows), numColumns);
  header[10 + length] = ' ';
  header[kHeaderBytes - 1] = '\n';
  return file.write(header, kHeaderBytes);
}

bool LogitsFile::writeRow(const float *row) {
  ++numRows;
  return file.write(row, sizeof(float) * numColumns);
}

bool LogitsFile::finish() { return file.rewind() && writeHeader() && file.finish(); }

} // namespace moerun
