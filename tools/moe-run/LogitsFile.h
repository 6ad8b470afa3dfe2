// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes logits row by row into a NumPy file. Main source: numpy.lib.format, version 1.0.
#ifndef TOOLS_MOE_RUN_LOGITSFILE_H
#define TOOLS_MOE_RUN_LOGITSFILE_H

#include "tools/moe-run/OutputFile.h"

#include <stdint.h>

namespace moerun {

/// float32 [rows, columns]. The number of rows is not known at the start, so the header is written again at the end.
class LogitsFile {
public:
  /// False after a message, as all that follow.
  bool open(const char *path, uint32_t numColumns);
  bool writeRow(const float *row);
  bool finish();
  bool isOpen() const { return file.isOpen(); }

private:
  bool writeHeader();

  OutputFile file;
  uint32_t numColumns = 0;
  uint64_t numRows = 0;
};

} // namespace moerun
#endif
