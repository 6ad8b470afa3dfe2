/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The tokenizer tables inside a compiled model: byte-level BPE as one relocatable little-endian blob. Written by
/// lib/Tokenizer at compile time, read by runtime/tokenizer. Every offset is from the start of the blob and a multiple
/// of four; the blob itself is 8-byte aligned. Main source: docs/architecture.md, "Tokenizer".
#ifndef MOERT_TOKENIZERBLOB_H
#define MOERT_TOKENIZERBLOB_H

#include <stdint.h>

#define MOETOK_MAGIC "MOETOKN1"
#define MOETOK_FORMAT_VERSION 1u
/// Longest token in bytes. The longest of the large public vocabularies are runs of 128 to 256 spaces.
#define MOETOK_MAX_TOKEN_BYTES 4096u

/// How text is cut into words before merging. The names are those of the model generations that brought the regex.
typedef enum moetok_pattern {
  MOETOK_PATTERN_QWEN2 = 1, /* Qwen2, Qwen2.5, Qwen3 */
  MOETOK_PATTERN_QWEN35 = 2 /* Qwen3.5, Qwen3.6: a word may hold combining marks */
} moetok_pattern;

enum { MOETOK_FLAG_NFC = 1u /* text between added tokens is normalized to NFC first */ };

typedef struct moetok_header {
  char magic[8];
  uint32_t format_version;
  uint32_t flags;
  uint32_t pattern;         /* moetok_pattern */
  uint32_t vocab_size;      /* of the model, padding included */
  uint32_t num_tokens;      /* ids below this have bytes; the rest is padding and stands for no bytes */
  uint32_t num_merges;      /* the index of a merge is its rank */
  uint32_t num_merge_slots; /* power of two, > num_merges */
  uint32_t num_added;
  uint32_t max_token_bytes;
  uint32_t total_bytes;
  uint32_t token_offsets; /* uint32_t[num_tokens + 1], into the token bytes */
  uint32_t token_bytes;   /* the bytes of all tokens, by id */
  uint32_t merges;        /* moetok_merge[num_merges], by rank */
  uint32_t merge_slots;   /* uint32_t[num_merge_slots]: rank + 1, or 0 = empty; linear probing from moetok_hash */
  uint32_t byte_ids;      /* uint32_t[256]: the token of each single byte */
  uint32_t added_begin;   /* uint32_t[257]: added tokens whose first byte is b are [added_begin[b], added_begin[b+1]) */
  uint32_t added;         /* moetok_added[num_added]: by first byte, then longest first, then bytes */
  uint32_t reserved;
} moetok_header;

typedef struct moetok_merge {
  uint32_t left;
  uint32_t right;
  uint32_t result;
} moetok_merge;

enum { MOETOK_ADDED_SPECIAL = 1u /* plain text unless the caller allows special tokens */ };

typedef struct moetok_added {
  uint32_t id;
  uint32_t flags;
} moetok_added;

/// First slot of the pair (left, right); `mask` is num_merge_slots - 1. Fibonacci hashing, upper half.
static inline uint32_t moetok_hash(uint32_t left, uint32_t right, uint32_t mask) {
  uint64_t key = ((uint64_t)left << 32) | right;
  key *= 0x9E3779B97F4A7C15u;
  key ^= key >> 29;
  key *= 0xBF58476D1CE4E5B9u;
  return (uint32_t)(key >> 32) & mask;
}

#ifdef __cplusplus
static_assert(sizeof(moetok_header) == 80 && sizeof(moetok_merge) == 12 && sizeof(moetok_added) == 8);
#endif
#endif
