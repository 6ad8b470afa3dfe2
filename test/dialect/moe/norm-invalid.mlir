// SPDX-License-Identifier: Apache-2.0
// Each constraint of the norms and of the activation quantization has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.rms_norm (C1)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<256xf32>) {
  // expected-error @+1 {{failed to verify that all of {x, y} have same type}}
  %y = "moe.rms_norm"(%x, %w) {eps = 1.0e-6 : f32} : (tensor<?x256xf32>, tensor<256xf32>) -> tensor<?x128xf32>
  return
}

// -----

// moe.rms_norm (C2)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<100xf32>) {
  // expected-error @+1 {{expects a weight whose length divides the 256 columns, but got 100}}
  %y = moe.rms_norm %x, %w {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<100xf32>
  return
}

// -----

// moe.rms_norm (C3)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<256xf32>) {
  // expected-error @+1 {{expects a positive finite eps, but got}}
  %y = moe.rms_norm %x, %w {eps = 0.0 : f32} : tensor<?x256xf32>, tensor<256xf32>
  return
}

// -----

// moe.quantize_act (C1)
func.func @f(%x: tensor<?x256xf32>) {
  // expected-error @+1 {{expects a #moe.act result of the operand's shape, but got}}
  %q = moe.quantize_act %x : tensor<?x256xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.norm_quantize (C1)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<32xf32>) {
  // expected-error @+1 {{expects a weight of 256 values}}
  %y, %q = moe.norm_quantize %x, %w {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<32xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
  return
}

// -----

// moe.norm_quantize (C2)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<256xf32>) {
  // expected-error @+1 {{expects a #moe.act result of the operand's shape, but got}}
  %y, %q = moe.norm_quantize %x, %w {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.norm_quantize (C3)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<256xf32>) {
  // expected-error @+1 {{expects a positive finite eps, but got}}
  %y, %q = moe.norm_quantize %x, %w {eps = -1.0 : f32} : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
  return
}
