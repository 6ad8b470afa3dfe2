// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sizes as people write them. KB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB of 1024.
#ifndef LIB_SUPPORT_SIZES_H
#define LIB_SUPPORT_SIZES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace moec {

/// Reads "10.5GB", "1 MiB" or "123" (bytes). Exact decimal arithmetic; a part of a byte is dropped.
///
/// Errors: negative, no number, unknown unit, a fraction of bytes, 2^64 or more; the message lists the valid forms.
llvm::Expected<uint64_t> parseSize(llvm::StringRef text);

/// "11.2 GiB", "640.0 KiB" or "12 bytes".
std::string formatSize(uint64_t sizeBytes);

/// "12025908429 bytes (11.2 GiB)".
std::string formatSizeExact(uint64_t sizeBytes);

} // namespace moec
#endif
