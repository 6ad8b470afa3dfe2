/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// The runtime's own plan for any descriptor, for programs that link the runtime archive: the compiler reports with it
/// exactly what the runtime will ask for. Not part of a model's exported API.
#ifndef MOERT_PLANDESCRIPTOR_H
#define MOERT_PLANDESCRIPTOR_H

#include "moert/Generated.h"
#include "moert/moert.h"

#ifdef __cplusplus
extern "C" {
#endif

/// As `moert_api::plan`, for `descriptor` in a `.so` that maps `code_bytes`. Opens nothing, allocates nothing.
/// Errors: as `moert_api::plan`; with MOERT_STATUS_BUDGET the plan is filled too.
moert_status moert_plan_descriptor(const moert_model_descriptor *descriptor, const moert_open_options *options,
                                   uint64_t code_bytes, moert_plan_info *info, moert_error *error);

#ifdef __cplusplus
}
#endif
#endif
