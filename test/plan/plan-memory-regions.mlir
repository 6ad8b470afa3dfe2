// SPDX-License-Identifier: Apache-2.0
// Products of a layer whose activations are there start together, whatever the form of their activations: those of a
// shared expert in the region of the router. One that sums a residual, or of another layer, stays where it is.
// RUN: %moe-opt %s --moe-place-weights --moe-plan-memory --moe-check-plan | FileCheck %s

!x = tensor<?x64xf32>
!codes = tensor<?x64xf32, #moe.act<group = 32>>
!w = tensor<64x64xf32, #moe.q<scheme = i8, group = 32>>

module attributes {moe.target = {family = "x86"}, moe.chunk = 4 : i64,
    moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64, top_k = 1 : i64}} {
  moe.weight @embed : tensor<64x64xf32> role(embedding) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @norm : tensor<64xf32> role(norm) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @router : tensor<8x64xf32> role(router) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @gate : !w role(shared_gate) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @up : !w role(shared_up) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @scale : tensor<1x64xf32> role(shared_router) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @next : !w role(attention_q) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @output_head : tensor<64x64xf32> role(head) source(<dtype = "bf16", files = [0], offsets = [0]>)

  // CHECK-LABEL: @prefill
  func.func @prefill(%tokens: tensor<?xi32>, %position: index) -> !x {
    %table = moe.param @embed : tensor<64x64xf32>
    %x = moe.embed %tokens, %table : tensor<?xi32>, tensor<64x64xf32> -> !x
    %n = moe.param @norm : tensor<64xf32>
    %wr = moe.param @router : tensor<8x64xf32>
    %wg = moe.param @gate : !w
    %wu = moe.param @up : !w
    %ws = moe.param @scale : tensor<1x64xf32>
    %wn = moe.param @next : !w
    %y, %q = moe.norm_quantize %x, %n {eps = 1.0e-6 : f32} : !x, tensor<64xf32> -> !codes
    // CHECK: rt.parallel
    // CHECK-NEXT: rt.compute linear {{.*}} encoding = "f32", residual = false, rows = 8
    // CHECK-NEXT: rt.compute linear {{.*}} encoding = "i8/32", residual = false, rows = 64
    // CHECK-NEXT: rt.compute linear {{.*}} encoding = "i8/32", residual = false, rows = 64
    // CHECK-NEXT: rt.compute linear {{.*}} encoding = "f32", residual = false, rows = 1 : i64}
    // CHECK-NEXT: {{^ *}$}}
    // CHECK-NEXT: rt.compute route
    // CHECK-NEXT: rt.compute glu
    %weights, %ids = moe.router_topk %y, %wr {k = 1, score = #moe.score<softmax>}
      : !x, tensor<8x64xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
    %g, %u = moe.multi_linear %q, %wg, %wu : !codes, !w, !w -> !x, !x
    %h = moe.glu %g, %u {glu = #moe.glu<swiglu>} : !x
    %hq = moe.quantize_act %h : !x -> !codes
    // Nothing is started twice.
    // CHECK-NEXT: rt.compute linear {{.*}} rows = 64
    // CHECK-NEXT: rt.compute gate
    // CHECK-NEXT: rt.poll {{.*}} layer(1)
    // CHECK-NEXT: rt.compute linear {{.*}} residual = true
    %d = moe.linear %hq, %wu : !codes, !w -> !x
    %s = moe.linear %y, %ws : !x, tensor<1x64xf32> -> tensor<?x1xf32>
    %r = moe.gate %d, %s residual(%x : !x) {kind = #moe.activation<sigmoid>} : !x, tensor<?x1xf32>
    %o = moe.linear %q, %wn residual(%r : !x) : !codes, !w -> !x
    return %o : !x
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
