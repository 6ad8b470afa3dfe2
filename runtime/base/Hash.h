// SPDX-License-Identifier: Apache-2.0
/// \file
/// XXH3 as the pack uses it. The scalar code of xxhash.h, inlined into one object.
#ifndef RUNTIME_BASE_HASH_H
#define RUNTIME_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

namespace moert {

/// XXH3-64 with seed 0.
uint64_t hash64(const void *data, size_t sizeBytes);

/// The same of a stream of pieces.
struct Hash64 {
  alignas(64) uint8_t state[640];

  void begin();
  void update(const void *data, size_t sizeBytes);
  uint64_t finish() const;
};

/// XXH3-128 with seed 0 of a stream of pieces; `finish` writes the low word, then the high word, little-endian.
struct Hash128 {
  alignas(64) uint8_t state[640];

  void begin();
  void update(const void *data, size_t sizeBytes);
  void finish(uint8_t (&digest)[16]);
};

} // namespace moert
#endif
