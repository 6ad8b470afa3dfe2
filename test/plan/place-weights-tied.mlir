// SPDX-License-Identifier: Apache-2.0
// An embedding that is the head has the head's place; one with another encoding, or another source, is streamed.
// RUN: %moe-opt %s --moe-place-weights --split-input-file | FileCheck %s

// CHECK: num_tables = 0 : i64
module attributes {moe.target = {family = "x86"}} {
  // 48 / 16 row tiles x 64 / 32 groups x (16 * 32 codes + 32 scale bytes) = 3 * 2 * 544 = 3264, behind 256 of the norm.
  // CHECK: moe.weight @embed {{.*}} placement(#rt.resident_place<offset = 256, bytes = 3264>)
  moe.weight @embed : tensor<48x64xf32, #moe.q<scheme = i8, group = 32>> role(embedding)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @norm : tensor<64xf32> role(norm) layer(0) source(<dtype = "bf16", files = [0], offsets = [8192]>)
  // CHECK: moe.weight @head {{.*}} placement(#rt.resident_place<offset = 256, bytes = 3264>)
  moe.weight @head : tensor<48x64xf32, #moe.q<scheme = i8, group = 32>> role(head)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// CHECK: num_tables = 1 : i64
module attributes {moe.target = {family = "x86"}} {
  // CHECK: moe.weight @embed {{.*}} placement(#rt.streamed_place<table = 0, row_bytes = 36>)
  moe.weight @embed : tensor<48x64xf32, #moe.q<scheme = i4, group = 32>> role(embedding)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @head : tensor<48x64xf32, #moe.q<scheme = i8, group = 32>> role(head)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
}

// -----

// CHECK: num_tables = 1 : i64
module attributes {moe.target = {family = "x86"}} {
  // CHECK: moe.weight @embed {{.*}} placement(#rt.streamed_place<table = 0, row_bytes = 68>)
  moe.weight @embed : tensor<48x64xf32, #moe.q<scheme = i8, group = 32>> role(embedding)
    source(<dtype = "bf16", files = [0], offsets = [0]>)
  moe.weight @head : tensor<48x64xf32, #moe.q<scheme = i8, group = 32>> role(head)
    source(<dtype = "bf16", files = [0], offsets = [8192]>)
}
