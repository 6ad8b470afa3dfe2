// SPDX-License-Identifier: Apache-2.0
// Weights can be placed only for a known layout family and in an encoding that has a layout.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-place-weights

// expected-error @+1 {{expects moe.target with a family of arm64 or x86}}
module {
}

// -----

module attributes {moe.target = {family = "arm64"}} {
  // expected-error @+1 {{expects a scheme f16, i8, i6 or i4, but got e4m3}}
  moe.weight @w : tensor<64x256xf32, #moe.q<scheme = e4m3, group = 32>> role(attention_k) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

module attributes {moe.target = {family = "arm64"}} {
  // expected-error @+1 {{'w' expects a vector to stay f32, but got #moe.q<scheme = f16, group = 0>}}
  moe.weight @w : tensor<256xf32, #moe.q<scheme = f16, group = 0>> role(norm) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
}
