// SPDX-License-Identifier: Apache-2.0
// A recurrent layer: states are views of the live state, many tokens take three steps, one token takes one, and all of
// it lowers to kernels.
// RUN: %moe-opt %s --moe-place-weights --moe-plan-memory --moe-check-plan -o %t
// RUN: FileCheck %s --input-file %t
// RUN: %moe-opt %t --moe-generate-kernels | FileCheck %s --check-prefix=LOWER

// 3 * 32 * 4 = 384 bytes for q and k, 3 * 64 * 4 = 768 for v, 4 * 16 * 16 * 4 = 4096 for the rule: 5632.
// CHECK: state_bytes = 5632 : i64
// One region for convolutions, heads * strips tiles for the rule: as many heads, for dimensions up to a strip.
// LOWER-LABEL: @prefill
// LOWER: rt.launch [@kernels::@conv_{{.*}}, @kernels::@conv_{{.*}}, @kernels::@conv_
// LOWER: rt.launch [@kernels::@delta_rule_{{.*}} tiles [#rt.tiles<count = 4, per = call>]
// LOWER: rt.launch [@kernels::@gated_norm_{{.*}} tiles [#rt.tiles<count = 1, per = token>]
// LOWER-LABEL: @decode
// LOWER: rt.launch [@kernels::@delta_step_{{.*}} tiles [#rt.tiles<count = 2, per = call>]
!window = !moe.state<shape = [3, 32], elem = f32>
!values = !moe.state<shape = [3, 64], elem = f32>
!memory = !moe.state<shape = [4, 16, 16], elem = f32>
module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 32 : i64}, moe.chunk = 8 : i64,
                   moe.target = {family = "x86", isa = "avx2"}} {
  moe.weight @embed : tensor<32x64xf32> role(embedding) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @q : tensor<32x64xf32> role(delta_q) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @k : tensor<32x64xf32> role(delta_k) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @v : tensor<64x64xf32> role(delta_v) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @z : tensor<64x64xf32> role(delta_gate) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @a : tensor<4x64xf32> role(recurrent) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @b : tensor<4x64xf32> role(recurrent) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @cq : tensor<32x4xf32> role(recurrent) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @ck : tensor<32x4xf32> role(recurrent) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @cv : tensor<64x4xf32> role(recurrent) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @log : tensor<4xf32> role(recurrent) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @bias : tensor<4xf32> role(recurrent) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @norm : tensor<16xf32> role(norm) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @out : tensor<64x64xf32> role(delta_out) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @logits : tensor<32x64xf32> role(head) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  // CHECK-LABEL: @prefill
  // CHECK-DAG: %[[S0:.*]] = rt.state %{{.*}}[0] : memref<3x32xf32>
  // CHECK-DAG: %[[S1:.*]] = rt.state %{{.*}}[384] : memref<3x32xf32>
  // CHECK-DAG: %[[S2:.*]] = rt.state %{{.*}}[768] : memref<3x64xf32>
  // CHECK-DAG: %[[S3:.*]] = rt.state %{{.*}}[1536] : memref<4x16x16xf32>
  // CHECK: rt.parallel
  // CHECK: rt.compute conv ins(%[[Q:.*]], %{{.*}} : memref<8x32xf32>, memref<512xi8>) outs(%[[Q]], %[[S0]] :
  // CHECK: rt.compute conv ins(%[[K:.*]], %{{.*}} outs(%[[K]], %[[S1]] :
  // CHECK: rt.compute conv ins(%[[V:.*]], %{{.*}} outs(%[[V]], %[[S2]] :
  // CHECK: rt.compute delta_rule ins(%[[Q]], %[[K]], %[[V]], {{.*}} outs(%[[V]], %[[S3]] :
  // CHECK: rt.compute gated_norm ins(%[[V]], {{.*}} outs(%[[V]] :
  func.func @prefill(%tokens: tensor<?xi32>, %position: index, %q0: !window, %k0: !window, %v0: !values, %s0: !memory)
      -> (tensor<?x64xf32>, !window, !window, !values, !memory) {
    %embed = moe.param @embed : tensor<32x64xf32>
    %q = moe.param @q : tensor<32x64xf32>
    %k = moe.param @k : tensor<32x64xf32>
    %v = moe.param @v : tensor<64x64xf32>
    %z = moe.param @z : tensor<64x64xf32>
    %a = moe.param @a : tensor<4x64xf32>
    %b = moe.param @b : tensor<4x64xf32>
    %cq = moe.param @cq : tensor<32x4xf32>
    %ck = moe.param @ck : tensor<32x4xf32>
    %cv = moe.param @cv : tensor<64x4xf32>
    %log = moe.param @log : tensor<4xf32>
    %bias = moe.param @bias : tensor<4xf32>
    %norm = moe.param @norm : tensor<16xf32>
    %out = moe.param @out : tensor<64x64xf32>
    %x = moe.embed %tokens, %embed : tensor<?xi32>, tensor<32x64xf32> -> tensor<?x64xf32>
    %yq = moe.linear %x, %q : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    %yk = moe.linear %x, %k : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    %yv = moe.linear %x, %v : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %yz = moe.linear %x, %z : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    %ya = moe.linear %x, %a : tensor<?x64xf32>, tensor<4x64xf32> -> tensor<?x4xf32>
    %yb = moe.linear %x, %b : tensor<?x64xf32>, tensor<4x64xf32> -> tensor<?x4xf32>
    %y, %q1, %k1, %v1, %s1 = moe.delta_step %yq, %yk, %yv, %yz, %ya, %yb conv(%cq, %ck, %cv) decay(%log, %bias)
      norm(%norm) states(%q0, %k0, %v0, %s0)
      {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>}
      : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>,
        tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !window, !window, !values, !memory
    %sum = moe.linear %y, %out residual(%x : tensor<?x64xf32>) : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
    return %sum, %q1, %k1, %v1, %s1 : tensor<?x64xf32>, !window, !window, !values, !memory
  }
  // CHECK-LABEL: @decode
  // CHECK-DAG: %[[T0:.*]] = rt.state %{{.*}}[0] : memref<3x32xf32>
  // CHECK-DAG: %[[T3:.*]] = rt.state %{{.*}}[1536] : memref<4x16x16xf32>
  // CHECK-NOT: rt.compute conv
  // CHECK: rt.compute delta_step ins(%{{.*}}, %{{.*}}, %[[V:[^ ]*]], {{.*}} outs(%[[V]], %[[T0]], %{{.*}}, %{{.*}}, %[[T3]] :
  // CHECK-SAME: spec {activation = "silu", encoding = "f32", eps = {{.*}} group = 0 : i64, head_map = "grouped", key_heads = 2 : i64
  func.func @decode(%tokens: tensor<1xi32>, %position: index, %q0: !window, %k0: !window, %v0: !values, %s0: !memory)
      -> (tensor<1x64xf32>, !window, !window, !values, !memory) {
    %embed = moe.param @embed : tensor<32x64xf32>
    %q = moe.param @q : tensor<32x64xf32>
    %k = moe.param @k : tensor<32x64xf32>
    %v = moe.param @v : tensor<64x64xf32>
    %z = moe.param @z : tensor<64x64xf32>
    %a = moe.param @a : tensor<4x64xf32>
    %b = moe.param @b : tensor<4x64xf32>
    %cq = moe.param @cq : tensor<32x4xf32>
    %ck = moe.param @ck : tensor<32x4xf32>
    %cv = moe.param @cv : tensor<64x4xf32>
    %log = moe.param @log : tensor<4xf32>
    %bias = moe.param @bias : tensor<4xf32>
    %norm = moe.param @norm : tensor<16xf32>
    %out = moe.param @out : tensor<64x64xf32>
    %x = moe.embed %tokens, %embed : tensor<1xi32>, tensor<32x64xf32> -> tensor<1x64xf32>
    %yq = moe.linear %x, %q : tensor<1x64xf32>, tensor<32x64xf32> -> tensor<1x32xf32>
    %yk = moe.linear %x, %k : tensor<1x64xf32>, tensor<32x64xf32> -> tensor<1x32xf32>
    %yv = moe.linear %x, %v : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
    %yz = moe.linear %x, %z : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
    %ya = moe.linear %x, %a : tensor<1x64xf32>, tensor<4x64xf32> -> tensor<1x4xf32>
    %yb = moe.linear %x, %b : tensor<1x64xf32>, tensor<4x64xf32> -> tensor<1x4xf32>
    %y, %q1, %k1, %v1, %s1 = moe.delta_step %yq, %yk, %yv, %yz, %ya, %yb conv(%cq, %ck, %cv) decay(%log, %bias)
      norm(%norm) states(%q0, %k0, %v0, %s0)
      {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>}
      : tensor<1x32xf32>, tensor<1x64xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<32x4xf32>, tensor<32x4xf32>,
        tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, !window, !window, !values, !memory
    %sum = moe.linear %y, %out residual(%x : tensor<1x64xf32>) : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
    return %sum, %q1, %k1, %v1, %s1 : tensor<1x64xf32>, !window, !window, !values, !memory
  }
  func.func @head(%x: tensor<?x64xf32>) -> tensor<?x32xf32> {
    %head = moe.param @logits : tensor<32x64xf32>
    %y = moe.linear %x, %head : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
    return %y : tensor<?x32xf32>
  }
}
