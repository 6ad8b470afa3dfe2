// SPDX-License-Identifier: Apache-2.0
/// \file
/// Each request for memory, a lock or a thread is refused in turn, by the ledger and by the system.
#include "FaultRun.h"

#include "runtime/api/Model.h"

#include <gtest/gtest.h>

#include <string>

using namespace fake;

namespace {

void expectRefusal(const FaultRun &run, const std::string &what) {
  if (run.status == MOERT_STATUS_OK)
    return;
  EXPECT_EQ(run.status, MOERT_STATUS_NO_MEMORY) << what << ": " << run.message;
  bool says = false;
  for (const char *text : {"no memory", "the system refused", "did not take back"})
    says |= run.message.find(text) != std::string::npos;
  EXPECT_TRUE(says) << what << ": " << run.message;
}

TEST(FaultMemory, EachRequestToTheSystemIsRefused) {
  FaultLayer layer;
  for (const Setting &setting : settings()) {
    std::string path = packFor(setting);
    layer.reset();
    FaultRun(layer, setting, path, "no fault").run();
    uint64_t totals[kNumRequests];
    for (size_t k = 0; k < kNumRequests; ++k)
      totals[k] = layer.numAsked[k];
    for (size_t k = 0; k < static_cast<size_t>(moert::SystemRequest::Release); ++k) {
      auto kind = static_cast<moert::SystemRequest>(k);
      uint64_t numFailed = 0;
      for (uint64_t at = 1; at <= totals[k]; ++at)
        for (uint64_t count : {uint64_t{1}, kAlways}) {
          layer.reset();
          layer.refuse(kind, at, count);
          std::string what = std::string(nameOf(kind)) + " " + std::to_string(at) + (count > 1 ? " and on" : "");
          FaultRun run(layer, setting, path, what);
          run.run();
          expectRefusal(run, what);
          numFailed += run.status != MOERT_STATUS_OK;
          if (kind == moert::SystemRequest::Thread) {
            EXPECT_NE(run.message.find("thread"), std::string::npos) << run.message;
          }
        }
      // A lock is a wish, and checkpoints of the state are a means: all others are needed.
      EXPECT_EQ(numFailed == 0, kind == moert::SystemRequest::Lock || totals[k] == 0) << nameOf(kind);
    }
  }
}

TEST(FaultMemory, EachRequestToTheLedgerFails) {
  FaultLayer layer;
  for (const Setting &setting : settings()) {
    std::string path = packFor(setting);
    uint64_t numFailed = 0, numInjected = 1;
    for (uint64_t n = 1; numInjected && n < 1000; ++n) {
      layer.reset();
      layer.failRequest(n);
      FaultRun run(layer, setting, path, "request " + std::to_string(n));
      run.run();
      expectRefusal(run, "request " + std::to_string(n));
      numFailed += run.status != MOERT_STATUS_OK;
      numInjected = n < 40;
    }
    EXPECT_GT(numFailed, 10u);
  }
}

} // namespace
