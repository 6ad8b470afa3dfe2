// SPDX-License-Identifier: Apache-2.0
// Dense layers: biases, the gated linear unit and gates are steps; one that is only quantized emits codes itself; a
// model without experts has no records and no slots.
// RUN: %moe-opt %s --moe-place-weights --moe-plan-memory --moe-check-plan | FileCheck %s

!x = tensor<?x64xf32>
!codes = tensor<?x64xf32, #moe.act<group = 32>>
!w = tensor<64x64xf32, #moe.q<scheme = i8, group = 32>>

// CHECK: rt.pack = {num_expert_records = 0 : i64
// CHECK-SAME: record_bytes = 0 : i64
// CHECK: rt.plan = {
// CHECK-SAME: min_slots = 0 : i64
// CHECK-SAME: num_expert_records = 0 : i64
module attributes {moe.target = {family = "x86"}, moe.chunk = 4 : i64,
    moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}} {
  moe.weight @embed : tensor<64x64xf32> role(embedding) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @up : !w role(ffn_up) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @gate : !w role(ffn_gate) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @down : !w role(ffn_down) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @bias : tensor<64xf32> role(bias) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @router : tensor<1x64xf32> role(shared_router) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @output_head : tensor<64x64xf32> role(head) source(<dtype = "bf16", files = [0], offsets = [0]>)

  // CHECK-LABEL: @prefill
  func.func @prefill(%tokens: tensor<?xi32>, %position: index) -> !x {
    %table = moe.param @embed : tensor<64x64xf32>
    %x = moe.embed %tokens, %table : tensor<?xi32>, tensor<64x64xf32> -> !x
    %q = moe.quantize_act %x : !x -> !codes
    %wg = moe.param @gate : !w
    %wu = moe.param @up : !w
    %wd = moe.param @down : !w
    %b = moe.param @bias : tensor<64xf32>
    // CHECK: rt.parallel
    // CHECK-NEXT: rt.compute linear ins({{.*}} memref<64xf32>) outs({{.*}}spec {bias = true{{.*}}residual = false
    // CHECK-NEXT: rt.compute linear ins({{.*}} memref<64xf32>) outs({{.*}}spec {bias = true{{.*}}residual = false
    %g, %u = moe.multi_linear %q, %wg, %wu biases(%b, %b : tensor<64xf32>, tensor<64xf32>) : !codes, !w, !w -> !x, !x
    // CHECK: rt.compute glu ins(%[[G:.*]], %[[U:.*]] : memref<4x64xf32>, memref<4x64xf32>)
    // CHECK-SAME: outs({{.*}} memref<4x64xi8>, memref<4x2xf32>, memref<4x2xi32>) spec {glu = "swiglu", group = 32 : i64}
    // CHECK-NOT: rt.compute quantize
    %h = moe.glu %g, %u {glu = #moe.glu<swiglu>} : !x
    %hq = moe.quantize_act %h : !x -> !codes
    // CHECK: rt.compute linear {{.*}}bias = false{{.*}}residual = true
    %y = moe.linear %hq, %wd residual(%x : !x) : !codes, !w -> !x
    // A result that is read as floats is stored; an output gate in front of a product emits codes.
    // CHECK: rt.compute gate {{.*}} outs({{.*}} : memref<4x64xf32>) spec {activation = "silu", group = 0 : i64, residual = false}
    // CHECK: rt.compute gate {{.*}} outs({{.*}} memref<4x64xi8>, {{.*}}spec {activation = "sigmoid", group = 32 : i64, residual = false}
    %a = moe.gate %g, %u {kind = #moe.activation<silu>} : !x, !x
    %c = moe.gate %a, %u {kind = #moe.activation<sigmoid>} : !x, !x
    %cq = moe.quantize_act %c : !x -> !codes
    %o = moe.linear %cq, %wu : !codes, !w -> !x
    // One value a token, and the residual in place.
    %wr = moe.param @router : tensor<1x64xf32>
    %r = moe.linear %y, %wr : !x, tensor<1x64xf32> -> tensor<?x1xf32>
    // CHECK: rt.compute gate ins(%{{.*}}, %{{.*}}, %[[X:.*]] : memref<4x64xf32>, memref<4x1xf32>, memref<4x64xf32>) outs(%[[X]] :
    // CHECK-SAME: residual = true
    %z = moe.gate %o, %r residual(%y : !x) {kind = #moe.activation<sigmoid>} : !x, tensor<?x1xf32>
    return %z : !x
  }

  func.func @decode(%tokens: tensor<1xi32>, %position: index) -> tensor<1x64xf32> {
    %table = moe.param @embed : tensor<64x64xf32>
    %x = moe.embed %tokens, %table : tensor<1xi32>, tensor<64x64xf32> -> tensor<1x64xf32>
    return %x : tensor<1x64xf32>
  }

  func.func @head(%x: !x) -> !x {
    %w = moe.param @output_head : tensor<64x64xf32>
    %y = moe.linear %x, %w : !x, tensor<64x64xf32> -> !x
    return %y : !x
  }
}
