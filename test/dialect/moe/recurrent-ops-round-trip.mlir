// SPDX-License-Identifier: Apache-2.0
// Gates and the parts of Gated DeltaNet print what they parse, in custom and in generic form, in every form.
// RUN: %moe-opt %s | %moe-opt | FileCheck %s
// RUN: %moe-opt %s --mlir-print-op-generic | %moe-opt | FileCheck %s

// CHECK-LABEL: @activation
func.func @activation(%x: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  // CHECK: moe.activation %{{.*}} {kind = #moe.activation<sigmoid>} : tensor<?x32xf32>
  %y = moe.activation %x {kind = #moe.activation<sigmoid>} : tensor<?x32xf32>
  // CHECK: moe.activation %{{.*}} {kind = #moe.activation<silu>} : tensor<?x32xf32>
  %z = moe.activation %x {kind = #moe.activation<silu>} : tensor<?x32xf32>
  return %y, %z : tensor<?x32xf32>, tensor<?x32xf32>
}

// CHECK-LABEL: @glu
func.func @glu(%g: tensor<?x512xf32>, %u: tensor<?x512xf32>) -> tensor<?x512xf32> {
  // CHECK: moe.glu %{{.*}}, %{{.*}} {glu = #moe.glu<swiglu>} : tensor<?x512xf32>
  %y = moe.glu %g, %u {glu = #moe.glu<swiglu>} : tensor<?x512xf32>
  return %y : tensor<?x512xf32>
}

// CHECK-LABEL: @gate
func.func @gate(%x: tensor<?x256xf32>, %g: tensor<?x1xf32>, %o: tensor<?x256xf32>)
    -> (tensor<?x256xf32>, tensor<?x256xf32>, tensor<?x256xf32>) {
  // CHECK: moe.gate %{{.*}}, %{{.*}} {kind = #moe.activation<sigmoid>} : tensor<?x256xf32>, tensor<?x1xf32>
  %y = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<?x256xf32>, tensor<?x1xf32>
  // CHECK: moe.gate %{{.*}}, %{{.*}} {kind = #moe.activation<silu>} : tensor<?x256xf32>, tensor<?x256xf32>
  %z = moe.gate %x, %o {kind = #moe.activation<silu>} : tensor<?x256xf32>, tensor<?x256xf32>
  // CHECK: moe.gate %{{.*}}, %{{.*}} residual(%{{.*}} : tensor<?x256xf32>) {kind = #moe.activation<sigmoid>} : tensor
  %r = moe.gate %x, %g residual(%o : tensor<?x256xf32>) {kind = #moe.activation<sigmoid>}
    : tensor<?x256xf32>, tensor<?x1xf32>
  return %y, %z, %r : tensor<?x256xf32>, tensor<?x256xf32>, tensor<?x256xf32>
}

// CHECK-LABEL: @convolution
func.func @convolution(%x: tensor<?x64xf32>, %w: tensor<64x4xf32>, %s0: !moe.state<shape = [3, 64], elem = f32>)
    -> (tensor<?x64xf32>, !moe.state<shape = [3, 64], elem = f32>) {
  // CHECK: moe.causal_conv1d %{{.*}}, %{{.*}}, %{{.*}} {kind = #moe.activation<silu>}
  // CHECK-SAME: : tensor<?x64xf32>, tensor<64x4xf32>, !moe.state<shape = [3, 64], elem = f32>
  %y, %s1 = moe.causal_conv1d %x, %w, %s0 {kind = #moe.activation<silu>}
    : tensor<?x64xf32>, tensor<64x4xf32>, !moe.state<shape = [3, 64], elem = f32>
  // CHECK: moe.causal_conv1d %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<64x4xf32>, !moe.state
  %z, %s2 = moe.causal_conv1d %y, %w, %s1
    : tensor<?x64xf32>, tensor<64x4xf32>, !moe.state<shape = [3, 64], elem = f32>
  return %z, %s2 : tensor<?x64xf32>, !moe.state<shape = [3, 64], elem = f32>
}

// CHECK-LABEL: @l2_norm
func.func @l2_norm(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: moe.l2_norm %{{.*}} {block = 16 : i64, eps = {{.*}} : f32} : tensor<?x64xf32>
  %y = moe.l2_norm %x {block = 16, eps = 1.0e-6 : f32} : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: @decay
func.func @decay(%a: tensor<?x4xf32>, %log: tensor<4xf32>, %bias: tensor<4xf32>, %c: tensor<?x64xf32>,
                 %wide: tensor<64xf32>) -> (tensor<?x4xf32>, tensor<?x64xf32>) {
  // CHECK: moe.decay %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
  %g = moe.decay %a, %log, %bias : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
  // CHECK: moe.decay %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<4xf32>, tensor<64xf32>
  %h = moe.decay %c, %log, %wide : tensor<?x64xf32>, tensor<4xf32>, tensor<64xf32>
  return %g, %h : tensor<?x4xf32>, tensor<?x64xf32>
}

// CHECK-LABEL: @delta_rule
func.func @delta_rule(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %v: tensor<?x64xf32>, %g: tensor<?x4xf32>,
    %beta: tensor<?x4xf32>, %s0: !moe.state<shape = [4, 16, 16], elem = f32>)
    -> (tensor<?x64xf32>, !moe.state<shape = [4, 16, 16], elem = f32>) {
  // CHECK: moe.delta_rule {{.*}} {scale = 2.500000e-01 : f32}
  // CHECK-SAME: tensor<?x4xf32>, !moe.state<shape = [4, 16, 16], elem = f32>
  %o, %s1 = moe.delta_rule %q, %k, %v, %g, %beta, %s0 {scale = 0.25 : f32}
    : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !moe.state<shape = [4, 16, 16], elem = f32>
  return %o, %s1 : tensor<?x64xf32>, !moe.state<shape = [4, 16, 16], elem = f32>
}

// CHECK-LABEL: @delta_rule_by_channel
func.func @delta_rule_by_channel(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %v: tensor<?x64xf32>,
    %g: tensor<?x64xf32>, %beta: tensor<?x4xf32>, %s0: !moe.state<shape = [4, 16, 16], elem = f32>)
    -> (tensor<?x64xf32>, !moe.state<shape = [4, 16, 16], elem = f32>) {
  // CHECK: moe.delta_rule {{.*}} {head_map = #moe.head_map<tiled>, scale = 2.500000e-01 : f32}
  // CHECK-SAME: : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x4xf32>, !moe.state
  %o, %s1 = moe.delta_rule %q, %k, %v, %g, %beta, %s0 {scale = 0.25 : f32, head_map = #moe.head_map<tiled>}
    : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x4xf32>, !moe.state<shape = [4, 16, 16], elem = f32>
  return %o, %s1 : tensor<?x64xf32>, !moe.state<shape = [4, 16, 16], elem = f32>
}

// CHECK-LABEL: @gated_norm
func.func @gated_norm(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>, %w: tensor<16xf32>) -> tensor<?x64xf32> {
  // CHECK: moe.gated_norm %{{.*}} {eps = {{.*}} : f32, kind = #moe.activation<silu>} : tensor<?x64xf32>, tensor<16xf32>
  %y = moe.gated_norm %x, %z, %w {eps = 1.0e-6 : f32, kind = #moe.activation<silu>} : tensor<?x64xf32>, tensor<16xf32>
  return %y : tensor<?x64xf32>
}
