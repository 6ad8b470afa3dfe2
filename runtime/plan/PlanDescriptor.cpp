// SPDX-License-Identifier: Apache-2.0
/// \file
/// The plan of a descriptor that is not this library's own. Main source: include/moert/PlanDescriptor.h.
#include "moert/PlanDescriptor.h"

#include "runtime/plan/Plan.h"

extern "C" moert_status moert_plan_descriptor(const moert_model_descriptor *descriptor,
                                              const moert_open_options *options, uint64_t code_bytes,
                                              moert_plan_info *info, moert_error *error) {
  using namespace moert;
  if (moert_status status = checkDescriptor(*descriptor, error))
    return status;
  moert_open_options copy;
  Settings settings;
  if (moert_status status = resolveOptions(*descriptor, options, copy, settings, error))
    return status;
  settings.codeBytes = code_bytes;
  Plan plan;
  moert_status status = makePlan(*descriptor, settings, plan, error);
  *info = plan.info;
  return status;
}
