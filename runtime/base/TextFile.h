// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading what the kernel publishes as text in /proc and /sys.
#ifndef RUNTIME_BASE_TEXTFILE_H
#define RUNTIME_BASE_TEXTFILE_H

#include <stdint.h>

namespace moert {

/// Reads up to `capacity` - 1 bytes of a file and ends them with zero. False if there are none.
bool readTextFile(const char *path, char *text, unsigned capacity);
/// Reads digits and goes behind them; false without any, or beyond `most`.
bool readDigits(const char *&text, uint64_t most, uint64_t &value);

} // namespace moert
#endif
