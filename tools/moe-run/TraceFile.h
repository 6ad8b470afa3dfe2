// SPDX-License-Identifier: Apache-2.0
/// \file
/// --trace: what the routers chose, as include/moert/RoutingTrace.h lays it out.
#ifndef TOOLS_MOE_RUN_TRACEFILE_H
#define TOOLS_MOE_RUN_TRACEFILE_H

#include "moert/RoutingTrace.h"
#include "moert/moert.h"
#include "tools/moe-run/OutputFile.h"

namespace moerun {

class TraceFile {
public:
  /// Has the model that is about to be opened report to this file. False after a message, as all that follow.
  bool open(const char *path, moert_open_options &options);
  /// Once the model is open.
  bool begin(const moert_model_info &info, const moert_plan_info &plan);
  /// Writes the counters and gives the file its name.
  bool finish(const moert_statistics &statistics);
  bool isOpen() const { return file.isOpen(); }

private:
  static void onRouting(void *user, const moert_routing *routing);
  bool append(const moert_routing &routing);

  OutputFile file;
  moert_trace_header header = {};
  Array<int16_t> ids;
  bool failed = false; // after a message
};

} // namespace moerun
#endif
