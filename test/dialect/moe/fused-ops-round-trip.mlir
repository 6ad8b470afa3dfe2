// SPDX-License-Identifier: Apache-2.0
// Every operation of level L2 prints what it parses, in custom and in generic form. The examples of the descriptions.
// RUN: %moe-opt %s | %moe-opt | FileCheck %s
// RUN: %moe-opt %s --mlir-print-op-generic | %moe-opt | FileCheck %s

// CHECK-LABEL: @quantize
func.func @quantize(%x: tensor<?x256xf32>) -> tensor<?x256xf32, #moe.act<group = 32>> {
  // CHECK: moe.quantize_act %{{.*}} : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
  %q = moe.quantize_act %x : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
  return %q : tensor<?x256xf32, #moe.act<group = 32>>
}

// CHECK-LABEL: @norm_quantize
func.func @norm_quantize(%x: tensor<?x256xf32>, %w: tensor<256xf32>)
    -> (tensor<?x256xf32>, tensor<?x256xf32, #moe.act<group = 32>>) {
  // CHECK: moe.norm_quantize %{{.*}}, %{{.*}} {eps = {{.*}} : f32} : tensor<?x256xf32>, tensor<256xf32> ->
  %y, %q = moe.norm_quantize %x, %w {eps = 1.0e-6 : f32}
    : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
  return %y, %q : tensor<?x256xf32>, tensor<?x256xf32, #moe.act<group = 32>>
}

// CHECK-LABEL: @multi_linear
func.func @multi_linear(%x: tensor<?x256xf32>, %wq: tensor<256x256xf32>, %wk: tensor<64x256xf32>)
    -> (tensor<?x256xf32>, tensor<?x64xf32>) {
  // CHECK: moe.multi_linear %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<256x256xf32>, tensor<64x256xf32>
  %q, %k = moe.multi_linear %x, %wq, %wk
    : tensor<?x256xf32>, tensor<256x256xf32>, tensor<64x256xf32> -> tensor<?x256xf32>, tensor<?x64xf32>
  return %q, %k : tensor<?x256xf32>, tensor<?x64xf32>
}

// CHECK-LABEL: @multi_linear_with_biases
func.func @multi_linear_with_biases(%x: tensor<?x256xf32>, %wq: tensor<256x256xf32>, %wk: tensor<64x256xf32>,
    %bq: tensor<256xf32>, %bk: tensor<64xf32>) -> (tensor<?x256xf32>, tensor<?x64xf32>) {
  // CHECK: moe.multi_linear {{.*}} biases(%{{.*}}, %{{.*}} : tensor<256xf32>, tensor<64xf32>) : tensor<?x256xf32>,
  %q, %k = moe.multi_linear %x, %wq, %wk biases(%bq, %bk : tensor<256xf32>, tensor<64xf32>)
    : tensor<?x256xf32>, tensor<256x256xf32>, tensor<64x256xf32> -> tensor<?x256xf32>, tensor<?x64xf32>
  return %q, %k : tensor<?x256xf32>, tensor<?x64xf32>
}

// CHECK-LABEL: @rope_append
func.func @rope_append(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %position: index,
    %qn: tensor<32xf32>, %kn: tensor<32xf32>,
    %c0: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> (tensor<?x256xf32>,
    !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) {
  // CHECK: moe.rope_append {{.*}} norms(%{{.*}}, %{{.*}} : tensor<32xf32>, tensor<32xf32>)
  %r, %c1 = moe.rope_append %q, %k, %v, %c0, %position norms(%qn, %kn : tensor<32xf32>, tensor<32xf32>)
    {dim = 32, theta = 1.0e4 : f64, eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>,
    !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
  return %r, %c1 : tensor<?x256xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
}

// CHECK-LABEL: @rope_append_stretched
func.func @rope_append_stretched(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %position: index,
    %qn: tensor<32xf32>, %c0: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)
    -> tensor<?x256xf32> {
  // CHECK: moe.rope_append {{.*}} scaling = #moe.rope_scaling<kind = linear, factor = 8.0{{.*}} : f64>
  // CHECK-SAME: unit_offset
  %r, %c1 = moe.rope_append %q, %k, %v, %c0, %position norms(%qn, %qn : tensor<32xf32>, tensor<32xf32>)
    {dim = 8, theta = 1.0e4 : f64, unit_offset, scaling = #moe.rope_scaling<kind = linear, factor = 8.0 : f64>}
    : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>,
    !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
  return %r : tensor<?x256xf32>
}

// CHECK-LABEL: @router
func.func @router(%x: tensor<?x256xf32>, %router: tensor<16x256xf32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  // CHECK: moe.router_topk %{{.*}}, %{{.*}} {k = 4 : i64, renormalize, score = #moe.score<softmax>}
  %w, %ids = moe.router_topk %x, %router {k = 4, score = #moe.score<softmax>, renormalize}
    : tensor<?x256xf32>, tensor<16x256xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  return %w, %ids : tensor<?x4xf32>, tensor<?x4xi32>
}

// CHECK-LABEL: @predict_experts
func.func @predict_experts(%x: tensor<1x256xf32>, %n: tensor<256xf32>, %w: tensor<16x256xf32>) {
  // CHECK: moe.predict_experts %{{.*}} norm(%{{.*}}) router(%{{.*}}) {eps = {{.*}}, k = 4 : i64, layer = 1 : i64}
  moe.predict_experts %x norm(%n) router(%w) {layer = 1, k = 4, eps = 1.0e-6 : f32}
    : tensor<1x256xf32>, tensor<256xf32>, tensor<16x256xf32>
  return
}
