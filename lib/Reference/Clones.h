// SPDX-License-Identifier: Apache-2.0
/// \file
/// Marks loops that are compiled twice on x86, once for machines with the instructions. Both give the same bits:
/// std::fma is a call without the instruction, and integer sums are exact.
#ifndef LIB_REFERENCE_CLONES_H
#define LIB_REFERENCE_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define REFERENCE_FMA_CLONES __attribute__((target_clones("default", "fma")))
#define REFERENCE_AVX2_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define REFERENCE_FMA_CLONES
#define REFERENCE_AVX2_CLONES
#endif

#endif
