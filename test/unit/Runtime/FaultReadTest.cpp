// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each read of a whole run suffers each fault, once and from then on: an error that names the file, or the right
/// result.
#include "FaultRun.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

using namespace fake;

namespace {

/// What a run may end with, beside the right result.
bool mayEnd(ReadFault fault, moert_status status) {
  switch (fault) {
  case ReadFault::IoError:
    return status == MOERT_STATUS_IO;
  case ReadFault::Ends:
  case ReadFault::NotWritten:
  case ReadFault::Exchanged:
    return status == MOERT_STATUS_CORRUPT;
  case ReadFault::FlippedBit: // in the version of the header it looks like another version
    return status == MOERT_STATUS_CORRUPT || status == MOERT_STATUS_MISMATCH;
  default:
    return false;
  }
}

/// Runs once; returns whether a call failed.
bool runWith(FaultLayer &layer, ReadFault fault, uint64_t first, uint64_t count, const Setting &setting) {
  std::string path = packFor(setting);
  layer.reset();
  layer.injectReads(fault, first, count);
  std::string what = std::string(nameOf(fault)) + " at read " + std::to_string(first) + (count > 9 ? " and on" : "");
  FaultRun run(layer, setting, path, what);
  run.run();
  if (run.status == MOERT_STATUS_OK)
    return false;
  bool isEndless = (fault == ReadFault::Again || fault == ReadFault::Interrupted) && count == kAlways;
  EXPECT_TRUE(isEndless ? run.status == MOERT_STATUS_IO : mayEnd(fault, run.status))
      << what << ": " << run.status << ", " << run.message;
  EXPECT_NE(run.message.find(path), std::string::npos) << what << ": " << run.message;
  return true;
}

/// MOERT_FAULTS=N: every fault at every read, in setting N only; otherwise some of them in every setting.
std::string chosenSetting() {
  const char *value = getenv("MOERT_FAULTS");
  return value ? value : "";
}

TEST(FaultRead, EachReadSuffersEachFault) {
  FaultLayer layer;
  uint64_t numRuns = 0, numFailed[static_cast<size_t>(ReadFault::kCount)] = {};
  std::string chosen = chosenSetting();
  for (size_t s = 0; s < settings().size(); ++s) {
    if (!chosen.empty() && chosen != std::to_string(s))
      continue;
    const Setting &setting = settings()[s];
    EXPECT_FALSE(runWith(layer, ReadFault::None, 1, 0, setting));
    uint64_t total = layer.numReads;
    for (uint32_t f = 1; f < static_cast<uint32_t>(ReadFault::kCount); ++f)
      for (uint64_t at = 1; at <= total; ++at)
        for (uint64_t count : {uint64_t{1}, f % 2 ? uint64_t{3} : uint64_t{2}, kAlways})
          if (!chosen.empty() || (at * 7 + f * 3 + s + count % 5) % 61 == 0) {
            auto fault = static_cast<ReadFault>(f);
            if (count == kAlways && (fault == ReadFault::OneByte || fault == ReadFault::Slow))
              continue; // nothing but time
            numFailed[f] += runWith(layer, fault, at, count, setting);
            ++numRuns;
          }
  }
  printf("%llu runs\n", static_cast<unsigned long long>(numRuns));
  for (ReadFault fault : {ReadFault::IoError, ReadFault::Ends, ReadFault::NotWritten, ReadFault::FlippedBit})
    EXPECT_GT(numFailed[static_cast<size_t>(fault)], 10u) << nameOf(fault);
  for (ReadFault fault : {ReadFault::Half, ReadFault::OneByte, ReadFault::Slow})
    EXPECT_EQ(numFailed[static_cast<size_t>(fault)], 0u) << nameOf(fault);
}

} // namespace
