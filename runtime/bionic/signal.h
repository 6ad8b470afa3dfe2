// SPDX-License-Identifier: Apache-2.0
/// \file
/// Signals of bionic on 64-bit systems: `sa_flags` stands first and the mask has 8 bytes, unlike in glibc.
/// Source: bionic libc/include/bits/signal_types.h; numbers of libc/kernel/uapi/asm-generic/signal.h, signal-defs.h.
#ifndef RUNTIME_BIONIC_SIGNAL_H
#define RUNTIME_BIONIC_SIGNAL_H

#define SIGHUP 1
#define SIGINT 2
#define SIGPIPE 13
#define SIGTERM 15
#define SA_RESTART 0x10000000
#define SA_RESETHAND static_cast<int>(0x80000000u)

using sighandler_t = void (*)(int);
#define SIG_DFL reinterpret_cast<sighandler_t>(0)
#define SIG_IGN reinterpret_cast<sighandler_t>(1)

struct sigset_t {
  unsigned long sig[1];
};

struct sigaction {
  int sa_flags;
  union {
    sighandler_t sa_handler;
    void (*sa_sigaction)(int, struct siginfo *, void *);
  };
  sigset_t sa_mask;
  void (*sa_restorer)(void);
};

extern "C" {
int sigaction(int number, const struct sigaction *action, struct sigaction *old);
int raise(int number);
int sigemptyset(sigset_t *set);
}

#endif
