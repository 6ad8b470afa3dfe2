// SPDX-License-Identifier: Apache-2.0
// The fused step of a Gated DeltaNet layer prints what it parses, with decay by head and by channel.
// RUN: %moe-opt %s | %moe-opt | FileCheck %s
// RUN: %moe-opt %s --mlir-print-op-generic | %moe-opt | FileCheck %s

// CHECK-LABEL: @delta_step
func.func @delta_step(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %v: tensor<?x64xf32>, %z: tensor<?x64xf32>,
    %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %wq: tensor<32x4xf32>, %wk: tensor<32x4xf32>, %wv: tensor<64x4xf32>,
    %log: tensor<4xf32>, %bias: tensor<4xf32>, %w: tensor<16xf32>, %q0: !moe.state<shape = [3, 32], elem = f32>,
    %k0: !moe.state<shape = [3, 32], elem = f32>, %v0: !moe.state<shape = [3, 64], elem = f32>,
    %s0: !moe.state<shape = [4, 16, 16], elem = f32>) -> (tensor<?x64xf32>,
    !moe.state<shape = [3, 32], elem = f32>, !moe.state<shape = [3, 32], elem = f32>,
    !moe.state<shape = [3, 64], elem = f32>, !moe.state<shape = [4, 16, 16], elem = f32>) {
  // CHECK: moe.delta_step {{.*}} conv(%{{.*}}, %{{.*}}, %{{.*}}) decay(%{{.*}}, %{{.*}}) norm(%{{.*}}) states(
  // CHECK-SAME: kind = #moe.activation<silu>, l2_eps = {{.*}} : f32, scale = 2.500000e-01 : f32}
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %k, %v, %z, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w)
    states(%q0, %k0, %v0, %s0) {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>}
    : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
      tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>,
      !moe.state<shape = [3, 32], elem = f32>, !moe.state<shape = [3, 32], elem = f32>,
      !moe.state<shape = [3, 64], elem = f32>, !moe.state<shape = [4, 16, 16], elem = f32>
  return %y, %q1, %k1, %v1, %s1 : tensor<?x64xf32>,
    !moe.state<shape = [3, 32], elem = f32>, !moe.state<shape = [3, 32], elem = f32>,
    !moe.state<shape = [3, 64], elem = f32>, !moe.state<shape = [4, 16, 16], elem = f32>
}

// CHECK-LABEL: @by_channel
func.func @by_channel(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x16xf32>, %z: tensor<?x16xf32>,
    %a: tensor<?x16xf32>, %b: tensor<?x4xf32>, %wq: tensor<8x2xf32>, %wv: tensor<16x2xf32>,
    %log: tensor<4xf32>, %bias: tensor<16xf32>, %w: tensor<4xf32>, %q0: !moe.state<shape = [1, 8], elem = f32>,
    %k0: !moe.state<shape = [1, 8], elem = f32>, %v0: !moe.state<shape = [1, 16], elem = f32>,
    %s0: !moe.state<shape = [4, 4, 4], elem = f32>) -> tensor<?x16xf32> {
  // CHECK: moe.delta_step {{.*}} head_map = #moe.head_map<tiled>, kind = #moe.activation<sigmoid>
  // CHECK-SAME: : tensor<?x8xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x4xf32>, tensor<8x2xf32>
  %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %k, %v, %z, %a, %b conv(%wq, %wq, %wv) decay(%log, %bias) norm(%w)
    states(%q0, %k0, %v0, %s0) {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.5 : f32,
    head_map = #moe.head_map<tiled>, kind = #moe.activation<sigmoid>}
    : tensor<?x8xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x4xf32>,
      tensor<8x2xf32>, tensor<8x2xf32>, tensor<16x2xf32>, tensor<4xf32>, tensor<16xf32>, tensor<4xf32>,
      !moe.state<shape = [1, 8], elem = f32>, !moe.state<shape = [1, 8], elem = f32>,
      !moe.state<shape = [1, 16], elem = f32>, !moe.state<shape = [4, 4, 4], elem = f32>
  return %y : tensor<?x16xf32>
}
