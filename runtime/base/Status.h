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

/// What to do, at the end of a message; docs/debugging.md has each of them with what comes before.
inline constexpr char kWhenDamaged[] = "; copy the pack again (moe-pack verify names all that is damaged)";
inline constexpr char kWhenCut[] = "; it was cut short while it was open: copy the pack again and open it anew";
inline constexpr char kWhenUnreadable[] = "; try again, and check the storage if it stays";
inline constexpr char kWhenNoMemory[] = "; lower the budget or the context, or end other programs";
inline constexpr char kWhenNoThread[] = "; ask for fewer threads or raise the limit on threads";

/// `12345 bytes (12.1 KiB)`, for messages. `text` holds at least kSizeTextBytes.
inline constexpr unsigned kSizeTextBytes = 56;
const char *sizeText(uint64_t bytes, char *text);

const char *statusName(moert_status status);

} // namespace moert
#endif
