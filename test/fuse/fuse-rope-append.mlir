// SPDX-License-Identifier: Apache-2.0
// Head norms, rotation and append of one attention become one step; differing rotary parameters are left.
// Norms over all heads stay before it, also where k has one head only and its norm looks like a head norm.
// RUN: %moe-opt %s --pass-pipeline="builtin.module(func.func(moe-fuse-rope-append))" | FileCheck %s

!cache = !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>

// CHECK-LABEL: @fused
func.func @fused(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %qn: tensor<32xf32>,
    %kn: tensor<32xf32>, %c: !cache, %p: index) -> (tensor<?x256xf32>, !cache) {
  // CHECK: %[[R:.*]], %[[C:.*]] = moe.rope_append {{.*}} norms(
  // CHECK-NOT: moe.rope{{ }}
  // CHECK-NOT: moe.cache_append
  // CHECK: moe.attention %[[R]], %[[C]]
  %nq = moe.rms_norm %q, %qn {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<32xf32>
  %nk = moe.rms_norm %k, %kn {eps = 1.0e-6 : f32} : tensor<?x64xf32>, tensor<32xf32>
  %rq = moe.rope %nq, %p {head_dim = 32, dim = 32, theta = 1.0e4 : f64} : tensor<?x256xf32>
  %rk = moe.rope %nk, %p {head_dim = 32, dim = 32, theta = 1.0e4 : f64} : tensor<?x64xf32>
  %d = moe.cache_append %c, %rk, %v, %p : !cache, tensor<?x64xf32>, tensor<?x64xf32>
  %o, %e = moe.attention %rq, %d, %p {heads = 8, scale = 0.17 : f32} : tensor<?x256xf32>, !cache -> tensor<?x256xf32>
  return %o, %e : tensor<?x256xf32>, !cache
}

// CHECK-LABEL: @other_theta
func.func @other_theta(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %c: !cache, %p: index)
    -> (tensor<?x256xf32>, !cache) {
  // CHECK-NOT: moe.rope_append
  // CHECK: moe.cache_append
  %rq = moe.rope %q, %p {head_dim = 32, dim = 32, theta = 1.0e4 : f64} : tensor<?x256xf32>
  %rk = moe.rope %k, %p {head_dim = 32, dim = 32, theta = 1.0e6 : f64} : tensor<?x64xf32>
  %d = moe.cache_append %c, %rk, %v, %p : !cache, tensor<?x64xf32>, tensor<?x64xf32>
  %o, %e = moe.attention %rq, %d, %p {heads = 8, scale = 0.17 : f32} : tensor<?x256xf32>, !cache -> tensor<?x256xf32>
  return %o, %e : tensor<?x256xf32>, !cache
}

!one = !moe.cache<kv_heads = 1, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>

// CHECK-LABEL: @full_width
func.func @full_width(%q: tensor<?x64xf32>, %k: tensor<?x32xf32>, %v: tensor<?x32xf32>, %qn: tensor<64xf32>,
    %kn: tensor<32xf32>, %c: !one, %p: index) -> (tensor<?x64xf32>, !one) {
  // CHECK: %[[Q:.*]] = moe.rms_norm
  // CHECK: %[[K:.*]] = moe.rms_norm
  // CHECK: moe.rope_append %[[Q]], %[[K]]
  // CHECK-NOT: norms(
  %nq = moe.rms_norm %q, %qn {eps = 1.0e-6 : f32} : tensor<?x64xf32>, tensor<64xf32>
  %nk = moe.rms_norm %k, %kn {eps = 1.0e-6 : f32} : tensor<?x32xf32>, tensor<32xf32>
  %rq = moe.rope %nq, %p {head_dim = 32, dim = 32, theta = 1.0e4 : f64} : tensor<?x64xf32>
  %rk = moe.rope %nk, %p {head_dim = 32, dim = 32, theta = 1.0e4 : f64} : tensor<?x32xf32>
  %d = moe.cache_append %c, %rk, %v, %p : !one, tensor<?x32xf32>, tensor<?x32xf32>
  %o, %e = moe.attention %rq, %d, %p {heads = 2, scale = 0.17 : f32} : tensor<?x64xf32>, !one -> tensor<?x64xf32>
  return %o, %e : tensor<?x64xf32>, !one
}
