// SPDX-License-Identifier: Apache-2.0
/// \file
/// The texts of lib/Synth/configs/*.json: config.json of known public architectures, compiled into the library.
#ifndef LIB_SYNTH_BUILTINCONFIGS_H
#define LIB_SYNTH_BUILTINCONFIGS_H

#include "lib/Support/EmbeddedText.h"

namespace moec {

extern const EmbeddedText kBuiltInConfigs[];
extern const unsigned kNumBuiltInConfigs;

} // namespace moec

#endif
