// SPDX-License-Identifier: Apache-2.0
/// \file
/// Threads of bionic on 64-bit systems. `pthread_attr_t` has 56 bytes there and 64 in glibc for arm64.
/// Source: bionic libc/include/bits/pthread_types.h and pthread.h.
#ifndef RUNTIME_BIONIC_PTHREAD_H
#define RUNTIME_BIONIC_PTHREAD_H

#include <stddef.h>
#include <stdint.h>

using pthread_t = long;

struct pthread_attr_t {
  uint32_t flags;
  void *stack_base;
  size_t stack_size;
  size_t guard_size;
  int32_t sched_policy;
  int32_t sched_priority;
  char reserved[16];
};
static_assert(sizeof(pthread_attr_t) == 56);

extern "C" {
int pthread_attr_init(pthread_attr_t *attributes);
int pthread_attr_destroy(pthread_attr_t *attributes);
int pthread_attr_setstack(pthread_attr_t *attributes, void *stack, size_t sizeBytes);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *), void *argument);
int pthread_join(pthread_t thread, void **result);
}

#endif
