// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops of the host that are compiled once for each level of x86-64 and chosen when the program starts. They use
/// plain IEEE operations and integers, so that every level gives the same bits.
#ifndef LIB_SUPPORT_CLONES_H
#define LIB_SUPPORT_CLONES_H

/// Before a function: one copy for each level. MOEC_INLINE: before the loops themselves, where a test runs them too.
#if defined(__x86_64__) && defined(__linux__)
#define MOEC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MOEC_CLONES
#endif
#define MOEC_INLINE inline __attribute__((always_inline))

#endif
