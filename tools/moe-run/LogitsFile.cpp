// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes logits row by row into a NumPy file.
#include "tools/moe-run/LogitsFile.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

namespace moerun {

/// A multiple of 64, as the format asks for, with room for any number of rows.
static constexpr size_t kHeaderBytes = 128;

LogitsFile::~LogitsFile() {
  if (!file)
    return;
  fclose(file);
  unlink(temporaryPath.data());
}

bool LogitsFile::fail(const char *action) { return printError("cannot %s %s: %s", action, path, strerror(errno)); }

bool LogitsFile::open(const char *filePath, uint32_t columns) {
  path = filePath;
  numColumns = columns;
  // The final rename would take the place of a device or a pipe for good.
  struct stat status;
  if (*path == '\0' || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
    return printError("cannot write the logits to '%s': expected a file or a free name, found %s", path,
                      *path ? "a folder, a device or a pipe" : "no name");
  char suffix[32];
  int length = snprintf(suffix, sizeof(suffix), ".%ld.tmp", static_cast<long>(getpid()));
  if (!temporaryPath.append(path, strlen(path)) || !temporaryPath.append(suffix, static_cast<size_t>(length) + 1))
    return printError("out of memory");
  file = fopen(temporaryPath.data(), "wb");
  return file ? writeHeader() : fail("create");
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
  return fwrite(header, kHeaderBytes, 1, file) == 1 || fail("write");
}

bool LogitsFile::writeRow(const float *row) {
  ++numRows;
  return fwrite(row, sizeof(float), numColumns, file) == numColumns || fail("write");
}

bool LogitsFile::finish() {
  if (fseek(file, 0, SEEK_SET) != 0)
    return fail("write");
  if (!writeHeader())
    return false;
  FILE *closing = file;
  file = nullptr;
  if (fclose(closing) != 0 || rename(temporaryPath.data(), path) != 0) {
    fail("write");
    unlink(temporaryPath.data());
    return false;
  }
  return true;
}

} // namespace moerun
