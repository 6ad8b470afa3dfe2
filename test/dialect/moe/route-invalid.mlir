// SPDX-License-Identifier: Apache-2.0
// Each constraint of moe.route and moe.router_topk has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.route (C1)
func.func @f(%l: tensor<?x16xf32>) {
  // expected-error @+1 {{expects weights and ids of 4 columns, one row a token, but got}}
  %w, %i = moe.route %l {k = 4, score = #moe.score<softmax>} : tensor<?x16xf32> -> tensor<?x4xf32>, tensor<?x3xi32>
  return
}

// -----

// moe.route (C2): none
func.func @f(%l: tensor<?x16xf32>) {
  // expected-error @+1 {{expects 1 to 16 experts per token, but got 0}}
  %w, %i = moe.route %l {k = 0, score = #moe.score<softmax>} : tensor<?x16xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  return
}

// -----

// moe.route (C2): too many
func.func @f(%l: tensor<?x16xf32>) {
  // expected-error @+1 {{expects 1 to 16 experts per token, but got 17}}
  %w, %i = moe.route %l {k = 17, score = #moe.score<softmax>} : tensor<?x16xf32> -> tensor<?x17xf32>, tensor<?x17xi32>
  return
}

// -----

// moe.router_topk (C1)
func.func @f(%x: tensor<?x256xf32>, %r: tensor<16x128xf32>) {
  // expected-error @+1 {{expects x [T, H] in f32 and W [E, H] in f32 or f16, but got}}
  %w, %i = moe.router_topk %x, %r {k = 4, score = #moe.score<softmax>} : tensor<?x256xf32>, tensor<16x128xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  return
}

// -----

// moe.router_topk (C2)
func.func @f(%x: tensor<?x256xf32>, %r: tensor<16x256xf32>) {
  // expected-error @+1 {{expects 1 to 16 experts per token, but got 17}}
  %w, %i = moe.router_topk %x, %r {k = 17, score = #moe.score<softmax>} : tensor<?x256xf32>, tensor<16x256xf32> -> tensor<?x17xf32>, tensor<?x17xi32>
  return
}
