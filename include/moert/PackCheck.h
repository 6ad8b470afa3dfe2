/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Checks a pack as a model does when it opens it, up to the weights themselves. Compiled into programs, such as
/// moe-run; a compiled model offers no such function.
#ifndef MOERT_PACKCHECK_H
#define MOERT_PACKCHECK_H

#include "moert/Generated.h"
#include "moert/moert.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a right pack holds.
typedef struct moert_pack_check {
  uint64_t total_bytes;      /* of all parts */
  uint64_t first_part_bytes; /* from options.pack_offset on */
  uint32_t num_parts;
} moert_pack_check;

/// Files, header, parts and directory against the model's description. Of the options, those of the pack count.
moert_status moert_check_pack(const moert_model_descriptor *descriptor, const moert_open_options *options,
                              moert_pack_check *check, moert_error *error);

#ifdef __cplusplus
}
#endif
#endif
