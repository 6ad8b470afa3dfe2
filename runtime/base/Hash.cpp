// SPDX-License-Identifier: Apache-2.0
/// \file
/// The only place that includes xxhash.h.
#include "runtime/base/Hash.h"

// Every byte of an expert goes through here: the loops are worth the vectors that -O3 makes of them (clang does so at
// -O2; measured on x86-64, GCC 12, a record of 2.5 MiB: 12.5 GB/s without, 21.4 with).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define XXH_INLINE_ALL
#define XXH_VECTOR 0 /* XXH_SCALAR: no SIMD intrinsics in the runtime */
#include <xxhash.h>

namespace moert {

static_assert(sizeof(XXH3_state_t) <= sizeof(Hash128::state) && alignof(XXH3_state_t) <= 64);

static_assert(sizeof(XXH3_state_t) <= sizeof(Hash64::state));

template <typename Hash> static XXH3_state_t *stateOf(Hash &hash) {
  return reinterpret_cast<XXH3_state_t *>(hash.state);
}

uint64_t hash64(const void *data, size_t sizeBytes) { return XXH3_64bits(data, sizeBytes); }

void Hash64::begin() {
  memset(state, 0, sizeof(state));
  XXH3_64bits_reset(stateOf(*this));
}

void Hash64::update(const void *data, size_t sizeBytes) { XXH3_64bits_update(stateOf(*this), data, sizeBytes); }

uint64_t Hash64::finish() const { return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t *>(state)); }

void Hash128::begin() {
  memset(state, 0, sizeof(state));
  XXH3_128bits_reset(stateOf(*this));
}

void Hash128::update(const void *data, size_t sizeBytes) { XXH3_128bits_update(stateOf(*this), data, sizeBytes); }

void Hash128::finish(uint8_t (&digest)[16]) {
  XXH128_hash_t hash = XXH3_128bits_digest(stateOf(*this));
  memcpy(digest, &hash.low64, 8);
  memcpy(digest + 8, &hash.high64, 8);
}

} // namespace moert
