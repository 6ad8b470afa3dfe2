// SPDX-License-Identifier: Apache-2.0
// Each constraint of moe.linear and moe.multi_linear has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.linear (C1)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<64x128xf32>) {
  // expected-error @+1 {{expects x [T, K], W [N, K] and y [T, N], but got}}
  %y = moe.linear %x, %w : tensor<?x256xf32>, tensor<64x128xf32> -> tensor<?x64xf32>
  return
}

// -----

// moe.linear (C2): a quantized weight and a plain activation
func.func @f(%x: tensor<?x256xf32>, %w: tensor<64x256xf32, #moe.q<scheme = i8, group = 32>>) {
  // expected-error @+1 {{expects an encoded activation with integer weights and only then, but got}}
  %y = moe.linear %x, %w : tensor<?x256xf32>, tensor<64x256xf32, #moe.q<scheme = i8, group = 32>> -> tensor<?x64xf32>
  return
}

// -----

// moe.linear (C2): different groups
func.func @f(%x: tensor<?x256xf32, #moe.act<group = 32>>, %w: tensor<64x256xf32, #moe.q<scheme = i8, group = 64>>) {
  // expected-error @+1 {{expects activation groups of 64 as in the weight, but got 32}}
  %y = moe.linear %x, %w : tensor<?x256xf32, #moe.act<group = 32>>, tensor<64x256xf32, #moe.q<scheme = i8, group = 64>> -> tensor<?x64xf32>
  return
}

// -----

// moe.linear (C3): bias
func.func @f(%x: tensor<?x256xf32>, %w: tensor<64x256xf32>, %b: tensor<32xf32>) {
  // expected-error @+1 {{expects a bias of 64 values, but got}}
  %y = moe.linear %x, %w bias(%b : tensor<32xf32>) : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return
}

// -----

// moe.linear (C3): residual
func.func @f(%x: tensor<?x256xf32>, %w: tensor<64x256xf32>, %r: tensor<?x32xf32>) {
  // expected-error @+1 {{expects a residual of type}}
  %y = moe.linear %x, %w residual(%r : tensor<?x32xf32>) : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return
}

// -----

// moe.multi_linear (C1)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<64x256xf32>) {
  // expected-error @+1 {{expects at least two weights and as many results, but got 1 and 1}}
  %y = moe.multi_linear %x, %w : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return
}

// -----

// moe.multi_linear (C2)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<64x256xf32>, %v: tensor<64x128xf32>) {
  // expected-error @+1 {{expects x [T, K], W [N, K] and y [T, N], but got}}
  %y, %z = moe.multi_linear %x, %w, %v : tensor<?x256xf32>, tensor<64x256xf32>, tensor<64x128xf32> -> tensor<?x64xf32>, tensor<?x64xf32>
  return
}

// -----

// moe.multi_linear (C3): a bias for one of two
func.func @f(%x: tensor<?x256xf32>, %w: tensor<64x256xf32>, %b: tensor<64xf32>) {
  // expected-error @+1 {{expects no bias or one for each of the 2 weights, but got 1}}
  %y, %z = moe.multi_linear %x, %w, %w biases(%b : tensor<64xf32>) : tensor<?x256xf32>, tensor<64x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>, tensor<?x64xf32>
  return
}

// -----

// moe.multi_linear (C3): size
func.func @f(%x: tensor<?x256xf32>, %w: tensor<64x256xf32>, %b: tensor<64xf32>, %c: tensor<32xf32>) {
  // expected-error @+1 {{expects a bias of 64 values, but got 'tensor<32xf32>'}}
  %y, %z = moe.multi_linear %x, %w, %w biases(%b, %c : tensor<64xf32>, tensor<32xf32>) : tensor<?x256xf32>, tensor<64x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>, tensor<?x64xf32>
  return
}
