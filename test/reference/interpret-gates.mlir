// SPDX-License-Identifier: Apache-2.0
// Gates, unit length and decay by hand: the values are exact in f32 unless said otherwise.
// RUN: %moe-interpret %s --entry @gates | FileCheck %s --check-prefix=GATES
// RUN: %moe-interpret %s --entry @glu | FileCheck %s --check-prefix=GLU
// RUN: %moe-interpret %s --entry @l2 | FileCheck %s --check-prefix=L2
// RUN: %moe-interpret %s --entry @decay | FileCheck %s --check-prefix=DECAY
// RUN: %moe-interpret %s --entry @gated_norm | FileCheck %s --check-prefix=NORM
// RUN: %moe-interpret %s --entry @products | FileCheck %s --check-prefix=PRODUCTS
// RUN: not %moe-interpret %s --entry @geglu 2>&1 | FileCheck %s --check-prefix=GEGLU

// σ(0) = 1/2, σ(100) = 1, σ(-100) is 1 / (1 + exp(88.4)), below 2^-126; silu(x) = x σ(x).
// GATES: tensor<1x3xf32> {{\[}}[0.5, 1, {{[0-9.]+}}e-39]]
// GATES: tensor<1x3xf32> {{\[}}[0, 100, {{.*}}]]
// One gate for each value: 2 · 1/2, 3 · 1, 4 · σ(0). One for each token, with residual: 2 · 1/2 + 10, …
// GATES: tensor<1x3xf32> {{\[}}[1, 3, 2]]
// GATES: tensor<1x3xf32> {{\[}}[11, 21.5, 32]]
func.func @gates() -> (tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) {
  %x = arith.constant dense<[[0.0, 100.0, -100.0]]> : tensor<1x3xf32>
  %s = moe.activation %x {kind = #moe.activation<sigmoid>} : tensor<1x3xf32>
  %t = moe.activation %x {kind = #moe.activation<silu>} : tensor<1x3xf32>
  %v = arith.constant dense<[[2.0, 3.0, 4.0]]> : tensor<1x3xf32>
  %g = arith.constant dense<[[0.0, 100.0, 0.0]]> : tensor<1x3xf32>
  %y = moe.gate %v, %g {kind = #moe.activation<sigmoid>} : tensor<1x3xf32>, tensor<1x3xf32>
  %one = arith.constant dense<0.0> : tensor<1x1xf32>
  %r = arith.constant dense<[[10.0, 20.0, 30.0]]> : tensor<1x3xf32>
  %z = moe.gate %v, %one residual(%r : tensor<1x3xf32>) {kind = #moe.activation<sigmoid>} : tensor<1x3xf32>, tensor<1x1xf32>
  return %s, %t, %y, %z : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>
}

// silu(0) = 0 and silu(100) = 100; reglu: max(x, 0).
// GLU: tensor<1x2xf32> {{\[}}[0, 300]]
// GLU: tensor<1x2xf32> {{\[}}[0, 300]]
func.func @glu() -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %g = arith.constant dense<[[0.0, 100.0]]> : tensor<1x2xf32>
  %u = arith.constant dense<[[7.0, 3.0]]> : tensor<1x2xf32>
  %y = moe.glu %g, %u {glu = #moe.glu<swiglu>} : tensor<1x2xf32>
  %z = moe.glu %g, %u {glu = #moe.glu<reglu>} : tensor<1x2xf32>
  return %y, %z : tensor<1x2xf32>, tensor<1x2xf32>
}

// GEGLU: @geglu: 'moe.glu' op expects an activation swiglu or reglu, but got geglu
func.func @geglu() -> tensor<1x1xf32> {
  %g = arith.constant dense<1.0> : tensor<1x1xf32>
  %y = moe.glu %g, %g {glu = #moe.glu<geglu>} : tensor<1x1xf32>
  return %y : tensor<1x1xf32>
}

// Blocks of 2: 1 / sqrt(2² + 2² + 8) = 1/4 and 1 / sqrt(2² + 2² + 8); then 1 / sqrt(0 + 1 + 8) = 1/3.
// L2: tensor<2x4xf32> {{\[}}[0.5, -0.5, -0.5, 0.5], [0, 0.33333334, 0.5, 0.5]]
func.func @l2() -> tensor<2x4xf32> {
  %x = arith.constant dense<[[2.0, -2.0, -2.0, 2.0], [0.0, 1.0, 2.0, 2.0]]> : tensor<2x4xf32>
  %y = moe.l2_norm %x {block = 2, eps = 8.0 : f32} : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// exp(0) = 1; softplus(0) = ln 2 = 0.6931472, softplus(30) = 30, softplus(-100) = 0 (its exp is 0). Columns 0 and 1 have
// the first a_log, 2 and 3 the second: exp(ln 4 = 1.3862944) = 4.
// DECAY: tensor<1x4xf32> {{\[}}[-0.6931472, -30, -120, -0]]
func.func @decay() -> tensor<1x4xf32> {
  %a = arith.constant dense<[[1.0, 20.0, 40.0, -50.0]]> : tensor<1x4xf32>
  %log = arith.constant dense<[0.0, 1.3862944]> : tensor<2xf32>
  %bias = arith.constant dense<[-1.0, 10.0, -10.0, -50.0]> : tensor<4xf32>
  %g = moe.decay %a, %log, %bias : tensor<1x4xf32>, tensor<2xf32>, tensor<4xf32>
  return %g : tensor<1x4xf32>
}

// Heads of 2: mean(x²) = 4, eps 12, so 1/4; times w (1, 3); times σ(0) = 1/2 or silu(100) = 100.
// NORM: tensor<1x4xf32> {{\[}}[0.25, -0.75, 0.5, -1.5]]
// NORM: tensor<1x4xf32> {{\[}}[0, -0, 50, -150]]
func.func @gated_norm() -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %x = arith.constant dense<[[2.0, -2.0, 2.0, -2.0]]> : tensor<1x4xf32>
  %z = arith.constant dense<[[0.0, 0.0, 100.0, 100.0]]> : tensor<1x4xf32>
  %w = arith.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %y = moe.gated_norm %x, %z, %w {eps = 12.0 : f32, kind = #moe.activation<sigmoid>} : tensor<1x4xf32>, tensor<2xf32>
  %s = moe.gated_norm %x, %z, %w {eps = 12.0 : f32, kind = #moe.activation<silu>} : tensor<1x4xf32>, tensor<2xf32>
  return %y, %s : tensor<1x4xf32>, tensor<1x4xf32>
}

// x = (1, 2): W₁ x = (5, 11) + (0.5, -1), W₂ x = (2) + (3), of moe.linear as well.
// PRODUCTS: tensor<1x2xf32> {{\[}}[5.5, 10]]
// PRODUCTS: tensor<1x1xf32> {{\[}}[5]]
// PRODUCTS: tensor<1x1xf32> {{\[}}[5]]
func.func @products() -> (tensor<1x2xf32>, tensor<1x1xf32>, tensor<1x1xf32>) {
  %x = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = arith.constant dense<[[0.0, 1.0]]> : tensor<1x2xf32>
  %b = arith.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %c = arith.constant dense<[3.0]> : tensor<1xf32>
  %y, %z = moe.multi_linear %x, %w, %v biases(%b, %c : tensor<2xf32>, tensor<1xf32>)
    : tensor<1x2xf32>, tensor<2x2xf32>, tensor<1x2xf32> -> tensor<1x2xf32>, tensor<1x1xf32>
  %l = moe.linear %x, %v bias(%c : tensor<1xf32>) : tensor<1x2xf32>, tensor<1x2xf32> -> tensor<1x1xf32>
  return %y, %z, %l : tensor<1x2xf32>, tensor<1x1xf32>, tensor<1x1xf32>
}
