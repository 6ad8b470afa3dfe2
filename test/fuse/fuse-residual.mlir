// SPDX-License-Identifier: Apache-2.0
// An addition behind a product moves into it; a product with other users is left alone.
// RUN: %moe-opt %s --pass-pipeline="builtin.module(func.func(moe-fuse-residual))" | FileCheck %s

// CHECK-LABEL: @fused
func.func @fused(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>, %r: tensor<?x256xf32>) -> tensor<?x256xf32> {
  // CHECK: moe.linear %{{.*}}, %{{.*}} residual(%{{.*}} : tensor<?x256xf32>)
  // CHECK-NOT: arith.addf
  %y = moe.linear %x, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %s = arith.addf %r, %y : tensor<?x256xf32>
  return %s : tensor<?x256xf32>
}

// CHECK-LABEL: @gate
func.func @gate(%x: tensor<?x256xf32>, %g: tensor<?x1xf32>, %r: tensor<?x256xf32>) -> tensor<?x256xf32> {
  // CHECK: moe.gate %{{.*}}, %{{.*}} residual(%{{.*}} : tensor<?x256xf32>)
  // CHECK-NOT: arith.addf
  %y = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<?x256xf32>, tensor<?x1xf32>
  %s = arith.addf %r, %y : tensor<?x256xf32>
  return %s : tensor<?x256xf32>
}

// CHECK-LABEL: @other_user
func.func @other_user(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>, %r: tensor<?x256xf32>)
    -> (tensor<?x256xf32>, tensor<?x256xf32>) {
  // CHECK: moe.linear
  // CHECK-NOT: residual(
  // CHECK: arith.addf
  %y = moe.linear %x, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %s = arith.addf %r, %y : tensor<?x256xf32>
  return %s, %y : tensor<?x256xf32>, tensor<?x256xf32>
}
