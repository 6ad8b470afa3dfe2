// SPDX-License-Identifier: Apache-2.0
// Layers of other precision have records of other sizes; a page slot has the size of the largest.
// RUN: %moe-opt %s --moe-place-weights | FileCheck %s

// Layer 0: gate 128 / 8 x 256 / 32 x 144 = 18432 | up 16 x 4 x (8 * 64 + 16) = 33792 | down 32 x 1 x 1040 = 33280:
// 85504, 6 pages. Layer 1: three times 18432, 4 pages.
// CHECK: num_expert_records = 32 : i64
// CHECK-SAME: record_bytes = 98304 : i64
module attributes {moe.target = {family = "arm64"}} {
  // CHECK: moe.weight @gate0 {{.*}} placement(#rt.paged_place<offset = 0, bytes = 18432>)
  moe.weight @gate0 : tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>> role(expert_gate) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  // CHECK: moe.weight @up0 {{.*}} placement(#rt.paged_place<offset = 18432, bytes = 33792>)
  moe.weight @up0 : tensor<16x128x256xf32, #moe.q<scheme = i8, group = 64>> role(expert_up) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  // CHECK: moe.weight @down0 {{.*}} placement(#rt.paged_place<offset = 52224, bytes = 33280>)
  moe.weight @down0 : tensor<16x256x128xf32, #moe.q<scheme = i8, group = 128>> role(expert_down) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  // CHECK: moe.weight @gate1 {{.*}} placement(#rt.paged_place<offset = 0, bytes = 18432>)
  moe.weight @gate1 : tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>> role(expert_gate) layer(1)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @up1 : tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>> role(expert_up) layer(1)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @down1 : tensor<16x256x128xf32, #moe.q<scheme = i4, group = 32>> role(expert_down) layer(1)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
}
