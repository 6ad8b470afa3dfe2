// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs every case against the kernels it is linked with; prints `name digest` lines; fails if a byte differs.
#include "test/unit/FloatKernels/Runner.h"

int main() {
  runRowCases();
  runGateCases();
  runRouterCases();
  runRopeCases();
  runAttentionCases();
  runDeltaCases();
  return Runner::numFailures == 0 ? 0 : 1;
}
