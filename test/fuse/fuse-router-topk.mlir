// SPDX-License-Identifier: Apache-2.0
// The router's product joins score and selection; logits with other users stay a product.
// RUN: %moe-opt %s --pass-pipeline="builtin.module(func.func(moe-fuse-router-topk))" | FileCheck %s

// CHECK-LABEL: @fused
func.func @fused(%x: tensor<?x256xf32>, %w: tensor<16x256xf32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  // CHECK: moe.router_topk %{{.*}}, %{{.*}} {k = 4 : i64, renormalize, score = #moe.score<softmax>}
  // CHECK-NOT: moe.linear
  %l = moe.linear %x, %w : tensor<?x256xf32>, tensor<16x256xf32> -> tensor<?x16xf32>
  %s, %i = moe.route %l {k = 4, score = #moe.score<softmax>, renormalize}
    : tensor<?x16xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  return %s, %i : tensor<?x4xf32>, tensor<?x4xi32>
}

// CHECK-LABEL: @other_user
func.func @other_user(%x: tensor<?x256xf32>, %w: tensor<16x256xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xi32>, tensor<?x16xf32>) {
  // CHECK: moe.linear
  // CHECK: moe.route
  %l = moe.linear %x, %w : tensor<?x256xf32>, tensor<16x256xf32> -> tensor<?x16xf32>
  %s, %i = moe.route %l {k = 4, score = #moe.score<softmax>} : tensor<?x16xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  return %s, %i, %l : tensor<?x4xf32>, tensor<?x4xi32>, tensor<?x16xf32>
}
