// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the runtime reports failure: a status and a message in the caller's `moert_error`. Nothing is printed.
#ifndef RUNTIME_BASE_STATUS_H
#define RUNTIME_BASE_STATUS_H

#include "moert/moert.h"

namespace moert {

/// Fills `error` (may be null) with a printf-like message and returns `status`.
moert_status fail(moert_error *error, moert_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// `12345 bytes (12.1 KiB)`, for messages. `text` holds at least kSizeTextBytes.
inline constexpr unsigned kSizeTextBytes = 56;
const char *sizeText(uint64_t bytes, char *text);

const char *statusName(moert_status status);

} // namespace moert
#endif
