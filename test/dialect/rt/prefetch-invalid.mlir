// SPDX-License-Identifier: Apache-2.0
// Each constraint of rt.prefetch, and of its place in rt.experts, has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// rt.prefetch (C1)
func.func @f(%context: !rt.context, %ids: memref<2x4xi32>) {
  // expected-error @+1 {{expects one row of i32 as ids, but got 'memref<2x4xi32>'}}
  rt.prefetch %context layer(1) ids(%ids : memref<2x4xi32>) {
  }
  return
}

// -----

// rt.prefetch (C2)
func.func @f(%context: !rt.context, %logits: memref<1x16xf32>, %ids: memref<1x4xi32>, %weights: memref<1x4xf32>) {
  // expected-error @+1 {{expects a layer from 0, but got -1}}
  rt.prefetch %context layer(-1) ids(%ids : memref<1x4xi32>) {
    rt.compute route ins(%logits : memref<1x16xf32>) outs(%ids, %weights : memref<1x4xi32>, memref<1x4xf32>)
      spec {experts = 16 : i64, k = 4 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
      factor = 1.0 : f32}
  }
  return
}

// -----

// rt.prefetch (C2): in rt.experts
func.func @f(%context: !rt.context, %logits: memref<1x16xf32>, %ids: memref<1x4xi32>, %weights: memref<1x4xf32>) {
  rt.experts %context layer(0) ids(%ids : memref<1x4xi32>) {
  ^bb0(%record : memref<65536xi8>, %pairs : memref<4xi32>):
    // expected-error @+1 {{expects a layer from 0, but got -1}}
    rt.prefetch %context layer(-1) ids(%ids : memref<1x4xi32>) {
      rt.compute route ins(%logits : memref<1x16xf32>) outs(%ids, %weights : memref<1x4xi32>, memref<1x4xf32>)
        spec {experts = 16 : i64, k = 4 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
        factor = 1.0 : f32}
    }
  }
  return
}

// -----

// rt.prefetch (C3): nothing
func.func @f(%context: !rt.context, %ids: memref<1x4xi32>) {
  // expected-error @+1 {{expects at least one step in its body}}
  rt.prefetch %context layer(1) ids(%ids : memref<1x4xi32>) {
  }
  return
}

// -----

// rt.prefetch (C3): another operation
func.func @f(%context: !rt.context, %ids: memref<1x4xi32>) {
  // expected-error @+1 {{expects only rt.compute or rt.launch in its body, but got rt.poll}}
  rt.prefetch %context layer(1) ids(%ids : memref<1x4xi32>) {
    rt.poll %context layer(1)
  }
  return
}

// -----

// rt.experts (C3): two guesses
func.func @f(%context: !rt.context, %logits: memref<1x16xf32>, %ids: memref<1x4xi32>, %weights: memref<1x4xf32>) {
  rt.experts %context layer(0) ids(%ids : memref<1x4xi32>) {
  ^bb0(%record : memref<65536xi8>, %pairs : memref<4xi32>):
    rt.prefetch %context layer(1) ids(%ids : memref<1x4xi32>) {
    rt.compute route ins(%logits : memref<1x16xf32>) outs(%ids, %weights : memref<1x4xi32>, memref<1x4xf32>)
      spec {experts = 16 : i64, k = 4 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
      factor = 1.0 : f32}
    }
    // expected-error @+1 {{expects to be the only one for its layer in its rt.experts, and to use none of the body's arguments}}
    rt.prefetch %context layer(1) ids(%ids : memref<1x4xi32>) {
    rt.compute route ins(%logits : memref<1x16xf32>) outs(%ids, %weights : memref<1x4xi32>, memref<1x4xf32>)
      spec {experts = 16 : i64, k = 4 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
      factor = 1.0 : f32}
    }
  }
  return
}

// -----

// rt.experts (C3): a guess from the weights of an expert
func.func @f(%context: !rt.context, %logits: memref<1x16xf32>, %ids: memref<1x4xi32>, %weights: memref<1x4xf32>) {
  rt.experts %context layer(0) ids(%ids : memref<1x4xi32>) {
  ^bb0(%record : memref<65536xi8>, %pairs : memref<4xi32>):
    // expected-error @+1 {{expects to be the only one for its layer in its rt.experts, and to use none of the body's arguments}}
    rt.prefetch %context layer(1) ids(%ids : memref<1x4xi32>) {
      rt.compute linear ins(%record, %weights : memref<65536xi8>, memref<1x4xf32>) outs(%logits : memref<1x16xf32>)
        spec {rows = 16 : i64, columns = 4 : i64, encoding = "f32", bias = false, residual = false}
    }
  }
  return
}
