// SPDX-License-Identifier: Apache-2.0
/// \file
/// Types of 64-bit bionic.
/// Source: bionic libc/include/sys/types.h.
#ifndef RUNTIME_BIONIC_SYS_TYPES_H
#define RUNTIME_BIONIC_SYS_TYPES_H

using off_t = long;
using ssize_t = long;
using pid_t = int;

#endif
