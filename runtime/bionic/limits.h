// SPDX-License-Identifier: Apache-2.0
/// \file
/// The compiler's limits and the longest path.
/// Value: bionic libc/kernel/uapi/linux/limits.h.
#ifndef RUNTIME_BIONIC_LIMITS_H
#define RUNTIME_BIONIC_LIMITS_H

#include_next <limits.h>

#define PATH_MAX 4096

#endif
