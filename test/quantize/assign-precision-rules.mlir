// SPDX-License-Identifier: Apache-2.0
// Rules of moe.precision select weights by role, layer, name and experts, in order; the later one wins.
// RUN: %moe-opt %s --moe-assign-precision | FileCheck %s

module attributes {
  moe.options = {quant = "int4", group = "64"},
  moe.precision = [
    {roles = "attention_*", encoding = "i8/32"},
    {roles = "attention_q,attention_k", layers = "1-2,7", encoding = "f16"},
    {tensor = "model.layers.*.v.weight", encoding = "i6/128"},
    {layers = "2", roles = "expert_down", experts = "0-3", encoding = "i8/64"},
    {layers = "0", encoding = "i4/32"},
    // 128 does not divide 192 columns, 64 does; not even 32 divides 33.
    {roles = "expert_gate,head", encoding = "i4/128", group_limit}]} {

// CHECK: moe.weight @q0 : tensor<256x256xf32, #moe.q<scheme = i4, group = 32>>
// CHECK: moe.weight @q1 : tensor<256x256xf32, #moe.q<scheme = f16, group = 0>>
// CHECK: moe.weight @v1 : tensor<64x256xf32, #moe.q<scheme = i6, group = 128>>
// CHECK: moe.weight @o1 : tensor<256x256xf32, #moe.q<scheme = i8, group = 32>>
moe.weight @q0 : tensor<256x256xf32> role(attention_q) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @q1 : tensor<256x256xf32> role(attention_q) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @v1 : tensor<64x256xf32> role(attention_v) layer(1) source(<dtype = "bf16", files = [0], offsets = [0], name = "model.layers.1.v.weight">)
moe.weight @o1 : tensor<256x256xf32> role(attention_o) layer(1) source(<dtype = "bf16", files = [0], offsets = [0]>)
// Rules by layer pass over what stays f32.
// CHECK: moe.weight @norm0 : tensor<256xf32> role
// CHECK: moe.weight @router0 : tensor<4x256xf32> role
moe.weight @norm0 : tensor<256xf32> role(norm) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @router0 : tensor<4x256xf32> role(router) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
// CHECK: moe.weight @down2 : tensor<4x256x128xf32, #moe.q<scheme = i8, group = 64>>
// CHECK: moe.weight @down7 : tensor<4x256x128xf32, #moe.q<scheme = i4, group = 64>>
// CHECK: moe.weight @gate7 : tensor<4x128x192xf32, #moe.q<scheme = i4, group = 64>>
// CHECK: moe.weight @head : tensor<2048x33xf32, #moe.q<scheme = f16, group = 0>>
moe.weight @down2 : tensor<4x256x128xf32> role(expert_down) layer(2) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @down7 : tensor<4x256x128xf32> role(expert_down) layer(7) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @gate7 : tensor<4x128x192xf32> role(expert_gate) layer(7) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @head : tensor<2048x33xf32> role(head) source(<dtype = "bf16", files = [0], offsets = [0]>)
}
