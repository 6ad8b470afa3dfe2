// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages and status names.
#include "runtime/base/Status.h"

#include <stdarg.h>
#include <stdio.h>

namespace moert {

moert_status fail(moert_error *error, moert_status status, const char *format, ...) {
  if (!error)
    return status;
  error->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof(error->message), format, arguments);
  va_end(arguments);
  return status;
}

static void formatInto(char *text, unsigned capacity, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void formatInto(char *text, unsigned capacity, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, capacity, format, arguments);
  va_end(arguments);
}

const char *sizeText(uint64_t bytes, char *text) {
  const char *unit = "KiB";
  unsigned shift = 10;
  if (bytes >= (1ull << 30)) {
    unit = "GiB";
    shift = 30;
  } else if (bytes >= (1ull << 20)) {
    unit = "MiB";
    shift = 20;
  }
  // Two decimals in integer arithmetic: no floating-point formatting on the error path.
  uint64_t whole = bytes >> shift;
  uint64_t hundredths = ((bytes & ((1ull << shift) - 1)) * 100) >> shift;
  formatInto(text, kSizeTextBytes, "%llu bytes (%llu.%02llu %s)", static_cast<unsigned long long>(bytes),
             static_cast<unsigned long long>(whole), static_cast<unsigned long long>(hundredths), unit);
  return text;
}

const char *statusName(moert_status status) {
  switch (status) {
  case MOERT_STATUS_OK:
    return "ok";
  case MOERT_STATUS_INVALID_ARGUMENT:
    return "invalid argument";
  case MOERT_STATUS_IO:
    return "io";
  case MOERT_STATUS_CORRUPT:
    return "corrupt";
  case MOERT_STATUS_MISMATCH:
    return "mismatch";
  case MOERT_STATUS_UNSUPPORTED:
    return "unsupported";
  case MOERT_STATUS_BUDGET:
    return "budget";
  case MOERT_STATUS_NO_MEMORY:
    return "no memory";
  case MOERT_STATUS_CONTEXT_FULL:
    return "context full";
  case MOERT_STATUS_CANCELLED:
    return "cancelled";
  case MOERT_STATUS_BUSY:
    return "busy";
  case MOERT_STATUS_INTERNAL:
    return "internal";
  }
  return "unknown";
}

} // namespace moert
