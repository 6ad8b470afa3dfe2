// SPDX-License-Identifier: Apache-2.0
// Entries are lowered once kernels are generated: a step that is no launch yet is refused, wherever it stands.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-lower-entries

// expected-error @+1 {{expects the module @kernels; run moe-generate-kernels first}}
module {
}

// -----

module {
  module @kernels {
  }
  func.func @decode(%context: !rt.context) {
    %x = rt.arena %context[0] : memref<1x16xf32>
    // expected-error @+1 {{'rt.compute' op should be gone before entries are lowered}}
    rt.compute glu ins(%x, %x : memref<1x16xf32>, memref<1x16xf32>) outs(%x : memref<1x16xf32>)
      spec {glu = "swiglu", group = 0 : i64}
    return
  }
}

// -----

// In rt.experts, among the steps of an expert.
module {
  module @kernels {
  }
  func.func @decode(%context: !rt.context) {
    %ids = rt.arena %context[0] : memref<1x4xi32>
    %x = rt.arena %context[64] : memref<1x16xf32>
    rt.experts %context layer(0) ids(%ids : memref<1x4xi32>) {
    ^bb0(%record : memref<65536xi8>, %pairs : memref<4xi32>):
      // expected-error @+1 {{'rt.compute' op expects a launch; run moe-generate-kernels first}}
      rt.compute down ins(%record, %pairs, %x : memref<65536xi8>, memref<4xi32>, memref<1x16xf32>)
        outs(%x : memref<1x16xf32>)
        spec {inner = 16 : i64, hidden = 16 : i64, encoding = "f32", down_offset = 0 : i64, top_k = 4 : i64}
    }
    return
  }
}

// -----

// In rt.prefetch, among the steps of a guess.
module {
  module @kernels {
  }
  func.func @decode(%context: !rt.context) {
    %ids = rt.arena %context[0] : memref<1x4xi32>
    %weights = rt.arena %context[64] : memref<1x4xf32>
    %logits = rt.arena %context[128] : memref<1x16xf32>
    rt.prefetch %context layer(1) ids(%ids : memref<1x4xi32>) {
      // expected-error @+1 {{'rt.compute' op expects a launch; run moe-generate-kernels first}}
      rt.compute route ins(%logits : memref<1x16xf32>) outs(%ids, %weights : memref<1x4xi32>, memref<1x4xf32>)
        spec {experts = 16 : i64, k = 4 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
        factor = 1.0 : f32}
    }
    return
  }
}
