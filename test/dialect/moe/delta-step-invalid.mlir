// SPDX-License-Identifier: Apache-2.0
// Each constraint of moe.delta_step has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_step (C1): encoding
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x32xf32, #moe.act<group = 32>>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects activations without encoding, but got}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x32xf32, #moe.act<group = 32>>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_step (C1): convolution
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x3xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects an f32 state of shape [2, 32], but got}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x3xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [2, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_step (C1): lengths
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x3xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects convolutions of one length and encoding, but got}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 8], elem = f32>
// moe.delta_step (C2): heads
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects values with 32 columns, but got 'tensor<?x64xf32>'}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_step (C2): b
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x4xf32>, %b: tensor<?x2xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects b with 4 columns, but got 'tensor<?x2xf32>'}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x2xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_step (C2): a
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x2xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects a with 4 or 64 columns, but got 'tensor<?x2xf32>'}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x2xf32>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_step (C3): decay
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<2xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects a dt_bias of 4 values, but got 'tensor<2xf32>'}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_step (C3): norm
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<8xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects a norm of 16 values, but got 'tensor<8xf32>'}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
// moe.delta_step (C4)
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects a positive finite l2_eps, but got}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 0.0 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  return
}

// -----

!sq = !moe.state<shape = [3, 32], elem = f32>
!sv = !moe.state<shape = [3, 64], elem = f32>
!s = !moe.state<shape = [4, 16, 16], elem = f32>
func.func private @use(!sv)
// moe.delta_step (C5)
func.func @f(%q: tensor<?x32xf32>, %v: tensor<?x64xf32>, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !sq, %k0: !sq, %v0: !sv, %s0: !s) {
  // expected-error @+1 {{expects the state to be used once, but it has 2 uses}}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %q, %v, %v, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w) states(%q0, %k0, %v0, %s0)
    {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
    tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !sq, !sq, !sv, !s
  func.call @use(%v0) : (!sv) -> ()
  return
}
