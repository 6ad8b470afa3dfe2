// SPDX-License-Identifier: Apache-2.0
// Every operation of the rt dialect prints what it parses, in custom and in generic form.
// RUN: %moe-opt %s | %moe-opt | FileCheck %s
// RUN: %moe-opt %s --mlir-print-op-generic | %moe-opt | FileCheck %s

module @kernels {
  func.func private @quantize_0()
}

// CHECK-LABEL: @views
func.func @views(%context: !rt.context) {
  // CHECK: rt.arena %{{.*}}[0] : memref<64x256xf32>
  %x = rt.arena %context[0] : memref<64x256xf32>
  // CHECK: rt.arena %{{.*}}[65536] at_position : memref<64x8xf32>
  %y = rt.arena %context[65536] at_position : memref<64x8xf32>
  // CHECK: rt.resident %{{.*}}[4096] : memref<18432xi8>
  %w = rt.resident %context[4096] : memref<18432xi8>
  // CHECK: rt.kv %{{.*}}[9216] : memref<589824xi8>
  %kv = rt.kv %context[9216] : memref<589824xi8>
  // CHECK: rt.state %{{.*}}[6144] : memref<4x16x16xf32>
  %s = rt.state %context[6144] : memref<4x16x16xf32>
  // CHECK: rt.kv_window %{{.*}} : memref<4xi32>
  %window = rt.kv_window %context : memref<4xi32>
  // CHECK: rt.tokens %{{.*}} : memref<64xi32>
  %tokens = rt.tokens %context : memref<64xi32>
  // CHECK: rt.poll %{{.*}} layer(3)
  rt.poll %context layer(3)
  return
}

// CHECK-LABEL: @rows
func.func @rows(%context: !rt.context, %rows: memref<17408xi8>) {
  // CHECK: rt.read_rows %{{.*}} table(0) into %{{.*}} : memref<17408xi8>
  rt.read_rows %context table(0) into %rows : memref<17408xi8>
  return
}

// CHECK-LABEL: @steps
func.func @steps(%x: memref<64x256xf32>, %codes: memref<64x256xi8>, %scales: memref<64x8xf32>,
    %sums: memref<64x8xi32>) {
  // CHECK: rt.compute quantize ins(%{{.*}} : memref<64x256xf32>) outs(%{{.*}}, %{{.*}}, %{{.*}} :
  rt.compute quantize ins(%x : memref<64x256xf32>)
    outs(%codes, %scales, %sums : memref<64x256xi8>, memref<64x8xf32>, memref<64x8xi32>) spec {group = 32 : i64}
  // CHECK: rt.parallel {
  // CHECK-NEXT: rt.compute quantize
  rt.parallel {
    rt.compute quantize ins(%x : memref<64x256xf32>)
      outs(%codes, %scales, %sums : memref<64x256xi8>, memref<64x8xf32>, memref<64x8xi32>) spec {group = 32 : i64}
  }
  // CHECK: rt.compute glu ins({{.*}} spec {glu = "swiglu", group = 32 : i64}
  rt.compute glu ins(%x, %x : memref<64x256xf32>, memref<64x256xf32>)
    outs(%codes, %scales, %sums : memref<64x256xi8>, memref<64x8xf32>, memref<64x8xi32>)
    spec {glu = "swiglu", group = 32 : i64}
  // CHECK: rt.compute gate ins({{.*}} spec {activation = "sigmoid", group = 0 : i64, residual = true}
  rt.compute gate ins(%x, %x, %x : memref<64x256xf32>, memref<64x256xf32>, memref<64x256xf32>)
    outs(%x : memref<64x256xf32>) spec {activation = "sigmoid", group = 0 : i64, residual = true}
  // CHECK: rt.launch [@kernels::@quantize_0] tiles [#rt.tiles<count = 1, per = token>] segments [4] args(
  rt.launch [@kernels::@quantize_0] tiles [#rt.tiles<count = 1, per = token>] segments [4]
    args(%x, %codes, %scales, %sums : memref<64x256xf32>, memref<64x256xi8>, memref<64x8xf32>, memref<64x8xi32>)
  return
}

// CHECK-LABEL: @experts
func.func @experts(%context: !rt.context, %ids: memref<64x4xi32>, %h: memref<256x128xf32>, %y: memref<256x256xf32>) {
  // CHECK: rt.experts %{{.*}} layer(0) ids(%{{.*}} : memref<64x4xi32>)
  // CHECK: rt.compute down
  rt.experts %context layer(0) ids(%ids : memref<64x4xi32>) {
  ^bb0(%record : memref<65536xi8>, %pairs : memref<256xi32>):
    rt.compute down ins(%record, %pairs, %h : memref<65536xi8>, memref<256xi32>, memref<256x128xf32>)
      outs(%y : memref<256x256xf32>) spec {inner = 128 : i64, hidden = 256 : i64, encoding = "f32",
      down_offset = 0 : i64, top_k = 4 : i64}
  }
  return
}

// CHECK-LABEL: @prefetch
func.func @prefetch(%context: !rt.context, %logits: memref<1x16xf32>, %ids: memref<1x4xi32>,
    %weights: memref<1x4xf32>) {
  // CHECK: rt.prefetch %{{.*}} layer(1) ids(%{{.*}} : memref<1x4xi32>) {
  // CHECK-NEXT: rt.compute route
  rt.prefetch %context layer(1) ids(%ids : memref<1x4xi32>) {
    rt.compute route ins(%logits : memref<1x16xf32>) outs(%ids, %weights : memref<1x4xi32>, memref<1x4xf32>)
      spec {experts = 16 : i64, k = 4 : i64, score = "none", renormalize = false, renorm_eps = 0.0 : f32,
      factor = 1.0 : f32}
  }
  return
}
