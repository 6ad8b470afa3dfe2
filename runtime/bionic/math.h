// SPDX-License-Identifier: Apache-2.0
/// \file
/// What moe-run needs of mathematics; both become instructions, so nothing is linked.
#ifndef RUNTIME_BIONIC_MATH_H
#define RUNTIME_BIONIC_MATH_H

#define isfinite(value) __builtin_isfinite(value)
inline double sqrt(double value) { return __builtin_sqrt(value); }

#endif
