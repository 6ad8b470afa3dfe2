// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compares what the generated code needs with what the CPU has. Runs first at open, in code for the baseline CPU.
#ifndef RUNTIME_API_FEATURES_H
#define RUNTIME_API_FEATURES_H

#include "moert/Generated.h"
#include "moert/moert.h"

namespace moert {

/// MOERT_FEATURE_* bits that this CPU and system have.
uint32_t cpuFeatures();
/// Name of one such bit.
const char *featureName(uint32_t bit);
/// MOERT_STATUS_UNSUPPORTED naming the first missing feature and the target.
moert_status checkFeatures(const moert_model_descriptor &descriptor, uint32_t available, moert_error *error);

} // namespace moert
#endif
