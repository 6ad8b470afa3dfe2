// SPDX-License-Identifier: Apache-2.0
/// \file
/// The dynamic linker of bionic on 64-bit systems, as far as moe-run uses it.
/// Values: bionic libc/include/dlfcn.h.
#ifndef RUNTIME_BIONIC_DLFCN_H
#define RUNTIME_BIONIC_DLFCN_H

#define RTLD_LOCAL 0
#define RTLD_NOW 2

extern "C" {
void *dlopen(const char *path, int flags);
void *dlsym(void *library, const char *name);
char *dlerror(void);
}

#endif
