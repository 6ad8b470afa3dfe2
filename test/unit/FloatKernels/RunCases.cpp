// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs every case against the kernels it is linked with, or with an argument those that depend on integer dot
/// products; prints `name digest` lines; fails if a byte differs.
#include "test/unit/FloatKernels/Runner.h"

int main(int argc, char **) {
  if (argc > 1) {
    runAttentionCases();
    return Runner::numFailures == 0 ? 0 : 1;
  }
  runRowCases();
  runGateCases();
  runRouterCases();
  runRopeCases();
  runAttentionCases();
  runDeltaCases();
  return Runner::numFailures == 0 ? 0 : 1;
}
