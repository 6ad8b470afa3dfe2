// SPDX-License-Identifier: Apache-2.0
// Routing by hand: ties go to the lowest index, ranks descend; experts are summed by rank.
// RUN: %moe-interpret %s --entry @route | FileCheck %s --check-prefix=ROUTE
// RUN: %moe-interpret %s --entry @router | FileCheck %s --check-prefix=ROUTER
// RUN: %moe-interpret %s --entry @experts | FileCheck %s --check-prefix=EXPERTS

// Without a score the weights are the logits: (3, 1) renormalized to (3/4, 1/4), doubled by the factor.
// ROUTE: tensor<1x2xf32> {{\[}}[1.5, 0.5]]
// ROUTE: tensor<1x2xi32> {{\[}}[2, 0]]
// Softmax of four equal logits: 1/4 each, the lowest indices first.
// ROUTE: tensor<1x3xf32> {{\[}}[0.25, 0.25, 0.25]]
// ROUTE: tensor<1x3xi32> {{\[}}[0, 1, 2]]
// σ(0) = 1/2; divided by ½ + ½ + renorm_eps 1.
// ROUTE: tensor<1x2xf32> {{\[}}[0.25, 0.25]]
func.func @route() -> (tensor<1x2xf32>, tensor<1x2xi32>, tensor<1x3xf32>, tensor<1x3xi32>, tensor<1x2xf32>) {
  %a = arith.constant dense<[[1.0, -2.0, 3.0, 1.0]]> : tensor<1x4xf32>
  %w, %ids = moe.route %a {k = 2, score = #moe.score<none>, renormalize, factor = 2.0 : f32}
    : tensor<1x4xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %b = arith.constant dense<7.0> : tensor<1x4xf32>
  %v, %ties = moe.route %b {k = 3, score = #moe.score<softmax>} : tensor<1x4xf32> -> tensor<1x3xf32>, tensor<1x3xi32>
  %c = arith.constant dense<0.0> : tensor<1x2xf32>
  %u, %both = moe.route %c {k = 2, score = #moe.score<sigmoid>, renormalize, renorm_eps = 1.0 : f32}
    : tensor<1x2xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  return %w, %ids, %v, %ties, %u : tensor<1x2xf32>, tensor<1x2xi32>, tensor<1x3xf32>, tensor<1x3xi32>, tensor<1x2xf32>
}

// Logits 2, 3, 1.
// ROUTER: tensor<1x2xf32> {{\[}}[3, 2]]
// ROUTER: tensor<1x2xi32> {{\[}}[1, 0]]
func.func @router() -> (tensor<1x2xf32>, tensor<1x2xi32>) {
  %x = arith.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %r = arith.constant dense<[[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]> : tensor<3x2xf32>
  %w, %ids = moe.router_topk %x, %r {k = 2, score = #moe.score<none>}
    : tensor<1x2xf32>, tensor<3x2xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  return %w, %ids : tensor<1x2xf32>, tensor<1x2xi32>
}

// reglu, inner size 1. Expert 0: gate 1·1 = 1, up 3·2 = 6, down (1, 2) gives (6, 12). Expert 1: gate −1, so 0.
// Expert 2: gate 2, up 3, down (1, 0) gives (6, 0). Ranks: ½ of expert 2, 2 of expert 0; residual (100, 200).
// EXPERTS: tensor<1x2xf32> {{\[}}[115, 224]]
// EXPERTS: tensor<1x2xf32> {{\[}}[0, 0]]
func.func @experts() -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %x = arith.constant dense<[[1.0, 3.0]]> : tensor<1x2xf32>
  %gate = arith.constant dense<[[[1.0, 0.0]], [[-1.0, 0.0]], [[2.0, 0.0]]]> : tensor<3x1x2xf32>
  %up = arith.constant dense<[[[0.0, 2.0]], [[1.0, 1.0]], [[0.0, 1.0]]]> : tensor<3x1x2xf32>
  %down = arith.constant dense<[[[1.0], [2.0]], [[1.0], [1.0]], [[1.0], [0.0]]]> : tensor<3x2x1xf32>
  %w = arith.constant dense<[[0.5, 2.0]]> : tensor<1x2xf32>
  %ids = arith.constant dense<[[2, 0]]> : tensor<1x2xi32>
  %r = arith.constant dense<[[100.0, 200.0]]> : tensor<1x2xf32>
  %y = moe.experts %x, %w, %ids, %gate, %up, %down residual(%r : tensor<1x2xf32>) {glu = #moe.glu<reglu>}
    : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xi32>, tensor<3x1x2xf32>, tensor<3x1x2xf32>, tensor<3x2x1xf32>
    -> tensor<1x2xf32>
  %one = arith.constant dense<1.0> : tensor<1x1xf32>
  %off = arith.constant dense<1> : tensor<1x1xi32>
  %z = moe.experts %x, %one, %off, %gate, %up, %down {glu = #moe.glu<reglu>}
    : tensor<1x2xf32>, tensor<1x1xf32>, tensor<1x1xi32>, tensor<3x1x2xf32>, tensor<3x1x2xf32>, tensor<3x2x1xf32>
    -> tensor<1x2xf32>
  return %y, %z : tensor<1x2xf32>, tensor<1x2xf32>
}
