// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages of moe-run.
#include "tools/moe-run/Message.h"

#include <stdarg.h>
#include <stdio.h>

namespace moerun {

static void printMessage(const char *format, va_list arguments) {
  fflush(stdout);
  fputs("error: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
}

bool printError(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printMessage(format, arguments);
  va_end(arguments);
  return false;
}

bool usageError(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printMessage(format, arguments);
  va_end(arguments);
  fputs("usage: moe-run OUT.so (--prompt TEXT | --prompt-file FILE | --ids 1,2,3 | --chat | --doctor | --bench) "
        "[flags]; --help explains them\n",
        stderr);
  return false;
}

} // namespace moerun
