// SPDX-License-Identifier: Apache-2.0
// Where widths or groups differ within a layer, an activation is quantized once for each distinct group.
// RUN: %moe-opt %s --moe-assign-precision | FileCheck %s
// RUN: %moe-opt %s --moe-assign-precision --cse | FileCheck %s --check-prefix=ONCE

// ONCE-LABEL: func.func @attention
// ONCE-COUNT-2: moe.quantize_act
// ONCE-NOT: moe.quantize_act
// ONCE-LABEL: func.func @experts
// ONCE-COUNT-2: moe.quantize_act
// ONCE-NOT: moe.quantize_act

module attributes {
  moe.options = {quant = "int4", group = "32"},
  moe.precision = [{roles = "attention_k", encoding = "i8/32"}, {roles = "attention_v", encoding = "i8/64"},
                   {roles = "expert_up", encoding = "i8/64"}, {roles = "expert_down", encoding = "f16"}]} {

moe.weight @q : tensor<64x256xf32> role(attention_q) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @k : tensor<64x256xf32> role(attention_k) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @v : tensor<64x256xf32> role(attention_v) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @gate : tensor<4x128x256xf32> role(expert_gate) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @up : tensor<4x128x256xf32> role(expert_up) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @down : tensor<4x256x128xf32> role(expert_down) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)

func.func @attention(%x: tensor<?x256xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  %wq = moe.param @q : tensor<64x256xf32>
  %wk = moe.param @k : tensor<64x256xf32>
  %wv = moe.param @v : tensor<64x256xf32>
  // CHECK: %[[Q:.*]] = moe.quantize_act %[[X:.*]] : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
  // CHECK: moe.linear %[[Q]]
  %q = moe.linear %x, %wq : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  %k = moe.linear %x, %wk : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  // CHECK: %[[V:.*]] = moe.quantize_act %[[X]] : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 64>>
  // CHECK: moe.linear %[[V]]
  %v = moe.linear %x, %wv : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return %q, %k, %v : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}

func.func @experts(%x: tensor<?x256xf32>, %w: tensor<?x2xf32>, %ids: tensor<?x2xi32>) -> tensor<?x256xf32> {
  %g = moe.param @gate : tensor<4x128x256xf32>
  %u = moe.param @up : tensor<4x128x256xf32>
  %d = moe.param @down : tensor<4x256x128xf32>
  // CHECK: %[[G:.*]] = moe.quantize_act %{{.*}} -> tensor<?x256xf32, #moe.act<group = 32>>
  // CHECK: %[[U:.*]] = moe.quantize_act %{{.*}} -> tensor<?x256xf32, #moe.act<group = 64>>
  // CHECK: moe.experts %[[G]], {{.*}} x_up(%[[U]] : tensor<?x256xf32, #moe.act<group = 64>>)
  %y = moe.experts %x, %w, %ids, %g, %u, %d {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x2xf32>,
    tensor<?x2xi32>, tensor<4x128x256xf32>, tensor<4x128x256xf32>, tensor<4x256x128xf32> -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}
}
