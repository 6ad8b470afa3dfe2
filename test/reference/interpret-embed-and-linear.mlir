// SPDX-License-Identifier: Apache-2.0
// Products by hand: rows are looked up, y = x Wᵀ + bias + residual, and each step of a sum is one fma.
// RUN: %moe-interpret %s --entry @embed | FileCheck %s --check-prefix=EMBED
// RUN: %moe-interpret %s --entry @linear | FileCheck %s --check-prefix=LINEAR
// RUN: %moe-interpret %s --entry @fused | FileCheck %s --check-prefix=FUSED
// RUN: %moe-interpret %s --entry @multi | FileCheck %s --check-prefix=MULTI

// EMBED: tensor<2x2xf32> {{\[}}[5, 6], [1, 2]]
func.func @embed() -> tensor<2x2xf32> {
  %tokens = arith.constant dense<[2, 0]> : tensor<2xi32>
  %table = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %y = moe.embed %tokens, %table : tensor<2xi32>, tensor<3x2xf32> -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// Row 0: 1·1 + 2·0.5, 1·2 − 2·1, 2·4; plus bias 1, 0, −1; plus residual 10, 20, 30.
// LINEAR: tensor<1x3xf32> {{\[}}[13, 20, 37]]
func.func @linear() -> tensor<1x3xf32> {
  %x = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %w = arith.constant dense<[[1.0, 0.5], [2.0, -1.0], [0.0, 4.0]]> : tensor<3x2xf32>
  %b = arith.constant dense<[1.0, 0.0, -1.0]> : tensor<3xf32>
  %r = arith.constant dense<[[10.0, 20.0, 30.0]]> : tensor<1x3xf32>
  %y = moe.linear %x, %w bias(%b : tensor<3xf32>) residual(%r : tensor<1x3xf32>)
    : tensor<1x2xf32>, tensor<3x2xf32> -> tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}

// −1 + (1 + 2^-12)² = 2^-11 + 2^-24 = 0.00048834085 by fma; with a rounded product it would be 2^-11 = 0.00048828125.
// FUSED: tensor<1x1xf32> {{\[}}[0.00048834085]]
func.func @fused() -> tensor<1x1xf32> {
  %x = arith.constant dense<[[1.0, 1.000244140625]]> : tensor<1x2xf32>
  %w = arith.constant dense<[[-1.0, 1.000244140625]]> : tensor<1x2xf32>
  %y = moe.linear %x, %w : tensor<1x2xf32>, tensor<1x2xf32> -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}

// MULTI: tensor<1x1xf32> {{\[}}[3]]
// MULTI: tensor<1x2xf32> {{\[}}[2, 1]]
func.func @multi() -> (tensor<1x1xf32>, tensor<1x2xf32>) {
  %x = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %a = arith.constant dense<1.0> : tensor<1x2xf32>
  %b = arith.constant dense<[[0.0, 1.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %p, %q = moe.multi_linear %x, %a, %b
    : tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x2xf32> -> tensor<1x1xf32>, tensor<1x2xf32>
  return %p, %q : tensor<1x1xf32>, tensor<1x2xf32>
}
