// SPDX-License-Identifier: Apache-2.0
// Options that the pass was not given come from the module, so that a stage resumes from its IR alone.
// RUN: %moe-opt %s --moe-assign-precision | FileCheck %s
// RUN: %moe-opt %s --moe-assign-precision="preset=int8" | FileCheck %s --check-prefix=GIVEN

module attributes {moe.options = {quant = "int4", group = "128"}} {
  // CHECK: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = i4, group = 128>>
  // GIVEN: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = i8, group = 128>>
  moe.weight @q : tensor<256x256xf32> role(attention_q) source(<dtype = "bf16", files = [0], offsets = [0]>)
}
