// SPDX-License-Identifier: Apache-2.0
// Each constraint of moe.predict_experts has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.predict_experts (C1): several tokens
func.func @f(%x: tensor<?x256xf32>, %n: tensor<256xf32>, %w: tensor<16x256xf32>) {
  // expected-error @+1 {{expects x [1, H] in f32, a norm [H] and W [E, H] in f32 or f16, but got 'tensor<?x256xf32>'}}
  moe.predict_experts %x norm(%n) router(%w) {layer = 1, k = 4, eps = 1.0e-6 : f32}
    : tensor<?x256xf32>, tensor<256xf32>, tensor<16x256xf32>
  return
}

// -----

// moe.predict_experts (C1): another norm
func.func @f(%x: tensor<1x256xf32>, %n: tensor<128xf32>, %w: tensor<16x256xf32>) {
  // expected-error @+1 {{expects x [1, H] in f32, a norm [H] and W [E, H] in f32 or f16, but got}}
  moe.predict_experts %x norm(%n) router(%w) {layer = 1, k = 4, eps = 1.0e-6 : f32}
    : tensor<1x256xf32>, tensor<128xf32>, tensor<16x256xf32>
  return
}

// -----

// moe.predict_experts (C1): integer codes
!w = tensor<16x256xf32, #moe.q<scheme = i8, group = 32>>
func.func @f(%x: tensor<1x256xf32>, %n: tensor<256xf32>, %w: !w) {
  // expected-error @+1 {{expects x [1, H] in f32, a norm [H] and W [E, H] in f32 or f16, but got}}
  moe.predict_experts %x norm(%n) router(%w) {layer = 1, k = 4, eps = 1.0e-6 : f32}
    : tensor<1x256xf32>, tensor<256xf32>, !w
  return
}

// -----

// moe.predict_experts (C2)
func.func @f(%x: tensor<1x256xf32>, %n: tensor<256xf32>, %w: tensor<16x256xf32>) {
  // expected-error @+1 {{expects 1 to 16 experts per token, but got 17}}
  moe.predict_experts %x norm(%n) router(%w) {layer = 1, k = 17, eps = 1.0e-6 : f32}
    : tensor<1x256xf32>, tensor<256xf32>, tensor<16x256xf32>
  return
}

// -----

// moe.predict_experts (C3): layer
func.func @f(%x: tensor<1x256xf32>, %n: tensor<256xf32>, %w: tensor<16x256xf32>) {
  // expected-error @+1 {{expects a layer from 0, but got -1}}
  moe.predict_experts %x norm(%n) router(%w) {layer = -1, k = 4, eps = 1.0e-6 : f32}
    : tensor<1x256xf32>, tensor<256xf32>, tensor<16x256xf32>
  return
}

// -----

// moe.predict_experts (C3): eps
func.func @f(%x: tensor<1x256xf32>, %n: tensor<256xf32>, %w: tensor<16x256xf32>) {
  // expected-error @+1 {{expects a positive finite eps, but got 0}}
  moe.predict_experts %x norm(%n) router(%w) {layer = 1, k = 4, eps = 0.0 : f32}
    : tensor<1x256xf32>, tensor<256xf32>, tensor<16x256xf32>
  return
}
