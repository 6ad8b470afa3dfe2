// SPDX-License-Identifier: Apache-2.0
// Each constraint of moe.weight, moe.param and moe.embed has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.weight (C1)
// expected-error @+1 {{expects a ranked f32 tensor of static shape and rank 1 to 3, but got}}
moe.weight @w : tensor<?x256xf32> role(attention_k) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)

// -----

// moe.weight (C2)
// expected-error @+1 {{expects a source whose number of pieces divides the 64 indices of the first axis, but got 3 pieces for}}
moe.weight @w : tensor<64x256xf32> role(attention_k) layer(0) source(<dtype = "bf16", files = [0, 0, 0], offsets = [0, 8, 16]>)

// -----

// moe.weight (C3)
// expected-error @+1 {{expects a group that divides the last dimension 96, but got 64}}
moe.weight @w : tensor<64x96xf32, #moe.q<scheme = i4, group = 64>> role(attention_k) source(<dtype = "bf16", files = [0], offsets = [0]>)

// -----

// moe.weight (C4)
// expected-error @+1 {{expects the encoding that holds the codes of bf16 for the recipe verbatim, but got}}
moe.weight @w : tensor<64x96xf32, #moe.q<scheme = i4, group = 32>> role(attention_k) source(<dtype = "bf16", files = [0], offsets = [0]>) recipe(<method = "verbatim">)

// -----

// moe.weight (C4)
// expected-error @+1 {{expects the encoding that holds the codes of q4_1 for the recipe verbatim, but got}}
moe.weight @w : tensor<64x96xf32, #moe.q<scheme = i4, group = 32>> role(attention_k) source(<dtype = "q4_1", files = [0], offsets = [0]>) recipe(<method = "verbatim">)

// -----

// moe.param (C1)
func.func @f() {
  // expected-error @+1 {{expects the name of a moe.weight, but got}}
  %w = moe.param @absent : tensor<64x256xf32>
  return
}

// -----

// moe.param (C2)
moe.weight @w : tensor<64x256xf32> role(attention_k) source(<dtype = "bf16", files = [0], offsets = [0]>)
func.func @f() {
  // expected-error @+1 {{expects the weight's type}}
  %w = moe.param @w : tensor<32x256xf32>
  return
}

// -----

// moe.embed (C1)
func.func @f(%tokens: tensor<?xi32>, %w: tensor<2048x256xf32>) {
  // expected-error @+1 {{expects a result with one row a token and the table's 256 columns, but got}}
  %x = moe.embed %tokens, %w : tensor<?xi32>, tensor<2048x256xf32> -> tensor<?x128xf32>
  return
}
