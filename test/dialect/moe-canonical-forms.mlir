// SPDX-License-Identifier: Apache-2.0
// Canonical forms keep no result that nobody reads, and no operation without a read result.
// RUN: %moe-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @codes_unused
// CHECK-NOT: moe.norm_quantize
// CHECK: %[[Y:.*]] = moe.rms_norm %{{.*}}, %{{.*}} {eps = 9.99999997E-7 : f32} : tensor<?x64xf32>, tensor<64xf32>
// CHECK: return %[[Y]]
func.func @codes_unused(%x : tensor<?x64xf32>, %w : tensor<64xf32>) -> tensor<?x64xf32> {
  %y, %q = moe.norm_quantize %x, %w {eps = 1.0e-6 : f32}
    : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32, #moe.act<group = 32>>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @one_product_left
// CHECK-NOT: moe.multi_linear
// CHECK: %[[Y:.*]] = moe.linear %{{.*}}, %arg2 : tensor<?x64xf32>, tensor<16x64xf32> -> tensor<?x16xf32>
// CHECK: return %[[Y]]
func.func @one_product_left(%x : tensor<?x64xf32>, %a : tensor<32x64xf32>, %b : tensor<16x64xf32>) -> tensor<?x16xf32> {
  %y, %z = moe.multi_linear %x, %a, %b
    : tensor<?x64xf32>, tensor<32x64xf32>, tensor<16x64xf32> -> tensor<?x32xf32>, tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// CHECK-LABEL: func.func @two_products_left
// CHECK: moe.multi_linear %{{.*}}, %arg1, %arg3
func.func @two_products_left(%x : tensor<?x64xf32>, %a : tensor<32x64xf32>, %b : tensor<16x64xf32>,
                             %c : tensor<8x64xf32>) -> (tensor<?x32xf32>, tensor<?x8xf32>) {
  %y:3 = moe.multi_linear %x, %a, %b, %c : tensor<?x64xf32>, tensor<32x64xf32>, tensor<16x64xf32>, tensor<8x64xf32>
    -> tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x8xf32>
  return %y#0, %y#2 : tensor<?x32xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @biases_follow_their_products
// CHECK: moe.multi_linear %{{.*}}, %arg1, %arg1 biases(%arg2, %arg4 :
// CHECK: moe.linear %{{.*}}, %arg1 bias(%arg3 : tensor<8xf32>)
func.func @biases_follow_their_products(%x : tensor<?x64xf32>, %w : tensor<8x64xf32>, %a : tensor<8xf32>,
    %b : tensor<8xf32>, %c : tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %y:3 = moe.multi_linear %x, %w, %w, %w biases(%a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    : tensor<?x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
    -> tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
  %z:2 = moe.multi_linear %x, %w, %w biases(%a, %b : tensor<8xf32>, tensor<8xf32>)
    : tensor<?x64xf32>, tensor<8x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>, tensor<?x8xf32>
  return %y#0, %y#2, %z#1 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// A step whose output nobody reads stays for its state; without readers of either it goes.
// CHECK-LABEL: func.func @states_are_results
// CHECK: moe.causal_conv1d %arg0, %arg1, %arg2
// CHECK-NOT: moe.causal_conv1d
func.func @states_are_results(%x : tensor<?x4xf32>, %w : tensor<4x2xf32>, %s : !moe.state<shape = [1, 4], elem = f32>,
    %t : !moe.state<shape = [1, 4], elem = f32>) -> !moe.state<shape = [1, 4], elem = f32> {
  %y, %s1 = moe.causal_conv1d %x, %w, %s : tensor<?x4xf32>, tensor<4x2xf32>, !moe.state<shape = [1, 4], elem = f32>
  %z, %t1 = moe.causal_conv1d %x, %w, %t : tensor<?x4xf32>, tensor<4x2xf32>, !moe.state<shape = [1, 4], elem = f32>
  return %s1 : !moe.state<shape = [1, 4], elem = f32>
}
