// SPDX-License-Identifier: Apache-2.0
/// \file
/// A file that has a temporary name until it is whole.
#include "tools/moe-run/OutputFile.h"

#include "tools/moe-run/Interrupt.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

namespace moerun {

OutputFile::~OutputFile() {
  if (!file)
    return;
  fclose(file);
  unlink(temporaryPath.data());
  forgetTemporary(temporaryPath.data());
}

bool OutputFile::fail(const char *action) { return printError("cannot %s %s: %s", action, path, strerror(errno)); }

bool OutputFile::open(const char *filePath, const char *what) {
  path = filePath;
  // The final rename would take the place of a device or a pipe for good.
  struct stat status;
  if (*path == '\0' || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
    return printError("cannot write %s to '%s': expected a file or a free name, found %s", what, path,
                      *path ? "a folder, a device or a pipe" : "no name");
  char suffix[32];
  int length = snprintf(suffix, sizeof(suffix), ".%ld.tmp", static_cast<long>(getpid()));
  if (!temporaryPath.append(path, strlen(path)) || !temporaryPath.append(suffix, static_cast<size_t>(length) + 1))
    return printError("out of memory");
  removeWhenEnded(temporaryPath.data());
  file = fopen(temporaryPath.data(), "wb");
  if (file)
    return true;
  int openErrno = errno;
  forgetTemporary(temporaryPath.data());
  errno = openErrno;
  return fail("create");
}

bool OutputFile::finish() {
  FILE *closing = file;
  file = nullptr;
  bool isWhole = fclose(closing) == 0 && rename(temporaryPath.data(), path) == 0;
  if (!isWhole) {
    fail("write");
    unlink(temporaryPath.data());
  }
  forgetTemporary(temporaryPath.data());
  return isWhole;
}

} // namespace moerun
