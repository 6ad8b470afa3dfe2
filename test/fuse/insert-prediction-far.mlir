// SPDX-License-Identifier: Apache-2.0
// Of three layers with experts the last is guessed twice before its own turn comes near: from the sum before the experts of
// the first (far) and before those of the second (early).
// RUN: %moe-opt %s --pass-pipeline="builtin.module(func.func(moe-insert-prediction))" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: %moe-opt %s --pass-pipeline="builtin.module(func.func(moe-insert-prediction{points=far}))" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FAR

!e = tensor<8x64x64xf32>
!x = tensor<1x64xf32>

module {
  moe.weight @n0 : tensor<64xf32> role(norm) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @r0 : tensor<8x64xf32> role(router) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @g0 : !e role(expert_gate) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @o0 : tensor<64x64xf32> role(attention_o) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @n1 : tensor<64xf32> role(norm) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @r1 : tensor<8x64xf32> role(router) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @g1 : !e role(expert_gate) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @o1 : tensor<64x64xf32> role(attention_o) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @n2 : tensor<64xf32> role(norm) layer(2) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @r2 : tensor<8x64xf32> role(router) layer(2) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @g2 : !e role(expert_gate) layer(2) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @o2 : tensor<64x64xf32> role(attention_o) layer(2) source(<dtype = "bf16", files = [0], offsets = [0]>)

  // CHECK-LABEL: @decode
  func.func @decode(%given: !x) -> !x {
    // FAR-NOT: moe.predict_experts
    // CHECK: %[[FIRST:.*]] = moe.linear
    // ALL: moe.predict_experts %[[FIRST]] norm({{.*}}, layer = 1
    // CHECK: moe.predict_experts %[[FIRST]] norm({{.*}}, layer = 2
    // CHECK-NEXT: moe.experts
    // FAR-NOT: moe.predict_experts
    // ALL: %[[SECOND:.*]] = moe.linear
    // ALL: moe.predict_experts %[[SECOND]] norm({{.*}}, layer = 2
    // ALL-NEXT: moe.experts
    %x0 = arith.addf %given, %given : !x
    %n0 = moe.param @n0 : tensor<64xf32>
    %r0 = moe.param @r0 : tensor<8x64xf32>
    %g0 = moe.param @g0 : !e
    %o0 = moe.param @o0 : tensor<64x64xf32>
    %a0 = moe.linear %x0, %o0 residual(%x0 : !x) : !x, tensor<64x64xf32> -> !x
    %y0 = moe.rms_norm %a0, %n0 {eps = 1.0e-6 : f32} : !x, tensor<64xf32>
    %w0, %i0 = moe.router_topk %y0, %r0 {k = 2, score = #moe.score<softmax>}
      : !x, tensor<8x64xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
    %x1 = moe.experts %y0, %w0, %i0, %g0, %g0, %g0 residual(%a0 : !x) {glu = #moe.glu<swiglu>}
      : !x, tensor<1x2xf32>, tensor<1x2xi32>, !e, !e, !e -> !x
    %n1 = moe.param @n1 : tensor<64xf32>
    %r1 = moe.param @r1 : tensor<8x64xf32>
    %g1 = moe.param @g1 : !e
    %o1 = moe.param @o1 : tensor<64x64xf32>
    %a1 = moe.linear %x1, %o1 residual(%x1 : !x) : !x, tensor<64x64xf32> -> !x
    %y1 = moe.rms_norm %a1, %n1 {eps = 1.0e-6 : f32} : !x, tensor<64xf32>
    %w1, %i1 = moe.router_topk %y1, %r1 {k = 2, score = #moe.score<softmax>}
      : !x, tensor<8x64xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
    %x2 = moe.experts %y1, %w1, %i1, %g1, %g1, %g1 residual(%a1 : !x) {glu = #moe.glu<swiglu>}
      : !x, tensor<1x2xf32>, tensor<1x2xi32>, !e, !e, !e -> !x
    %n2 = moe.param @n2 : tensor<64xf32>
    %r2 = moe.param @r2 : tensor<8x64xf32>
    %g2 = moe.param @g2 : !e
    %o2 = moe.param @o2 : tensor<64x64xf32>
    %a2 = moe.linear %x2, %o2 residual(%x2 : !x) : !x, tensor<64x64xf32> -> !x
    %y2 = moe.rms_norm %a2, %n2 {eps = 1.0e-6 : f32} : !x, tensor<64xf32>
    %w2, %i2 = moe.router_topk %y2, %r2 {k = 2, score = #moe.score<softmax>}
      : !x, tensor<8x64xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
    %x3 = moe.experts %y2, %w2, %i2, %g2, %g2, %g2 residual(%a2 : !x) {glu = #moe.glu<swiglu>}
      : !x, tensor<1x2xf32>, tensor<1x2xi32>, !e, !e, !e -> !x
    return %x3 : !x
  }
}
