// SPDX-License-Identifier: Apache-2.0
// Where one token is computed, the experts of a layer are guessed from the sum with all of the layer before (late), and
// from the sum before the experts of that layer were added (early). A prompt is left alone.
// RUN: %moe-opt %s \
// RUN:   --pass-pipeline="builtin.module(func.func(moe-insert-prediction))" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,LATE,EARLY
// RUN: %moe-opt %s \
// RUN:   --pass-pipeline="builtin.module(func.func(moe-insert-prediction{points=late}))" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,LATE,NOT-EARLY
// RUN: %moe-opt %s \
// RUN:   --pass-pipeline="builtin.module(func.func(moe-insert-prediction{points=early}))" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,EARLY,NOT-LATE
// RUN: %moe-opt %s \
// RUN:   --pass-pipeline="builtin.module(func.func(moe-insert-prediction{points=off}))" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,NOT-EARLY,NOT-LATE

!e = tensor<8x64x64xf32>

module {
  moe.weight @n0 : tensor<64xf32> role(norm) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @r0 : tensor<8x64xf32> role(router) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @g0 : !e role(expert_gate) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @o0 : tensor<64x64xf32> role(attention_o) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @n1 : tensor<64xf32> role(norm) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @r1 : tensor<8x64xf32> role(router) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @g1 : !e role(expert_gate) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @o1 : tensor<64x64xf32> role(attention_o) layer(1)
    source(<dtype = "bf16", files = [0], offsets = [0]>)

  // CHECK-LABEL: @decode
  // CHECK-SAME: %[[X:.*]]: tensor<1x64xf32>
  func.func @decode(%given: tensor<1x64xf32>) -> tensor<1x64xf32> {
    // CHECK: %[[EMBEDDED:.*]] = arith.addf
    %x = arith.addf %given, %given : tensor<1x64xf32>
    // LATE-NEXT: %[[N:.*]] = moe.param @n0
    // LATE-NEXT: %[[R:.*]] = moe.param @r0
    // LATE-NEXT: moe.predict_experts %[[EMBEDDED]] norm(%[[N]]) router(%[[R]]) {eps = 9.99999997E-7 : f32, k = 2 : i64, layer = 0
    // NOT-LATE-NOT: layer = 0
    // CHECK: %[[ATTENDED:.*]] = moe.linear
    // CHECK: moe.router_topk
    // NOT-EARLY-NOT: moe.predict_experts
    // EARLY: moe.predict_experts %[[ATTENDED]] norm({{.*}}, layer = 1
    // CHECK-NEXT: %[[SUM:.*]] = moe.experts
    // LATE: moe.predict_experts %[[SUM]] norm({{.*}}, layer = 1
    // NOT-LATE-NOT: moe.predict_experts
    // CHECK: moe.router_topk
    // CHECK: moe.experts
    // CHECK-NEXT: return
    %n0 = moe.param @n0 : tensor<64xf32>
    %r0 = moe.param @r0 : tensor<8x64xf32>
    %g0 = moe.param @g0 : !e
    %o0 = moe.param @o0 : tensor<64x64xf32>
    %a0 = moe.linear %x, %o0 residual(%x : tensor<1x64xf32>) : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
    %y0 = moe.rms_norm %a0, %n0 {eps = 1.0e-6 : f32} : tensor<1x64xf32>, tensor<64xf32>
    %w0, %i0 = moe.router_topk %y0, %r0 {k = 2, score = #moe.score<softmax>}
      : tensor<1x64xf32>, tensor<8x64xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
    %e0 = moe.experts %y0, %w0, %i0, %g0, %g0, %g0 residual(%a0 : tensor<1x64xf32>) {glu = #moe.glu<swiglu>}
      : tensor<1x64xf32>, tensor<1x2xf32>, tensor<1x2xi32>, !e, !e, !e -> tensor<1x64xf32>
    %n1 = moe.param @n1 : tensor<64xf32>
    %r1 = moe.param @r1 : tensor<8x64xf32>
    %g1 = moe.param @g1 : !e
    %o1 = moe.param @o1 : tensor<64x64xf32>
    %a1 = moe.linear %e0, %o1 residual(%e0 : tensor<1x64xf32>) : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
    %y1 = moe.rms_norm %a1, %n1 {eps = 1.0e-6 : f32} : tensor<1x64xf32>, tensor<64xf32>
    %w1, %i1 = moe.router_topk %y1, %r1 {k = 2, score = #moe.score<softmax>}
      : tensor<1x64xf32>, tensor<8x64xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
    %e1 = moe.experts %y1, %w1, %i1, %g1, %g1, %g1 residual(%a1 : tensor<1x64xf32>) {glu = #moe.glu<swiglu>}
      : tensor<1x64xf32>, tensor<1x2xf32>, tensor<1x2xi32>, !e, !e, !e -> tensor<1x64xf32>
    return %e1 : tensor<1x64xf32>
  }

  // CHECK-LABEL: @prefill
  // CHECK-NOT: moe.predict_experts
  func.func @prefill(%given: tensor<?x64xf32>) -> tensor<?x64xf32> {
    %x = arith.addf %given, %given : tensor<?x64xf32>
    %n0 = moe.param @n0 : tensor<64xf32>
    %r0 = moe.param @r0 : tensor<8x64xf32>
    %g0 = moe.param @g0 : !e
    %o0 = moe.param @o0 : tensor<64x64xf32>
    %a0 = moe.linear %x, %o0 residual(%x : tensor<?x64xf32>) : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %y0 = moe.rms_norm %a0, %n0 {eps = 1.0e-6 : f32} : tensor<?x64xf32>, tensor<64xf32>
    %w0, %i0 = moe.router_topk %y0, %r0 {k = 2, score = #moe.score<softmax>}
      : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
    %e0 = moe.experts %y0, %w0, %i0, %g0, %g0, %g0 residual(%a0 : tensor<?x64xf32>) {glu = #moe.glu<swiglu>}
      : tensor<?x64xf32>, tensor<?x2xf32>, tensor<?x2xi32>, !e, !e, !e -> tensor<?x64xf32>
    %n1 = moe.param @n1 : tensor<64xf32>
    %r1 = moe.param @r1 : tensor<8x64xf32>
    %g1 = moe.param @g1 : !e
    %o1 = moe.param @o1 : tensor<64x64xf32>
    %a1 = moe.linear %e0, %o1 residual(%e0 : tensor<?x64xf32>) : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %y1 = moe.rms_norm %a1, %n1 {eps = 1.0e-6 : f32} : tensor<?x64xf32>, tensor<64xf32>
    %w1, %i1 = moe.router_topk %y1, %r1 {k = 2, score = #moe.score<softmax>}
      : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
    %e1 = moe.experts %y1, %w1, %i1, %g1, %g1, %g1 residual(%a1 : tensor<?x64xf32>) {glu = #moe.glu<swiglu>}
      : tensor<?x64xf32>, tensor<?x2xf32>, tensor<?x2xi32>, !e, !e, !e -> tensor<?x64xf32>
    return %e1 : tensor<?x64xf32>
  }
}
