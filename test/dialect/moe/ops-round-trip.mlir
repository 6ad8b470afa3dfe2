// SPDX-License-Identifier: Apache-2.0
// Every operation of level L1 prints what it parses, in custom and in generic form. The examples of the descriptions.
// RUN: %moe-opt %s | %moe-opt | FileCheck %s
// RUN: %moe-opt %s --mlir-print-op-generic | %moe-opt | FileCheck %s

// CHECK: moe.weight @layers.0.k : tensor<64x256xf32> role({{ ?}}attention_k) layer(0) source(
moe.weight @layers.0.k : tensor<64x256xf32> role(attention_k) layer(0)
  source(<dtype = "bf16", files = [0], offsets = [4096]>)

// CHECK: moe.weight @layers.0.attention_gate : tensor<64x256xf32> role({{ ?}}attention_gate) layer(0) source(
// CHECK-SAME: files = [0, 0], offsets = [0, 65536]
moe.weight @layers.0.attention_gate : tensor<64x256xf32> role(attention_gate) layer(0)
  source(<dtype = "bf16", files = [0, 0], offsets = [0, 65536]>)

// CHECK-LABEL: @param
func.func @param() -> tensor<64x256xf32> {
  // CHECK: moe.param @layers.0.k : tensor<64x256xf32>
  %w = moe.param @layers.0.k : tensor<64x256xf32>
  return %w : tensor<64x256xf32>
}

// CHECK-LABEL: @embed
func.func @embed(%tokens: tensor<?xi32>, %w: tensor<2048x256xf32>) -> tensor<?x256xf32> {
  // CHECK: moe.embed %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<2048x256xf32> -> tensor<?x256xf32>
  %x = moe.embed %tokens, %w : tensor<?xi32>, tensor<2048x256xf32> -> tensor<?x256xf32>
  return %x : tensor<?x256xf32>
}

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<?x256xf32>, %w: tensor<64x256xf32>, %b: tensor<64xf32>, %r: tensor<?x64xf32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: moe.linear %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  %y = moe.linear %x, %w : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  // CHECK: moe.linear %{{.*}}, %{{.*}} bias(%{{.*}} : tensor<64xf32>) residual(%{{.*}} : tensor<?x64xf32>)
  %z = moe.linear %x, %w bias(%b : tensor<64xf32>) residual(%r : tensor<?x64xf32>)
    : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}

// CHECK-LABEL: @rms_norm
func.func @rms_norm(%x: tensor<?x256xf32>, %w: tensor<256xf32>) -> tensor<?x256xf32> {
  // CHECK: moe.rms_norm %{{.*}}, %{{.*}} {eps = {{.*}} : f32} : tensor<?x256xf32>, tensor<256xf32>
  %y = moe.rms_norm %x, %w {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<256xf32>
  return %y : tensor<?x256xf32>
}

// CHECK-LABEL: @rope
func.func @rope(%x: tensor<?x256xf32>, %position: index) -> tensor<?x256xf32> {
  // CHECK: moe.rope %{{.*}}, %{{.*}} {dim = 32 : i64, head_dim = 32 : i64, theta = {{.*}} : f64}
  %y = moe.rope %x, %position {head_dim = 32, dim = 32, theta = 1.0e4 : f64} : tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}

// CHECK-LABEL: @rope_stretched
func.func @rope_stretched(%x: tensor<?x256xf32>, %position: index) -> tensor<?x256xf32> {
  // CHECK: scaling = #moe.rope_scaling<kind = llama3, factor = 8.000000e+00 : f64, low = 1.000000e+00 : f64,
  // CHECK-SAME: high = 4.000000e+00 : f64, original = 8192>
  %y = moe.rope %x, %position {head_dim = 32, dim = 16, theta = 5.0e5 : f64, scaling =
    #moe.rope_scaling<kind = llama3, factor = 8.0 : f64, low = 1.0 : f64, high = 4.0 : f64, original = 8192>}
    : tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}

// CHECK-LABEL: @attend
func.func @attend(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %position: index,
    %c0: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> (tensor<?x256xf32>,
    !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) {
  // CHECK: moe.cache_append %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : !moe.cache<kv_heads = 2, qk_dim = 32,
  %c1 = moe.cache_append %c0, %k, %v, %position
    : !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, tensor<?x64xf32>, tensor<?x64xf32>
  // CHECK: moe.attention %{{.*}}, %{{.*}}, %{{.*}} {heads = 8 : i64, scale = {{.*}} : f32}
  %o, %c2 = moe.attention %q, %c1, %position {heads = 8, scale = 0.176776695 : f32}
    : tensor<?x256xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32> -> tensor<?x256xf32>
  return %o, %c2 : tensor<?x256xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
}

// CHECK-LABEL: @experts
func.func @experts(%logits: tensor<?x16xf32>, %x: tensor<?x256xf32>, %gate: tensor<16x128x256xf32>,
    %up: tensor<16x128x256xf32>, %down: tensor<16x256x128xf32>) -> tensor<?x256xf32> {
  // CHECK: moe.route %{{.*}} {k = 4 : i64, renormalize, score = #moe.score<softmax>}
  %w, %ids = moe.route %logits {k = 4, score = #moe.score<softmax>, renormalize}
    : tensor<?x16xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  // CHECK: moe.experts {{.*}} {glu = #moe.glu<swiglu>}
  %y = moe.experts %x, %w, %ids, %gate, %up, %down {glu = #moe.glu<swiglu>}
    : tensor<?x256xf32>, tensor<?x4xf32>, tensor<?x4xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32>,
      tensor<16x256x128xf32> -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}
