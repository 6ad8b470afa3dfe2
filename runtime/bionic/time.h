// SPDX-License-Identifier: Apache-2.0
/// \file
/// Clocks on 64-bit systems.
/// Source: bionic libc/include/time.h, bits/timespec.h; number of libc/kernel/uapi/linux/time.h.
#ifndef RUNTIME_BIONIC_TIME_H
#define RUNTIME_BIONIC_TIME_H

#define CLOCK_MONOTONIC 1

struct timespec {
  long tv_sec;
  long tv_nsec;
};

extern "C" int clock_gettime(int clock, timespec *now);

#endif
