// SPDX-License-Identifier: Apache-2.0
// Guesses from the sum that is about to get the output of experts are made once their reads have begun, the nearest layer
// first; any other where it stands. It has buffers of its own.
// RUN: %moe-opt %s --moe-place-weights --moe-plan-memory --moe-check-plan | FileCheck %s

!e = tensor<8x64x64xf32>
!x = tensor<1x64xf32>

module attributes {moe.target = {family = "x86"}, moe.chunk = 4 : i64,
    moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64, top_k = 2 : i64, num_layers = 3 : i64}} {
  moe.weight @embed : tensor<64x64xf32> role(embedding) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @n0 : tensor<64xf32> role(norm) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @r0 : tensor<8x64xf32> role(router) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @g0 : !e role(expert_gate) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @n1 : tensor<64xf32> role(norm) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @r1 : tensor<8x64xf32> role(router) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @n2 : tensor<64xf32> role(norm) layer(2) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @r2 : tensor<8x64xf32> role(router) layer(2) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @output_head : tensor<64x64xf32> role(head) source(<dtype = "bf16", files = [0], offsets = [0]>)

  func.func @prefill(%tokens: tensor<?xi32>, %position: index) -> tensor<?x64xf32> {
    %table = moe.param @embed : tensor<64x64xf32>
    %x = moe.embed %tokens, %table : tensor<?xi32>, tensor<64x64xf32> -> tensor<?x64xf32>
    return %x : tensor<?x64xf32>
  }

  // CHECK-LABEL: @decode
  func.func @decode(%tokens: tensor<1xi32>, %position: index) -> !x {
    // CHECK: rt.compute gather {{.*}} outs(%[[X:[^ ]+]] :
    %table = moe.param @embed : tensor<64x64xf32>
    %x = moe.embed %tokens, %table : tensor<1xi32>, tensor<64x64xf32> -> !x
    // CHECK-NEXT: rt.prefetch %{{.*}} layer(0) ids(%[[FIRST:.*]] : memref<1x2xi32>) {
    // CHECK-NEXT: rt.compute norm ins(%[[X]], %{{.*}}) outs(%[[Y:[^ ]+]] : {{.*}}emit_float = true, {{.*}} group = 0
    // CHECK-NEXT: rt.compute linear ins(%{{.*}}, %[[Y]] : {{.*}} outs(%[[LOGITS:[^ ]+]] :
    // CHECK-NEXT: rt.compute route ins(%[[LOGITS]] : {{.*}} outs(%[[FIRST]], %{{.*}} k = 2 : i64, {{.*}} score = "none"}
    // CHECK-NEXT: }
    %n0 = moe.param @n0 : tensor<64xf32>
    %r0 = moe.param @r0 : tensor<8x64xf32>
    moe.predict_experts %x norm(%n0) router(%r0) {layer = 0, k = 2, eps = 1.0e-6 : f32} : !x, tensor<64xf32>, tensor<8x64xf32>
    // CHECK-NEXT: rt.poll %{{.*}} layer(0)
    // CHECK-NEXT: rt.compute norm
    // CHECK-NEXT: rt.compute linear
    // CHECK-NEXT: rt.compute route ins({{.*}} outs(%[[IDS:[^ ,]+]],
    %y = moe.rms_norm %x, %n0 {eps = 1.0e-6 : f32} : !x, tensor<64xf32>
    %w, %ids = moe.router_topk %y, %r0 {k = 2, score = #moe.score<softmax>}
      : !x, tensor<8x64xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
    %n1 = moe.param @n1 : tensor<64xf32>
    %r1 = moe.param @r1 : tensor<8x64xf32>
    moe.predict_experts %x norm(%n1) router(%r1) {layer = 1, k = 2, eps = 1.0e-6 : f32} : !x, tensor<64xf32>, tensor<8x64xf32>
    %n2 = moe.param @n2 : tensor<64xf32>
    %r2 = moe.param @r2 : tensor<8x64xf32>
    moe.predict_experts %x norm(%n2) router(%r2) {layer = 2, k = 2, eps = 1.0e-6 : f32} : !x, tensor<64xf32>, tensor<8x64xf32>
    // Once for a layer: the same guess again says nothing new.
    moe.predict_experts %x norm(%n2) router(%r2) {layer = 2, k = 2, eps = 1.0e-6 : f32} : !x, tensor<64xf32>, tensor<8x64xf32>
    // CHECK-NEXT: rt.experts %{{.*}} layer(0) ids(%[[IDS]] :
    // CHECK-NEXT: ^bb0(
    // CHECK-NEXT: rt.prefetch %{{.*}} layer(1)
    // CHECK-NEXT: rt.compute norm ins(%[[X]],
    // CHECK-NEXT: rt.compute linear
    // CHECK-NEXT: rt.compute route {{.*$}}
    // CHECK-NEXT: }
    // CHECK-NEXT: rt.prefetch %{{.*}} layer(2)
    // CHECK-NEXT: rt.compute norm ins(%[[X]],
    // CHECK-NEXT: rt.compute linear
    // CHECK-NEXT: rt.compute route {{.*$}}
    // CHECK-NEXT: }
    // CHECK-NEXT: rt.compute gate_up
    // CHECK-NEXT: rt.compute down {{.*$}}
    // CHECK-NEXT: }
    // CHECK-NEXT: rt.compute combine
    // CHECK-NEXT: return
    %g = moe.param @g0 : !e
    %z = moe.experts %y, %w, %ids, %g, %g, %g residual(%x : !x) {glu = #moe.glu<swiglu>}
      : !x, tensor<1x2xf32>, tensor<1x2xi32>, !e, !e, !e -> !x
    return %z : !x
  }

  func.func @head(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    %w = moe.param @output_head : tensor<64x64xf32>
    %y = moe.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}
