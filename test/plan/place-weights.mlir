// SPDX-License-Identifier: Apache-2.0
// Experts share one record, the embedding is streamed by rows, the rest is resident, at 64-byte multiples.
// RUN: %moe-opt %s --moe-place-weights | FileCheck %s

// One record: gate 18432 | up 18432 | down 18432 = 55296, rounded up to 4 pages of 16384.
// CHECK: rt.pack = {
// CHECK-SAME: num_expert_records = 16 : i64
// CHECK-SAME: num_tables = 1 : i64
// CHECK-SAME: record_bytes = 65536 : i64
// 1024 bytes of norm and 16384 of router, a multiple of 64.
// CHECK-SAME: resident_bytes = 17408 : i64
module attributes {moe.target = {family = "arm64"}} {
  // 256 int8 codes and 8 scales of 2 bytes.
  // CHECK: moe.weight @embed {{.*}} placement(#rt.streamed_place<table = 0, row_bytes = 272>)
  moe.weight @embed : tensor<2048x256xf32, #moe.q<scheme = i8, group = 32>> role(embedding)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  // CHECK: moe.weight @norm {{.*}} placement(#rt.resident_place<offset = 0, bytes = 1024>)
  moe.weight @norm : tensor<256xf32> role(norm) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  // CHECK: moe.weight @router {{.*}} placement(#rt.resident_place<offset = 1024, bytes = 16384>)
  moe.weight @router : tensor<16x256xf32> role(router) layer(0) source(<dtype = "bf16", files = [0], offsets = [0]>)
  // 128 / 8 row tiles x 256 / 32 groups x (4 * 32 codes + 16 scale bytes) = 16 * 8 * 144 = 18432.
  // CHECK: moe.weight @gate {{.*}} placement(#rt.paged_place<offset = 0, bytes = 18432>)
  moe.weight @gate : tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>> role(expert_gate) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  // CHECK: moe.weight @up {{.*}} placement(#rt.paged_place<offset = 18432, bytes = 18432>)
  moe.weight @up : tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>> role(expert_up) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  // CHECK: moe.weight @down {{.*}} placement(#rt.paged_place<offset = 36864, bytes = 18432>)
  moe.weight @down : tensor<16x256x128xf32, #moe.q<scheme = i4, group = 32>> role(expert_down) layer(0)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
}
