// SPDX-License-Identifier: Apache-2.0
/// \file
/// The texts of lib/Target/socs/*.json, compiled into the library so that the compiler needs no files of its own.
#ifndef LIB_TARGET_EMBEDDEDSOCS_H
#define LIB_TARGET_EMBEDDEDSOCS_H

#include "lib/Support/EmbeddedText.h"

namespace moec {

extern const EmbeddedText kEmbeddedSocs[];
extern const unsigned kNumEmbeddedSocs;

} // namespace moec

#endif
