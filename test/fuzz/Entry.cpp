// SPDX-License-Identifier: Apache-2.0
/// \file
/// The entry point that libFuzzer calls; MOEC_FUZZ_TARGET is one function of Targets.h.
#include "test/fuzz/Targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  moec::fuzz::MOEC_FUZZ_TARGET({data, size});
  return 0;
}
