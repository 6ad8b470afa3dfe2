// SPDX-License-Identifier: Apache-2.0
// Convolutions, norms, decay, delta rule and gated norm of a layer become one op; a composition of other kinds, or one
// whose parts somebody else reads, is left.
// RUN: %moe-opt %s --pass-pipeline="builtin.module(func.func(moe-fuse-delta-step))" | FileCheck %s

!window = !moe.state<shape = [3, 32], elem = f32>
!values = !moe.state<shape = [3, 64], elem = f32>
!memory = !moe.state<shape = [4, 16, 16], elem = f32>

// CHECK-LABEL: @whole
// CHECK-SAME: %[[Q:[^ ]+]]: tensor<?x32xf32>, %[[K:[^ ]+]]: tensor<?x32xf32>, %[[V:[^ ]+]]: tensor<?x64xf32>
// CHECK-SAME: %[[Z:[^ ]+]]: tensor<?x64xf32>, %[[A:[^ ]+]]: tensor<?x4xf32>, %[[B:[^ ]+]]: tensor<?x4xf32>
func.func @whole(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %v: tensor<?x64xf32>, %z: tensor<?x64xf32>,
    %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !window, %k0: !window, %v0: !values,
    %s0: !memory) -> (tensor<?x64xf32>, !window, !window, !values, !memory) {
  // CHECK-NEXT: %[[Y:.*]], %[[Q1:.*]], %[[K1:.*]], %[[V1:.*]], %[[S1:.*]] = moe.delta_step
  // CHECK-SAME: %[[Q]], %[[K]], %[[V]], %[[Z]], %[[A]], %[[B]] conv(
  // CHECK-SAME: eps = 9.99999997E-7 : f32
  // CHECK-SAME: head_map = #moe.head_map<tiled>
  // CHECK-SAME: kind = #moe.activation<silu>
  // CHECK-SAME: l2_eps = 9.99999974E-6 : f32
  // CHECK-SAME: scale = 2.500000e-01 : f32
  %cq, %q1 = moe.causal_conv1d %q, %wq, %q0 {kind = #moe.activation<silu>}
    : tensor<?x32xf32>, tensor<32x4xf32>, !window
  %ck, %k1 = moe.causal_conv1d %k, %wk, %k0 {kind = #moe.activation<silu>}
    : tensor<?x32xf32>, tensor<32x4xf32>, !window
  %cv, %v1 = moe.causal_conv1d %v, %wv, %v0 {kind = #moe.activation<silu>}
    : tensor<?x64xf32>, tensor<64x4xf32>, !values
  %nq = moe.l2_norm %cq {block = 16, eps = 1.0e-5 : f32} : tensor<?x32xf32>
  %nk = moe.l2_norm %ck {block = 16, eps = 1.0e-5 : f32} : tensor<?x32xf32>
  %g = moe.decay %a, %log, %bias : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
  %beta = moe.activation %b {kind = #moe.activation<sigmoid>} : tensor<?x4xf32>
  %o, %s1 = moe.delta_rule %nq, %nk, %cv, %g, %beta, %s0 {scale = 0.25 : f32, head_map = #moe.head_map<tiled>}
    : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !memory
  %y = moe.gated_norm %o, %z, %w {eps = 1.0e-6 : f32, kind = #moe.activation<silu>} : tensor<?x64xf32>, tensor<16xf32>
  // CHECK-NEXT: return %[[Y]], %[[Q1]], %[[K1]], %[[V1]], %[[S1]]
  return %y, %q1, %k1, %v1, %s1 : tensor<?x64xf32>, !window, !window, !values, !memory
}

// The norm of one half of a key head is another function.
// CHECK-LABEL: @other_block
// CHECK-NOT: moe.delta_step
func.func @other_block(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %v: tensor<?x64xf32>, %z: tensor<?x64xf32>,
    %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !window, %k0: !window, %v0: !values,
    %s0: !memory) -> (tensor<?x64xf32>, !window, !window, !values, !memory) {
  %cq, %q1 = moe.causal_conv1d %q, %wq, %q0 {kind = #moe.activation<silu>}
    : tensor<?x32xf32>, tensor<32x4xf32>, !window
  %ck, %k1 = moe.causal_conv1d %k, %wk, %k0 {kind = #moe.activation<silu>}
    : tensor<?x32xf32>, tensor<32x4xf32>, !window
  %cv, %v1 = moe.causal_conv1d %v, %wv, %v0 {kind = #moe.activation<silu>}
    : tensor<?x64xf32>, tensor<64x4xf32>, !values
  %nq = moe.l2_norm %cq {block = 8, eps = 1.0e-6 : f32} : tensor<?x32xf32>
  %nk = moe.l2_norm %ck {block = 8, eps = 1.0e-6 : f32} : tensor<?x32xf32>
  %g = moe.decay %a, %log, %bias : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
  %beta = moe.activation %b {kind = #moe.activation<sigmoid>} : tensor<?x4xf32>
  %o, %s1 = moe.delta_rule %nq, %nk, %cv, %g, %beta, %s0 {scale = 0.25 : f32}
    : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !memory
  %y = moe.gated_norm %o, %z, %w {eps = 1.0e-6 : f32, kind = #moe.activation<silu>} : tensor<?x64xf32>, tensor<16xf32>
  return %y, %q1, %k1, %v1, %s1 : tensor<?x64xf32>, !window, !window, !values, !memory
}

// Somebody else reads the convolved values.
// CHECK-LABEL: @others_read
// CHECK-NOT: moe.delta_step
func.func @others_read(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %v: tensor<?x64xf32>, %z: tensor<?x64xf32>,
    %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !window, %k0: !window, %v0: !values,
    %s0: !memory) -> (tensor<?x64xf32>, tensor<?x64xf32>, !window, !window, !values, !memory) {
  %cq, %q1 = moe.causal_conv1d %q, %wq, %q0 {kind = #moe.activation<silu>}
    : tensor<?x32xf32>, tensor<32x4xf32>, !window
  %ck, %k1 = moe.causal_conv1d %k, %wk, %k0 {kind = #moe.activation<silu>}
    : tensor<?x32xf32>, tensor<32x4xf32>, !window
  %cv, %v1 = moe.causal_conv1d %v, %wv, %v0 {kind = #moe.activation<silu>}
    : tensor<?x64xf32>, tensor<64x4xf32>, !values
  %nq = moe.l2_norm %cq {block = 16, eps = 1.0e-6 : f32} : tensor<?x32xf32>
  %nk = moe.l2_norm %ck {block = 16, eps = 1.0e-6 : f32} : tensor<?x32xf32>
  %g = moe.decay %a, %log, %bias : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
  %beta = moe.activation %b {kind = #moe.activation<sigmoid>} : tensor<?x4xf32>
  %o, %s1 = moe.delta_rule %nq, %nk, %cv, %g, %beta, %s0 {scale = 0.25 : f32}
    : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !memory
  %y = moe.gated_norm %o, %z, %w {eps = 1.0e-6 : f32, kind = #moe.activation<silu>} : tensor<?x64xf32>, tensor<16xf32>
  return %y, %cv, %q1, %k1, %v1, %s1 : tensor<?x64xf32>, tensor<?x64xf32>, !window, !window, !values, !memory
}
