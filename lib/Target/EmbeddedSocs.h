// SPDX-License-Identifier: Apache-2.0
/// \file
/// The texts of lib/Target/socs/*.json, compiled into the library so that the compiler needs no files of its own.
#ifndef LIB_TARGET_EMBEDDEDSOCS_H
#define LIB_TARGET_EMBEDDEDSOCS_H

namespace moec {

struct EmbeddedSoc {
  const char *name; ///< of the file, without `.json`
  const char *text;
};

extern const EmbeddedSoc kEmbeddedSocs[];
extern const unsigned kNumEmbeddedSocs;

} // namespace moec

#endif
