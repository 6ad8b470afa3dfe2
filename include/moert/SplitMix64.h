/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// SplitMix64: random numbers that are the same on every machine, for prompts of benchmarks and synthetic routing.
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
#ifndef MOERT_SPLITMIX64_H
#define MOERT_SPLITMIX64_H

#include <stdint.h>

/// The next of 2^64 numbers; `state` begins with any seed. Needs one thread for each state.
static inline uint64_t moert_split_mix_64(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

#endif
