// SPDX-License-Identifier: Apache-2.0
/// \file
/// A file that has a temporary name until it is whole.
#ifndef TOOLS_MOE_RUN_OUTPUTFILE_H
#define TOOLS_MOE_RUN_OUTPUTFILE_H

#include "tools/moe-run/Message.h"

#include <stdio.h>

namespace moerun {

/// Without `finish` nothing is left behind.
class OutputFile {
public:
  OutputFile() = default;
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  ~OutputFile();

  /// `what` stands in messages ("the logits"). False after a message, as all that follow.
  bool open(const char *path, const char *what);
  bool write(const void *data, size_t sizeBytes) {
    return fwrite(data, 1, sizeBytes, file) == sizeBytes || fail("write");
  }
  /// Goes on writing at the begin.
  bool rewind() { return fseek(file, 0, SEEK_SET) == 0 || fail("write"); }
  bool finish();
  bool isOpen() const { return file != nullptr; }

private:
  bool fail(const char *action);

  FILE *file = nullptr;
  const char *path = nullptr;
  Array<char> temporaryPath;
};

} // namespace moerun
#endif
