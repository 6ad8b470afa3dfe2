// SPDX-License-Identifier: Apache-2.0
// Each preset encodes weights by their role, and products with quantized weights read int8 activations.
// RUN: %moe-opt %s --moe-assign-precision="preset=int8" | FileCheck %s --check-prefixes=ALL,INT8
// RUN: %moe-opt %s --moe-assign-precision="preset=int4 group=64" \
// RUN:   | FileCheck %s --check-prefixes=ALL,INT4
// RUN: %moe-opt %s --moe-assign-precision="preset=mixed" | FileCheck %s --check-prefixes=ALL,MIXED
// RUN: %moe-opt %s --moe-assign-precision="preset=int6" | FileCheck %s --check-prefixes=ALL,INT6
// RUN: %moe-opt %s --moe-assign-precision="preset=int4m" | FileCheck %s --check-prefixes=ALL,INT4M
// RUN: %moe-opt %s --moe-assign-precision="preset=int8m" | FileCheck %s --check-prefixes=ALL,INT8M
// RUN: %moe-opt %s --moe-assign-precision="preset=f32" | FileCheck %s --check-prefixes=F32
// RUN: %moe-opt %s --moe-assign-precision="preset=f16" | FileCheck %s --check-prefixes=F16

// F32-NOT: moe.q<
// F32-NOT: moe.quantize_act

// Products with f16 weights read plain activations.
// F16: moe.weight @router : tensor<16x256xf32> role
// F16: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = f16, group = 0>>
// F16-NOT: moe.quantize_act

// The router and the norms stay f32 under every preset.
// ALL: moe.weight @norm : tensor<256xf32> role
// ALL: moe.weight @router : tensor<16x256xf32> role
moe.weight @norm : tensor<256xf32> role(norm) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @router : tensor<16x256xf32> role(router) source(<dtype = "bf16", files = [0], offsets = [0]>)
// INT8: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = i8, group = 32>>
// INT4: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = i4, group = 64>>
// INT6: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = i6, group = 32>>
// INT4M: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = i4, group = 32, minimum = true>>
// INT8M: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = i8, group = 32, minimum = true>>
// MIXED: moe.weight @q : tensor<256x256xf32, #moe.q<scheme = i4, group = 32>>
moe.weight @q : tensor<256x256xf32> role(attention_q) source(<dtype = "bf16", files = [0], offsets = [0]>)
// INT4: moe.weight @v : tensor<64x256xf32, #moe.q<scheme = i4, group = 64>>
// MIXED: moe.weight @v : tensor<64x256xf32, #moe.q<scheme = i8, group = 32>>
moe.weight @v : tensor<64x256xf32> role(attention_v) source(<dtype = "bf16", files = [0], offsets = [0]>)
// MIXED: moe.weight @o : tensor<256x256xf32, #moe.q<scheme = i8, group = 32>>
moe.weight @o : tensor<256x256xf32> role(attention_o) source(<dtype = "bf16", files = [0], offsets = [0]>)
// Of the other architectures: what stands for V and O is as sensitive, the gate of a shared expert stays f32.
// MIXED: moe.weight @attention_gate : tensor<256x256xf32, #moe.q<scheme = i4, group = 32>>
moe.weight @attention_gate : tensor<256x256xf32> role(attention_gate)
  source(<dtype = "bf16", files = [0], offsets = [0]>)
// MIXED: moe.weight @delta_q : tensor<64x256xf32, #moe.q<scheme = i4, group = 32>>
moe.weight @delta_q : tensor<64x256xf32> role(delta_q) source(<dtype = "bf16", files = [0], offsets = [0]>)
// MIXED: moe.weight @delta_v : tensor<64x256xf32, #moe.q<scheme = i8, group = 32>>
moe.weight @delta_v : tensor<64x256xf32> role(delta_v) source(<dtype = "bf16", files = [0], offsets = [0]>)
// MIXED: moe.weight @delta_out : tensor<256x256xf32, #moe.q<scheme = i8, group = 32>>
moe.weight @delta_out : tensor<256x256xf32> role(delta_out) source(<dtype = "bf16", files = [0], offsets = [0]>)
// MIXED: moe.weight @ffn_down : tensor<256x256xf32, #moe.q<scheme = i4, group = 32>>
moe.weight @ffn_down : tensor<256x256xf32> role(ffn_down) source(<dtype = "bf16", files = [0], offsets = [0]>)
// ALL: moe.weight @shared_router : tensor<1x256xf32> role
moe.weight @shared_router : tensor<1x256xf32> role(shared_router) source(<dtype = "bf16", files = [0], offsets = [0]>)
// MIXED: moe.weight @head : tensor<2048x256xf32, #moe.q<scheme = i8, group = 32>>
moe.weight @head : tensor<2048x256xf32> role(head) source(<dtype = "bf16", files = [0], offsets = [0]>)
// MIXED: moe.weight @gate : tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>
// MIXED-SAME: recipe(<method = "round_to_nearest">)
moe.weight @gate : tensor<16x128x256xf32> role(expert_gate) source(<dtype = "bf16", files = [0], offsets = [0]>)

// ALL-LABEL: @products
func.func @products(%x: tensor<?x256xf32>) -> (tensor<?x256xf32>, tensor<?x16xf32>) {
  // ALL-DAG: %[[W:.*]] = moe.param @q
  // INT8-DAG: %[[X:.*]] = moe.quantize_act %{{.*}} : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
  // INT4-DAG: %[[X:.*]] = moe.quantize_act %{{.*}} : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 64>>
  // MIXED-DAG: %[[X:.*]] = moe.quantize_act
  // INT6-DAG: %[[X:.*]] = moe.quantize_act
  // INT4M-DAG: %[[X:.*]] = moe.quantize_act
  // INT8M-DAG: %[[X:.*]] = moe.quantize_act
  // ALL: moe.linear %[[X]], %[[W]]
  %w = moe.param @q : tensor<256x256xf32>
  %y = moe.linear %x, %w : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  // ALL: moe.linear %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<16x256xf32> -> tensor<?x16xf32>
  %r = moe.param @router : tensor<16x256xf32>
  %l = moe.linear %x, %r : tensor<?x256xf32>, tensor<16x256xf32> -> tensor<?x16xf32>
  return %y, %l : tensor<?x256xf32>, tensor<?x16xf32>
}
