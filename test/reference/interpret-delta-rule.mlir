// SPDX-License-Identifier: Apache-2.0
// Convolution and delta rule by hand, with states that start at zero; all values are exact in f32.
// RUN: %moe-interpret %s --entry @convolution | FileCheck %s --check-prefix=CONV
// RUN: %moe-interpret %s --entry @one_head | FileCheck %s --check-prefix=HEAD
// RUN: %moe-interpret %s --entry @by_channel | FileCheck %s --check-prefix=CHANNEL
// RUN: %moe-interpret %s --entry @grouped | FileCheck %s --check-prefix=GROUPED
// RUN: %moe-interpret %s --entry @tiled | FileCheck %s --check-prefix=TILED

// Channel 0 with w = (1, 2, 4): 4·1, 2·1 + 4·2, 1·1 + 2·2 + 4·3, then a chunk of one token, 1·2 + 2·3 + 4·10; channel 1
// with w = (0, 0, 1) is x. The state holds the last two rows.
// CONV: tensor<3x2xf32> {{\[}}[4, 5], [10, 6], [17, 7]]
// CONV: tensor<1x2xf32> {{\[}}[48, 8]]
// CONV: state<2x2xf32> {{\[}}[3, 7], [10, 8]]
!window = !moe.state<shape = [2, 2], elem = f32>
func.func @convolution(%s0: !window) -> (tensor<3x2xf32>, tensor<1x2xf32>, !window) {
  %w = arith.constant dense<[[1.0, 2.0, 4.0], [0.0, 0.0, 1.0]]> : tensor<2x3xf32>
  %x = arith.constant dense<[[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]> : tensor<3x2xf32>
  %y, %s1 = moe.causal_conv1d %x, %w, %s0 : tensor<3x2xf32>, tensor<2x3xf32>, !window
  %more = arith.constant dense<[[10.0, 8.0]]> : tensor<1x2xf32>
  %z, %s2 = moe.causal_conv1d %more, %w, %s1 : tensor<1x2xf32>, tensor<2x3xf32>, !window
  return %y, %z, %s2 : tensor<3x2xf32>, tensor<1x2xf32>, !window
}

// exp(-100) = 0 forgets everything, exp(0) = 1 keeps. Token 0: S = 0, δ = 1 · v = (4, 8), S = k δᵀ = ((4, 8), (0, 0)),
// o = ½ Sᵀ(2, 1) = (4, 8). Token 1, k = (1, 1): Sᵀk = (4, 8), δ = ½ ((6, 2) - (4, 8)) = (1, -3), S = ((5, 5), (1, -3)),
// o = ½ Sᵀ(2, 1) = (5.5, 3.5). Token 2 forgets: δ = (1, 1), S = ((0, 0), (2, 2)), o = ½ Sᵀ(2, 1) = (1, 1).
// HEAD: tensor<3x2xf32> {{\[}}[4, 8], [5.5, 3.5], [1, 1]]
// HEAD: state<1x2x2xf32> {{\[}}{{\[}}[0, 0], [2, 2]]]
!one = !moe.state<shape = [1, 2, 2], elem = f32>
func.func @one_head(%s0: !one) -> (tensor<3x2xf32>, !one) {
  %q = arith.constant dense<[[2.0, 1.0], [2.0, 1.0], [2.0, 1.0]]> : tensor<3x2xf32>
  %k = arith.constant dense<[[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]> : tensor<3x2xf32>
  %v = arith.constant dense<[[4.0, 8.0], [6.0, 2.0], [1.0, 1.0]]> : tensor<3x2xf32>
  %g = arith.constant dense<[[0.0], [0.0], [-100.0]]> : tensor<3x1xf32>
  %beta = arith.constant dense<[[1.0], [0.5], [1.0]]> : tensor<3x1xf32>
  %o, %s1 = moe.delta_rule %q, %k, %v, %g, %beta, %s0 {scale = 0.5 : f32}
    : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xf32>, !one
  return %o, %s1 : tensor<3x2xf32>, !one
}

// Row 0 of S is kept, row 1 forgotten. Token 0: δ = (1), S = (1, 2). Token 1, k = (1, 0): S = (1, 0), Sᵀk = 1,
// δ = 3 - 1, S = (3, 0), o = Sᵀ(1, 1) = 3.
// CHANNEL: tensor<2x1xf32> {{\[}}[3], [3]]
// CHANNEL: state<1x2x1xf32> {{\[}}{{\[}}[3], [0]]]
!column = !moe.state<shape = [1, 2, 1], elem = f32>
func.func @by_channel(%s0: !column) -> (tensor<2x1xf32>, !column) {
  %q = arith.constant dense<1.0> : tensor<2x2xf32>
  %k = arith.constant dense<[[1.0, 2.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %v = arith.constant dense<[[1.0], [3.0]]> : tensor<2x1xf32>
  %g = arith.constant dense<[[0.0, 0.0], [0.0, -100.0]]> : tensor<2x2xf32>
  %beta = arith.constant dense<1.0> : tensor<2x1xf32>
  %o, %s1 = moe.delta_rule %q, %k, %v, %g, %beta, %s0 {scale = 1.0 : f32}
    : tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>, !column
  return %o, %s1 : tensor<2x1xf32>, !column
}

// Two key heads, k = 1 and 3, for four value heads; S = k v, o = q S with q = 1: heads 0, 1 read key head 0, 2, 3 head 1.
// GROUPED: tensor<1x4xf32> {{\[}}[1, 2, 9, 12]]
// Tiled: heads 0 and 2 read key head 0, heads 1 and 3 head 1.
// TILED: tensor<1x4xf32> {{\[}}[1, 6, 3, 12]]
!four = !moe.state<shape = [4, 1, 1], elem = f32>
func.func @grouped(%s0: !four) -> tensor<1x4xf32> {
  %q = arith.constant dense<1.0> : tensor<1x2xf32>
  %k = arith.constant dense<[[1.0, 3.0]]> : tensor<1x2xf32>
  %v = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %g = arith.constant dense<0.0> : tensor<1x4xf32>
  %beta = arith.constant dense<1.0> : tensor<1x4xf32>
  %o, %s1 = moe.delta_rule %q, %k, %v, %g, %beta, %s0 {scale = 1.0 : f32}
    : tensor<1x2xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, !four
  return %o : tensor<1x4xf32>
}
func.func @tiled(%s0: !four) -> tensor<1x4xf32> {
  %q = arith.constant dense<1.0> : tensor<1x2xf32>
  %k = arith.constant dense<[[1.0, 3.0]]> : tensor<1x2xf32>
  %v = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %g = arith.constant dense<0.0> : tensor<1x4xf32>
  %beta = arith.constant dense<1.0> : tensor<1x4xf32>
  %o, %s1 = moe.delta_rule %q, %k, %v, %g, %beta, %s0 {scale = 1.0 : f32, head_map = #moe.head_map<tiled>}
    : tensor<1x2xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, !four
  return %o : tensor<1x4xf32>
}
