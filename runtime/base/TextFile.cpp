// SPDX-License-Identifier: Apache-2.0
/// \file
/// Small files and numbers.
#include "runtime/base/TextFile.h"

#include "runtime/base/Platform.h"

namespace moert {

bool readTextFile(const char *path, char *text, unsigned capacity) {
  int fd = openFile(path, false);
  if (fd < 0)
    return false;
  int64_t bytes = readOnce(fd, text, capacity - 1, 0);
  closeFile(fd);
  text[bytes > 0 ? bytes : 0] = '\0';
  return bytes > 0;
}

bool readDigits(const char *&text, uint64_t most, uint64_t &value) {
  if (*text < '0' || *text > '9')
    return false;
  for (value = 0; *text >= '0' && *text <= '9'; ++text) {
    auto digit = static_cast<uint64_t>(*text - '0');
    if (value > (UINT64_MAX - digit) / 10)
      return false;
    value = value * 10 + digit;
    if (value > most)
      return false;
  }
  return true;
}

} // namespace moert
