/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The tokenizer tables inside a compiled model: byte-level BPE as one relocatable little-endian blob. Written by
/// lib/Tokenizer at compile time, read by runtime/tokenizer. Every offset is from the start of the blob and a multiple
/// of four; the blob itself is 8-byte aligned. Main source: docs/architecture.md, "Tokenizer".
#ifndef MOERT_TOKENIZERBLOB_H
#define MOERT_TOKENIZERBLOB_H

#include "moert/ChatFormat.h"

#include <stdint.h>

#define MOETOK_MAGIC "MOETOKN1"
#define MOETOK_FORMAT_VERSION 2u
/// Longest token in bytes. The longest of the large public vocabularies are runs of 128 to 256 spaces.
#define MOETOK_MAX_TOKEN_BYTES 4096u

/// How text is cut into words before merging. The names are those of the model generations that brought the regex.
typedef enum moetok_pattern {
  MOETOK_PATTERN_QWEN2 = 1,  /* Qwen2, Qwen2.5, Qwen3 */
  MOETOK_PATTERN_QWEN35 = 2, /* Qwen3.5, Qwen3.6: a word may hold combining marks */
  MOETOK_PATTERN_LLAMA3 = 3, /* Qwen2's with up to three digits in a word */
  MOETOK_PATTERN_GPT2 = 4,   /* GPT-2, GPT-NeoX, OLMo: that of ByteLevel itself */
  MOETOK_PATTERN_SMOLLM = 5  /* SmolLM2, StarCoder: each digit by itself, GPT-2's between them */
} moetok_pattern;

enum {
  MOETOK_FLAG_NFC = 1u,        /* text between added tokens is normalized to NFC first */
  MOETOK_FLAG_WHOLE_WORDS = 2u /* a word that is a token as it stands is not merged together */
};

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
  uint32_t token_offsets;  /* uint32_t[num_tokens + 1], into the token bytes */
  uint32_t token_bytes;    /* the bytes of all tokens, by id */
  uint32_t merges;         /* moetok_merge[num_merges], by rank */
  uint32_t merge_slots;    /* uint32_t[num_merge_slots]: rank + 1, or 0 = empty; linear probing from moetok_hash */
  uint32_t byte_ids;       /* uint32_t[256]: the token of each single byte; MOETOK_NO_TOKEN: it is left out of text */
  uint32_t added_begin;    /* uint32_t[2][257]: added tokens whose first byte is b are [added_begin[t][b],
                              added_begin[t][b+1]); t = 1 for those that are looked for in normalized text */
  uint32_t added;          /* moetok_added[num_added]: by t, then first byte, then longest first, then bytes */
  uint32_t num_word_slots; /* power of two, more than the whole words; 0 without MOETOK_FLAG_WHOLE_WORDS */
  uint32_t word_slots;     /* uint32_t[num_word_slots]: id + 1, or 0 = empty; linear probing from moetok_hash_bytes */
  uint32_t num_prefix;     /* ids that are put before a text on request, such as <|begin_of_text|> */
  uint32_t num_suffix;     /* ids that are put behind it */
  uint32_t affixes;        /* uint32_t[num_prefix + num_suffix] */
  uint32_t chat;           /* moetok_chat */
} moetok_header;

#define MOETOK_NO_TOKEN 0xFFFFFFFFu

typedef struct moetok_merge {
  uint32_t left;
  uint32_t right;
  uint32_t result;
} moetok_merge;

enum {
  MOETOK_ADDED_SPECIAL = 1u,     /* plain text unless the caller allows special tokens */
  MOETOK_ADDED_NORMALIZED = 2u,  /* looked for in normalized text, after all others */
  MOETOK_ADDED_SINGLE_WORD = 4u, /* not where a word character stands before or behind */
  MOETOK_ADDED_LSTRIP = 8u,      /* takes white space before it */
  MOETOK_ADDED_RSTRIP = 16u      /* takes white space behind it */
};

typedef struct moetok_added {
  uint32_t id;
  uint32_t flags;
} moetok_added;

typedef struct moetok_text {
  uint32_t offset; /* of the blob */
  uint32_t size;
} moetok_text;

enum {
  MOETOK_CHAT_MISSING = 0u, /* the checkpoint has no template; texts[MOERT_CHAT_REASON] says so */
  MOETOK_CHAT_SUPPORTED = 1u,
  MOETOK_CHAT_REFUSED = 2u /* it has one that no format equals; texts[MOERT_CHAT_REASON] says why */
};

/// The chat format of the checkpoint's template.
typedef struct moetok_chat {
  uint32_t state;   /* MOETOK_CHAT_MISSING, ... */
  uint32_t flags;   /* MOERT_CHAT_TRIM, ... */
  uint32_t history; /* moert_chat_history */
  uint32_t stop_id; /* the token that ends a message; UINT32_MAX: none */
  moetok_text texts[MOERT_CHAT_NUM_TEXTS];
} moetok_chat;

/// First slot of the pair (left, right); `mask` is num_merge_slots - 1. Fibonacci hashing, upper half.
static inline uint32_t moetok_hash(uint32_t left, uint32_t right, uint32_t mask) {
  uint64_t key = ((uint64_t)left << 32) | right;
  key *= 0x9E3779B97F4A7C15u;
  key ^= key >> 29;
  key *= 0xBF58476D1CE4E5B9u;
  return (uint32_t)(key >> 32) & mask;
}

/// First slot of a word. FNV-1a, then as above.
static inline uint32_t moetok_hash_bytes(const uint8_t *bytes, uint32_t size, uint32_t mask) {
  uint32_t hash = 0x811C9DC5u;
  for (uint32_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x01000193u;
  return moetok_hash(hash, size, mask);
}

#ifdef __cplusplus
static_assert(sizeof(moetok_header) == 100 && sizeof(moetok_merge) == 12 && sizeof(moetok_added) == 8);
#endif
#endif
