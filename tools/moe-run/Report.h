// SPDX-License-Identifier: Apache-2.0
/// \file
/// What moe-run tells after a run: one JSON object on stdout, or counters on stderr.
#ifndef TOOLS_MOE_RUN_REPORT_H
#define TOOLS_MOE_RUN_REPORT_H

#include "moert/moert.h"
#include "tools/moe-run/GuessTable.h"
#include "tools/moe-run/Message.h"
#include "tools/moe-run/Slow.h"

namespace moerun {

struct RunResult {
  Array<int32_t> promptIds;
  Array<int32_t> ids;
  Array<char> text;
  moert_generate_result generated = {};
  moert_plan_info plan = {};
  moert_statistics statistics = {};
  SlowCauses slow = {};
  uint64_t baselineBytes = 0;
  uint64_t peakBytes = 0;
};

/// False if stdout refuses.
bool printJson(const RunResult &result, const Array<GuessTable::Layer> &guesses);
/// On stderr, if the system refused to lock memory.
void warnUnlocked(const moert_statistics &statistics);
void printCounters(const RunResult &result);
/// A JSON string with its quotes. UTF-8 stays as it is; quotes, backslashes and control characters are escaped.
void printJsonText(const char *text, size_t sizeBytes);
const char *finishName(moert_finish_reason reason);

} // namespace moerun
#endif
