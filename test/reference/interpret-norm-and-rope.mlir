// SPDX-License-Identifier: Apache-2.0
// Norms by hand, over rows and heads, and rotations by known angles.
// RUN: %moe-interpret %s --entry @norm | FileCheck %s --check-prefix=NORM
// RUN: %moe-interpret %s --entry @rope | FileCheck %s --check-prefix=ROPE
// RUN: %moe-interpret %s --entry @stretched | FileCheck %s --check-prefix=STRETCHED

// Row: mean(x²) = 4, eps = 12, so 1/√16 = 1/4. Heads of 2 the same. With unit_offset the factors are 2 and 4.
// NORM: tensor<1x4xf32> {{\[}}[0.5, -1, 0.5, -1.5]]
// NORM: tensor<1x4xf32> {{\[}}[1, -2, 1, -2]]
func.func @norm() -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %x = arith.constant dense<[[2.0, -2.0, 2.0, -2.0]]> : tensor<1x4xf32>
  %w = arith.constant dense<[1.0, 2.0, 1.0, 3.0]> : tensor<4xf32>
  %h = arith.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %y = moe.rms_norm %x, %w {eps = 12.0 : f32} : tensor<1x4xf32>, tensor<4xf32>
  %z = moe.rms_norm %x, %h {eps = 12.0 : f32, unit_offset} : tensor<1x4xf32>, tensor<2xf32>
  return %y, %z : tensor<1x4xf32>, tensor<1x4xf32>
}

// theta = 4, dim = 4: angles p and p/2; rows at p = 0 and 1. cos 1 = 0.5403023, sin 1 = 0.84147098, cos ½ = 0.8775826,
// sin ½ = 0.47942554. The fifth value of the head is not rotated.
// ROPE: tensor<2x5xf32> {{\[}}[1, 2, 0, 0, 9], [0.5403023, 1.7551651, 0.84147096, 0.9588511, 9]]
// ROPE: tensor<2x5xf32> {{\[}}[1, 0, 2, 0, 9], [0.5403023, 0.84147096, 1.7551651, 0.9588511, 9]]
func.func @rope() -> (tensor<2x5xf32>, tensor<2x5xf32>) {
  %p = arith.constant 0 : index
  %x = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 9.0], [1.0, 2.0, 0.0, 0.0, 9.0]]> : tensor<2x5xf32>
  %y = moe.rope %x, %p {head_dim = 5, dim = 4, theta = 4.0 : f64} : tensor<2x5xf32>
  %i = arith.constant dense<[[1.0, 0.0, 2.0, 0.0, 9.0], [1.0, 0.0, 2.0, 0.0, 9.0]]> : tensor<2x5xf32>
  %z = moe.rope %i, %p {head_dim = 5, dim = 4, theta = 4.0 : f64, style = #moe.rope_style<interleaved>} : tensor<2x5xf32>
  return %y, %z : tensor<2x5xf32>, tensor<2x5xf32>
}

// Stretched by 4, position 4 has the angles 1 and 1/2 of position 1 above. llama3 with the limits 1 / 4 and 2: the waves
// 2 pi and 4 pi are longer than 2, so that both are divided; with 100 / 4 and 200 they stay.
// STRETCHED: tensor<1x5xf32> {{\[}}[0.5403023, 1.7551651, 0.84147096, 0.9588511, 9]]
// STRETCHED: tensor<1x5xf32> {{\[}}[0.5403023, 1.7551651, 0.84147096, 0.9588511, 9]]
// STRETCHED: tensor<1x5xf32> {{\[}}[0.5403023, 1.7551651, 0.84147096, 0.9588511, 9]]
func.func @stretched() -> (tensor<1x5xf32>, tensor<1x5xf32>, tensor<1x5xf32>) {
  %p = arith.constant 4 : index
  %one = arith.constant 1 : index
  %x = arith.constant dense<[[1.0, 2.0, 0.0, 0.0, 9.0]]> : tensor<1x5xf32>
  %y = moe.rope %x, %p {head_dim = 5, dim = 4, theta = 4.0 : f64, scaling =
    #moe.rope_scaling<kind = linear, factor = 4.0 : f64>} : tensor<1x5xf32>
  %z = moe.rope %x, %p {head_dim = 5, dim = 4, theta = 4.0 : f64, scaling =
    #moe.rope_scaling<kind = llama3, factor = 4.0 : f64, low = 0.5 : f64, high = 4.0 : f64, original = 1>} : tensor<1x5xf32>
  %s = moe.rope %x, %one {head_dim = 5, dim = 4, theta = 4.0 : f64, scaling =
    #moe.rope_scaling<kind = llama3, factor = 4.0 : f64, low = 0.5 : f64, high = 4.0 : f64, original = 100>} : tensor<1x5xf32>
  return %y, %z, %s : tensor<1x5xf32>, tensor<1x5xf32>, tensor<1x5xf32>
}
