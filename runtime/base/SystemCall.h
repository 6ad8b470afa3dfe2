// SPDX-License-Identifier: Apache-2.0
/// \file
/// Raw Linux system calls: the answer is the result or `-errno`. Needed because `errno` is reached by different symbols
/// in glibc (`__errno_location`) and bionic (`__errno`).
#ifndef RUNTIME_BASE_SYSTEMCALL_H
#define RUNTIME_BASE_SYSTEMCALL_H

#if !defined(__linux__)
#error "the runtime knows Linux and Android only"
#endif

namespace moert {

#if defined(__x86_64__)
enum : long {
  kSysFstat = 5,
  kSysPread = 17,
  kSysClose = 3,
  kSysOpenAt = 257,
  kSysFadvise = 221,
  kSysFutex = 202,
  kSysMlock = 149,
  kSysMunlock = 150,
  kSysPrlimit = 302,
  kSysSchedYield = 24,
  kSysGetRusage = 98,
  kSysGetTid = 186,
  kSysGetCpu = 309,
  kSysSchedSetAffinity = 203,
  kSysSchedGetAffinity = 204
};
inline constexpr int kOpenDirect = 040000;
/// Where the mode stands in the struct that kSysFstat fills.
inline constexpr unsigned kStatModeOffset = 24;

inline long systemCall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
enum : long {
  kSysFstat = 80,
  kSysPread = 67,
  kSysClose = 57,
  kSysOpenAt = 56,
  kSysFadvise = 223,
  kSysFutex = 98,
  kSysMlock = 228,
  kSysMunlock = 229,
  kSysPrlimit = 261,
  kSysSchedYield = 124,
  kSysGetRusage = 165,
  kSysGetTid = 178,
  kSysGetCpu = 168,
  kSysSchedSetAffinity = 122,
  kSysSchedGetAffinity = 123
};
inline constexpr int kOpenDirect = 0200000;
/// Where the mode stands in the struct that kSysFstat fills.
inline constexpr unsigned kStatModeOffset = 16;

inline long systemCall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
#else
#error "the runtime knows x86-64 and aarch64 only"
#endif

} // namespace moert
#endif
