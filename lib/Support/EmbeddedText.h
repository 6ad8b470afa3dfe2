// SPDX-License-Identifier: Apache-2.0
/// \file
/// A data file compiled into a library, so that the compiler needs no files of its own (cmake/MoecEmbed.cmake).
#ifndef LIB_SUPPORT_EMBEDDEDTEXT_H
#define LIB_SUPPORT_EMBEDDEDTEXT_H

namespace moec {

struct EmbeddedText {
  const char *name; ///< of the file, without `.json`
  const char *text;
};

} // namespace moec

#endif
