/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// A `libc.so` for tests: lets the very files that moec writes for Android run on glibc under emulation. Functions
/// whose structures differ are translated; everything else falls through to glibc, which this library depends on. It
/// shows that code and symbols are right, not how a phone's loader takes them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found)
    abort();
  return found;
}

int *__errno(void) { return &errno; }

/* The argument block: argc, argv, null, environment, null. */
void __libc_init(void *arguments, void (*on_exit)(void), int (*main)(int, char **, char **), const void *structors) {
  uintptr_t *words = arguments;
  int argc = (int)words[0];
  char **argv = (char **)(words + 1);
  (void)on_exit;
  if (((void *const *)structors)[2])
    abort(); /* functions to be run at exit are not supported here */
  exit(main(argc, argv, argv + argc + 1));
}

/* 56 bytes; glibc's has 64, so nothing of it may be written there. */
struct bionic_attr {
  uint32_t flags;
  void *stack_base;
  size_t stack_size;
  size_t guard_size;
  int32_t sched_policy;
  int32_t sched_priority;
  char reserved[16];
};
_Static_assert(sizeof(struct bionic_attr) == 56, "as in bionic");

int bionic_attr_init(struct bionic_attr *attr) __asm__("pthread_attr_init");
int bionic_attr_init(struct bionic_attr *attr) {
  memset(attr, 0, sizeof(*attr));
  attr->guard_size = 4096;
  return 0;
}

int bionic_attr_destroy(struct bionic_attr *attr) __asm__("pthread_attr_destroy");
int bionic_attr_destroy(struct bionic_attr *attr) {
  memset(attr, 0x42, sizeof(*attr)); /* as bionic does: a use after it must not work */
  return 0;
}

int bionic_attr_setstack(struct bionic_attr *attr, void *stack, size_t size) __asm__("pthread_attr_setstack");
int bionic_attr_setstack(struct bionic_attr *attr, void *stack, size_t size) {
  if (size % 4096 || size < 16384 || (uintptr_t)stack % 4096)
    return EINVAL;
  attr->stack_base = stack;
  attr->stack_size = size;
  return 0;
}

int bionic_create(long *thread, const struct bionic_attr *attr, void *(*main)(void *),
                  void *argument) __asm__("pthread_create");
int bionic_create(long *thread, const struct bionic_attr *attr, void *(*main)(void *), void *argument) {
  int (*initialize)(pthread_attr_t *) = next("pthread_attr_init");
  int (*set_stack)(pthread_attr_t *, void *, size_t) = next("pthread_attr_setstack");
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = next("pthread_create");
  pthread_attr_t own;
  initialize(&own);
  if (attr && attr->stack_base && set_stack(&own, attr->stack_base, attr->stack_size))
    return EINVAL;
  pthread_t handle;
  int status = create(&handle, &own, main, argument);
  if (!status)
    *thread = (long)handle;
  return status;
}

struct bionic_sigaction {
  int flags;
  void (*handler)(int);
  uint64_t mask;
  void (*restorer)(void);
};

int bionic_sigemptyset(uint64_t *set) __asm__("sigemptyset");
int bionic_sigemptyset(uint64_t *set) {
  *set = 0;
  return 0;
}

int bionic_sigaction(int number, const struct bionic_sigaction *action,
                     struct bionic_sigaction *old) __asm__("sigaction");
int bionic_sigaction(int number, const struct bionic_sigaction *action, struct bionic_sigaction *old) {
  int (*set)(int, const struct sigaction *, struct sigaction *) = next("sigaction");
  if (action && action->mask)
    abort(); /* not used */
  struct sigaction own, previous;
  memset(&own, 0, sizeof(own));
  if (action) {
    own.sa_handler = action->handler;
    own.sa_flags = action->flags;
  }
  int result = set(number, action ? &own : 0, &previous);
  if (old) {
    memset(old, 0, sizeof(*old));
    old->flags = previous.sa_flags;
    old->handler = previous.sa_handler;
  }
  return result;
}
