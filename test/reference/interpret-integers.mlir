// SPDX-License-Identifier: Apache-2.0
// Products by hand: int8 activations, integer weights with and without a minimum, f16; sums of codes exact in a group.
// RUN: %moe-interpret %s --entry @act | FileCheck %s --check-prefix=ACT
// RUN: %moe-interpret %s --entry @norm | FileCheck %s --check-prefix=NORM
// RUN: %moe-interpret %s --entry @int4 | FileCheck %s --check-prefix=INT4
// RUN: %moe-interpret %s --entry @int8 | FileCheck %s --check-prefix=INT8
// RUN: %moe-interpret %s --entry @int6 | FileCheck %s --check-prefix=INT6
// RUN: %moe-interpret %s --entry @int4m | FileCheck %s --check-prefix=INT4M
// RUN: %moe-interpret %s --entry @f16 | FileCheck %s --check-prefix=F16

// max|x| = 127, so the scale is 1; halves round to even (0.5 to 0, 1.5 and 2.5 to 2); the second group is all zero.
// ACT: codes {{\[}}[127, 0, 2, 2, -127, 0,
// ACT-SAME: scales {{\[}}[1, 0]] sums {{\[}}[4, 0]]
func.func @act() -> tensor<1x64xf32, #moe.act<group = 32>> {
  %x = arith.constant dense<[[127.0, 0.5, 1.5, 2.5, -127.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0]]> : tensor<1x64xf32>
  %q = moe.quantize_act %x : tensor<1x64xf32> -> tensor<1x64xf32, #moe.act<group = 32>>
  return %q : tensor<1x64xf32, #moe.act<group = 32>>
}

// All values 2: mean(x²) = 4, eps = 12, so y = 2/4 · 254 = 127.
// NORM: tensor<1x32xf32> {{\[}}[127, 127,
// NORM: codes {{\[}}[127, 127,
// NORM-SAME: scales {{\[}}[1]] sums {{\[}}[4064]]
func.func @norm() -> (tensor<1x32xf32>, tensor<1x32xf32, #moe.act<group = 32>>) {
  %x = arith.constant dense<2.0> : tensor<1x32xf32>
  %w = arith.constant dense<254.0> : tensor<32xf32>
  %y, %q = moe.norm_quantize %x, %w {eps = 12.0 : f32}
    : tensor<1x32xf32>, tensor<32xf32> -> tensor<1x32xf32, #moe.act<group = 32>>
  return %y, %q : tensor<1x32xf32>, tensor<1x32xf32, #moe.act<group = 32>>
}

// Weight scales 7/7 = 1 and 3.5/7 = 0.5. Codes of x 127, 0, 2, 2, -127: 127·7 + 2·1 + 2·1 + 127·1 = 1020.
// INT4: tensor<1x1xf32> {{\[}}[1020]]
func.func @int4() -> tensor<1x1xf32> {
  %x = arith.constant dense<[[127.0, 0.5, 1.5, 2.5, -127.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0]]> : tensor<1x64xf32>
  %w = arith.constant dense<[[7.00, 2.00, 1.00, 1.00, -1.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00,
      0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00,
      3.50, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00,
      0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00]]> : tensor<1x64xf32,
      #moe.q<scheme = i4, group = 32>>
  %q = moe.quantize_act %x : tensor<1x64xf32> -> tensor<1x64xf32, #moe.act<group = 32>>
  %y = moe.linear %q, %w : tensor<1x64xf32, #moe.act<group = 32>>, tensor<1x64xf32, #moe.q<scheme = i4, group = 32>>
    -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}

// Weight scale 63.5/127 = 0.5, codes 127, 10, -10, 4, 1: (127·127 − 2·10 + 2·4 − 127·1) · 0.5 = 7995.
// INT8: tensor<1x1xf32> {{\[}}[7995]]
func.func @int8() -> tensor<1x1xf32> {
  %x = arith.constant dense<[[127.0, 0.5, 1.5, 2.5, -127.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0]]> : tensor<1x64xf32>
  %w = arith.constant dense<[[63.50, 5.00, -5.00, 2.00, 0.50, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00,
      0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00,
      0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00,
      0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00]]> : tensor<1x64xf32,
      #moe.q<scheme = i8, group = 32>>
  %q = moe.quantize_act %x : tensor<1x64xf32> -> tensor<1x64xf32, #moe.act<group = 32>>
  %y = moe.linear %q, %w : tensor<1x64xf32, #moe.act<group = 32>>, tensor<1x64xf32, #moe.q<scheme = i8, group = 32>>
    -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}

// Weight scale 62/31 = 2, codes 31, -3, 2 (1.5 goes to the even one), 1, 0: x codes 127, 0, 2, 2, -127 give
// (127·31 + 2·2 + 2·1 − 127·0) · 2 = 7886.
// INT6: tensor<1x1xf32> {{\[}}[7886]]
func.func @int6() -> tensor<1x1xf32> {
  %x = arith.constant dense<[[127.0, 0.5, 1.5, 2.5, -127.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<1x32xf32>
  %w = arith.constant dense<[[62.0, -6.0, 3.0, 2.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]>
    : tensor<1x32xf32, #moe.q<scheme = i6, group = 32>>
  %q = moe.quantize_act %x : tensor<1x32xf32> -> tensor<1x32xf32, #moe.act<group = 32>>
  %y = moe.linear %q, %w : tensor<1x32xf32, #moe.act<group = 32>>, tensor<1x32xf32, #moe.q<scheme = i6, group = 32>>
    -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}

// From -1 to 14 are 15 steps of 1, code 0 is 7: codes 7, -8, -7, 0, 0. Codes of x 127, 0, 2, 2, -127, their sum 4:
// 127·7 − 2·7 + 4·7 = 903.
// INT4M: tensor<1x1xf32> {{\[}}[903]]
func.func @int4m() -> tensor<1x1xf32> {
  %x = arith.constant dense<[[127.0, 0.5, 1.5, 2.5, -127.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<1x32xf32>
  %w = arith.constant dense<[[14.0, -1.0, 0.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0,
      7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0]]>
    : tensor<1x32xf32, #moe.q<scheme = i4, group = 32, minimum = true>>
  %q = moe.quantize_act %x : tensor<1x32xf32> -> tensor<1x32xf32, #moe.act<group = 32>>
  %y = moe.linear %q, %w : tensor<1x32xf32, #moe.act<group = 32>>,
    tensor<1x32xf32, #moe.q<scheme = i4, group = 32, minimum = true>> -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}

// 2049 lies between two f16 and goes to the even 2048; x is not quantized: 2048 · 0.5 + 1 · 0.25 = 1024.25.
// F16: tensor<1x1xf32> {{\[}}[1024.25]]
func.func @f16() -> tensor<1x1xf32> {
  %x = arith.constant dense<[[0.5, 0.25]]> : tensor<1x2xf32>
  %w = arith.constant dense<[[2049.0, 1.0]]> : tensor<1x2xf32, #moe.q<scheme = f16, group = 0>>
  %y = moe.linear %x, %w : tensor<1x2xf32>, tensor<1x2xf32, #moe.q<scheme = f16, group = 0>> -> tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}
