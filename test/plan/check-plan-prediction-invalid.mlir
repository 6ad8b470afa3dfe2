// SPDX-License-Identifier: Apache-2.0
// A guess is for a layer that the model has, of no more experts than a token needs, made by its own steps, and leaves the
// buffers of the steps around it alone.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-check-plan

module attributes {rt.plan = {arena_bytes = 128 : i64}, rt.pack = {},
    moe.model = {top_k = 2 : i64, num_layers = 2 : i64}} {
  func.func @other_layer(%context: !rt.context) {
    %logits = rt.arena %context[0] : memref<1x2xi32>
    %ids = rt.arena %context[64] : memref<1x2xi32>
    // expected-error @+1 {{expects a layer of 0 to 1, but got 2}}
    rt.prefetch %context layer(2) ids(%ids : memref<1x2xi32>) {
      rt.compute route ins(%logits : memref<1x2xi32>) outs(%ids, %logits : memref<1x2xi32>, memref<1x2xi32>)
        spec {experts = 2 : i64, k = 2 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
        factor = 1.0 : f32}
    }
    return
  }
}

// -----

module attributes {rt.plan = {arena_bytes = 128 : i64}, rt.pack = {},
    moe.model = {top_k = 2 : i64, num_layers = 2 : i64}} {
  func.func @too_many(%context: !rt.context) {
    %logits = rt.arena %context[0] : memref<1x3xi32>
    %ids = rt.arena %context[64] : memref<1x3xi32>
    // expected-error @+1 {{expects at most the 2 experts of a token as in moe.model, but got 3}}
    rt.prefetch %context layer(1) ids(%ids : memref<1x3xi32>) {
      rt.compute route ins(%logits : memref<1x3xi32>) outs(%ids, %logits : memref<1x3xi32>, memref<1x3xi32>)
        spec {experts = 2 : i64, k = 3 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
        factor = 1.0 : f32}
    }
    return
  }
}

// -----

module attributes {rt.plan = {arena_bytes = 128 : i64}, rt.pack = {},
    moe.model = {top_k = 2 : i64, num_layers = 2 : i64}} {
  func.func @not_made(%context: !rt.context) {
    %logits = rt.arena %context[0] : memref<1x2xi32>
    %ids = rt.arena %context[64] : memref<1x2xi32>
    // expected-error @+1 {{expects a step of its body to write the ids}}
    rt.prefetch %context layer(1) ids(%ids : memref<1x2xi32>) {
      rt.compute route ins(%logits : memref<1x2xi32>) outs(%logits, %logits : memref<1x2xi32>, memref<1x2xi32>)
        spec {experts = 2 : i64, k = 2 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
        factor = 1.0 : f32}
    }
    return
  }
}

// -----

module attributes {rt.plan = {arena_bytes = 128 : i64}} {
  func.func @shares(%context: !rt.context) {
    %logits = rt.arena %context[0] : memref<1x2xf32>
    // expected-note @+1 {{that view}}
    %ids = rt.arena %context[64] : memref<1x2xi32>
    // expected-error @+1 {{shares bytes 64 to 72 with a view that is alive at the same time}}
    %routed = rt.arena %context[64] : memref<1x2xi32>
    rt.experts %context layer(0) ids(%routed : memref<1x2xi32>) {
    ^bb0(%record : memref<64xi8>, %pairs : memref<2xi32>):
      rt.prefetch %context layer(1) ids(%ids : memref<1x2xi32>) {
        rt.compute route ins(%logits : memref<1x2xf32>) outs(%ids, %logits : memref<1x2xi32>, memref<1x2xf32>)
          spec {experts = 2 : i64, k = 2 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
          factor = 1.0 : f32}
      }
    }
    return
  }
}
