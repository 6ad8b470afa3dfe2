// SPDX-License-Identifier: Apache-2.0
/// \file
/// Comparison without case.
/// Source: bionic libc/include/strings.h.
#ifndef RUNTIME_BIONIC_STRINGS_H
#define RUNTIME_BIONIC_STRINGS_H

extern "C" int strcasecmp(const char *a, const char *b);

#endif
