// SPDX-License-Identifier: Apache-2.0
// A norm over whole rows emits the int8 activation; other users take its float result; a head norm is left alone.
// RUN: %moe-opt %s --pass-pipeline="builtin.module(func.func(moe-fuse-norm-quantize))" \
// RUN:   | FileCheck %s

!act = tensor<?x256xf32, #moe.act<group = 32>>

// CHECK-LABEL: @fused
func.func @fused(%x: tensor<?x256xf32>, %w: tensor<256xf32>) -> (tensor<?x256xf32>, !act) {
  // CHECK: %[[Y:.*]], %[[Q:.*]] = moe.norm_quantize
  // CHECK-NOT: moe.rms_norm
  // CHECK: return %[[Y]], %[[Q]]
  %y = moe.rms_norm %x, %w {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<256xf32>
  %q = moe.quantize_act %y : tensor<?x256xf32> -> !act
  return %y, %q : tensor<?x256xf32>, !act
}

// CHECK-LABEL: @head_norm
func.func @head_norm(%x: tensor<?x256xf32>, %w: tensor<32xf32>) -> !act {
  // CHECK: moe.rms_norm
  // CHECK: moe.quantize_act
  %y = moe.rms_norm %x, %w {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<32xf32>
  %q = moe.quantize_act %y : tensor<?x256xf32> -> !act
  return %q : !act
}

// The norm emits one form; another group is quantized from its float result.
// CHECK-LABEL: @two_groups
func.func @two_groups(%x: tensor<?x256xf32>, %w: tensor<256xf32>) -> (!act, tensor<?x256xf32, #moe.act<group = 64>>) {
  // CHECK: %[[Y:.*]], %[[P:.*]] = moe.norm_quantize {{.*}} -> tensor<?x256xf32, #moe.act<group = 64>>
  // CHECK: %[[Q:.*]] = moe.quantize_act %[[Y]] : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
  // CHECK: return %[[Q]], %[[P]]
  %y = moe.rms_norm %x, %w {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<256xf32>
  %q = moe.quantize_act %y : tensor<?x256xf32> -> !act
  %p = moe.quantize_act %y : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 64>>
  return %q, %p : !act, tensor<?x256xf32, #moe.act<group = 64>>
}
