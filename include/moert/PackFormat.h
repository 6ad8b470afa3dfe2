/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The weight pack on disk (`.moepack`): header, directory, tensor table, then records. Little-endian. A record is what
/// is read at once: the resident tensors, one expert, or a table of rows. Offsets are in the concatenation of all
/// parts. Main source: docs/pack-format.md.
#ifndef MOERT_PACKFORMAT_H
#define MOERT_PACKFORMAT_H

#include <stdint.h>

#define MOEPACK_MAGIC "MOEPACK1"
#define MOEPACK_FORMAT_VERSION 3u
/// Expert records start at multiples of this and are padded to it: page size of new Android kernels; O_DIRECT-safe.
#define MOEPACK_PAGE_BYTES 16384u
/// Resident tensors start at multiples of this inside the resident segment (cache line).
#define MOEPACK_TENSOR_ALIGN 64u

typedef enum moepack_layout_family {
  MOEPACK_FAMILY_ARM64 = 1, /* 8-row tiles, 16 bytes = 2 rows (4 bits: 4) x 8 k; NEON, dotprod, i8mm */
  MOEPACK_FAMILY_X86 = 2    /* 16-row tiles, 64 bytes = 16 rows x 4 k, codes with offset; AVX2, VNNI */
} moepack_layout_family;

typedef enum moepack_record_kind {
  MOEPACK_RECORD_RESIDENT = 1, /* one resident tensor */
  MOEPACK_RECORD_EXPERT = 2,   /* gate | up | down of one expert */
  MOEPACK_RECORD_ROWS = 3      /* a table read by rows; 8 bytes of moepack_row_checksum behind each row */
} moepack_record_kind;

/// At offset 0, padded with zeros to MOEPACK_PAGE_BYTES.
typedef struct moepack_header {
  char magic[8];
  uint32_t format_version;
  uint32_t abi_version;   /* MOERT_GENERATED_ABI_VERSION of the writer */
  uint32_t layout_family; /* moepack_layout_family */
  uint32_t page_bytes;
  uint64_t total_bytes;      /* of all parts */
  uint64_t directory_offset; /* = MOEPACK_PAGE_BYTES */
  uint64_t num_records;
  uint64_t tensor_table_offset; /* behind the directory; text, see docs/pack-format.md */
  uint64_t tensor_table_bytes;
  uint64_t resident_offset; /* start of the resident segment; resident records lie in it without gaps but alignment */
  uint64_t resident_bytes;
  uint64_t part_bytes; /* largest size of a part, 0 = one part */
  uint32_t num_parts;
  uint32_t reserved;
  uint64_t part_table_offset; /* num_parts x moepack_part */
  uint8_t plan_id[16];        /* what the weights should be: hash of names, shapes, encodings, offsets, sources */
  uint8_t weights_id[16];     /* what they are: XXH3-128 of the directory */
  uint64_t header_checksum;   /* XXH3-64 of the bytes before this field */
} moepack_header;

typedef struct moepack_record {
  uint32_t kind;      /* moepack_record_kind */
  int32_t layer;      /* -1 = none */
  int32_t expert;     /* -1 = none */
  uint32_t part;      /* index of the part that holds the record */
  uint64_t offset;    /* in the concatenation of all parts */
  uint64_t bytes;     /* payload; an expert record is padded with zeros to a multiple of the page size, included here */
  uint64_t row_bytes; /* RECORD_ROWS: payload of a row, without its checksum; else 0 */
  uint64_t checksum;  /* XXH3-64 of `bytes` bytes at `offset` */
} moepack_record;

/// Part i covers [start, start + bytes). Part 0 is OUT.moepack, part i is OUT.moepack.i. The hash of part 0 leaves out
/// the header, directory and tables (they hold it).
typedef struct moepack_part {
  uint64_t start;
  uint64_t bytes;
  uint8_t hash[16]; /* XXH3-128 */
} moepack_part;

/// What stands behind row `row` of a table whose payload has the XXH3-64 `hash`. Row and plan take part, so that a row
/// of another pack, or of another place, is not taken for the one that was asked for.
static inline uint64_t moepack_row_checksum(uint64_t hash, const uint8_t plan_id[16], uint64_t row) {
  uint64_t plan = 0;
  for (int i = 7; i >= 0; --i)
    plan = plan << 8 | plan_id[i];
  return hash ^ (plan + row);
}

#ifdef __cplusplus
static_assert(sizeof(moepack_header) == 144 && sizeof(moepack_record) == 48 && sizeof(moepack_part) == 32);
#endif
#endif
