// SPDX-License-Identifier: Apache-2.0
// Each constraint of the causal convolution, the decay and the delta rule has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

!window = !moe.state<shape = [3, 64], elem = f32>
// moe.causal_conv1d (C1): encoding
func.func @f(%x: tensor<?x64xf32, #moe.act<group = 32>>, %w: tensor<64x4xf32>, %s: !window) {
  // expected-error @+1 {{expects activations without encoding, but got}}
  %y, %t = moe.causal_conv1d %x, %w, %s : tensor<?x64xf32, #moe.act<group = 32>>, tensor<64x4xf32>, !window
  return
}

// -----

!window = !moe.state<shape = [3, 64], elem = f32>
// moe.causal_conv1d (C1): channels
func.func @f(%x: tensor<?x64xf32>, %w: tensor<32x4xf32>, %s: !window) {
  // expected-error @+1 {{expects a weight of f32 or f16 [64, K] with K of at least 2, but got 'tensor<32x4xf32>'}}
  %y, %t = moe.causal_conv1d %x, %w, %s : tensor<?x64xf32>, tensor<32x4xf32>, !window
  return
}

// -----

!window = !moe.state<shape = [1, 64], elem = f32>
// moe.causal_conv1d (C1): length
func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x1xf32>, %s: !window) {
  // expected-error @+1 {{expects a weight of f32 or f16 [64, K] with K of at least 2, but got 'tensor<64x1xf32>'}}
  %y, %t = moe.causal_conv1d %x, %w, %s : tensor<?x64xf32>, tensor<64x1xf32>, !window
  return
}

// -----

!window = !moe.state<shape = [4, 64], elem = f32>
// moe.causal_conv1d (C2)
func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x4xf32>, %s: !window) {
  // expected-error @+1 {{expects an f32 state of shape [3, 64], but got}}
  %y, %t = moe.causal_conv1d %x, %w, %s : tensor<?x64xf32>, tensor<64x4xf32>, !window
  return
}

// -----

!window = !moe.state<shape = [3, 64], elem = f32>
func.func private @use(!window)
// moe.causal_conv1d (C3)
func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x4xf32>, %s: !window) {
  // expected-error @+1 {{expects the state to be used once, but it has 2 uses}}
  %y, %t = moe.causal_conv1d %x, %w, %s : tensor<?x64xf32>, tensor<64x4xf32>, !window
  func.call @use(%s) : (!window) -> ()
  return
}

// -----

// moe.decay (C1): encoding
func.func @f(%a: tensor<?x32xf32, #moe.act<group = 32>>, %log: tensor<4xf32>, %bias: tensor<32xf32>) {
  // expected-error @+1 {{expects activations without encoding, but got}}
  %g = moe.decay %a, %log, %bias : tensor<?x32xf32, #moe.act<group = 32>>, tensor<4xf32>, tensor<32xf32>
  return
}

// -----

// moe.decay (C1): heads
func.func @f(%a: tensor<?x4xf32>, %log: tensor<3xf32>, %bias: tensor<4xf32>) {
  // expected-error @+1 {{expects an A_log whose length divides the 4 columns, but got 'tensor<3xf32>'}}
  %g = moe.decay %a, %log, %bias : tensor<?x4xf32>, tensor<3xf32>, tensor<4xf32>
  return
}

// -----

// moe.decay (C2)
func.func @f(%a: tensor<?x64xf32>, %log: tensor<4xf32>, %bias: tensor<4xf32>) {
  // expected-error @+1 {{expects a dt_bias of 64 values, but got 'tensor<4xf32>'}}
  %g = moe.decay %a, %log, %bias : tensor<?x64xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

!memory = !moe.state<shape = [4, 64], elem = f32>
// moe.delta_rule (C1): rank
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %g: tensor<?x4xf32>, %s: !memory) {
  // expected-error @+1 {{expects an f32 state of shape [Hv, Dk, Dv], but got}}
  %o, %t = moe.delta_rule %q, %q, %v, %g, %g, %s {scale = 0.25 : f32} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !memory
  return
}

// -----

!memory = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_rule (C1): values
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x60xf32>, %g: tensor<?x4xf32>, %s: !memory) {
  // expected-error @+1 {{expects values with 64 columns, but got 'tensor<?x60xf32>'}}
  %o, %t = moe.delta_rule %q, %q, %v, %g, %g, %s {scale = 0.25 : f32} : tensor<?x32xf32>, tensor<?x60xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !memory
  return
}

// -----

!memory = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_rule (C1): three key heads for four value heads
func.func @f(%q: tensor<?x48xf32>, %v: tensor<?x64xf32>, %g: tensor<?x4xf32>, %s: !memory) {
  // expected-error @+1 {{expects queries and keys in heads of 16, as many as divide the 4 value heads, but got 'tensor<?x48xf32>'}}
  %o, %t = moe.delta_rule %q, %q, %v, %g, %g, %s {scale = 0.25 : f32} : tensor<?x48xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !memory
  return
}

// -----

!memory = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_rule (C1): rows
func.func @f(%q: tensor<2x32xf32>, %v: tensor<3x64xf32>, %g: tensor<2x4xf32>, %s: !memory) {
  // expected-error @+1 {{expects as many rows as in 'tensor<2x32xf32>', but got 'tensor<3x64xf32>'}}
  %o, %t = moe.delta_rule %q, %q, %v, %g, %g, %s {scale = 0.25 : f32} : tensor<2x32xf32>, tensor<3x64xf32>, tensor<2x4xf32>, tensor<2x4xf32>, !memory
  return
}

// -----

!memory = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_rule (C2): beta
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %g: tensor<?x4xf32>, %b: tensor<?x64xf32>, %s: !memory) {
  // expected-error @+1 {{expects beta with 4 columns, but got 'tensor<?x64xf32>'}}
  %o, %t = moe.delta_rule %q, %q, %v, %g, %b, %s {scale = 0.25 : f32} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x64xf32>, !memory
  return
}

// -----

!memory = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_rule (C2): g
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %g: tensor<?x16xf32>, %b: tensor<?x4xf32>, %s: !memory) {
  // expected-error @+1 {{expects g with 4 or 64 columns, but got 'tensor<?x16xf32>'}}
  %o, %t = moe.delta_rule %q, %q, %v, %g, %b, %s {scale = 0.25 : f32} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<?x4xf32>, !memory
  return
}

// -----

!memory = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_rule (C3)
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %g: tensor<?x4xf32>, %s: !memory) {
  // expected-error @+1 {{expects a positive finite scale, but got}}
  %o, %t = moe.delta_rule %q, %q, %v, %g, %g, %s {scale = 0.0 : f32} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !memory
  return
}

// -----

!memory = !moe.state<shape = [4, 16, 16], elem = f32>
func.func private @use(!memory)
// moe.delta_rule (C4)
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %g: tensor<?x4xf32>, %s: !memory) {
  // expected-error @+1 {{expects the state to be used once, but it has 2 uses}}
  %o, %t = moe.delta_rule %q, %q, %v, %g, %g, %s {scale = 0.25 : f32} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !memory
  func.call @use(%s) : (!memory) -> ()
  return
}
