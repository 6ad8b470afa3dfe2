// SPDX-License-Identifier: Apache-2.0
// One pair of rotary tables serves all layers: as long as the caches, half as wide as what is rotated, stretched as they
// say; layers that differ are refused.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-place-weights | FileCheck %s

!x = tensor<?x64xf32>
!cache = !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 128, elem = f32>

// 128 positions of 4 pairs: 2048 bytes each.
// CHECK: rt.pack = {
// CHECK-SAME: resident_bytes = 4096 : i64, rope_cos_offset = 0 : i64, rope_half = 4 : i64, rope_positions = 128 : i64
// CHECK-SAME: rope_scaling = #moe.rope_scaling<kind = linear, factor = 2.000000e+00 : f64>
// CHECK-SAME: rope_sin_offset = 2048 : i64
module attributes {moe.target = {family = "x86"}} {
  func.func @f(%q: !x, %k: !x, %c: !cache, %p: index) -> !x {
    %r, %d = moe.rope_append %q, %k, %k, %c, %p {dim = 8, theta = 1.0e4 : f64,
      scaling = #moe.rope_scaling<kind = linear, factor = 2.0 : f64>} : !x, !x, !x, !cache
    return %r : !x
  }
}

// -----

!x = tensor<?x64xf32>
!cache = !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 128, elem = f32>
module attributes {moe.target = {family = "x86"}} {
  func.func @f(%q: !x, %k: !x, %c: !cache, %d: !cache, %p: index) -> (!x, !x) {
    %r, %c1 = moe.rope_append %q, %k, %k, %c, %p {dim = 8, theta = 1.0e4 : f64} : !x, !x, !x, !cache
    // expected-error @+1 {{has other rotary parameters than another layer, which is not supported yet}}
    %s, %d1 = moe.rope_append %q, %k, %k, %d, %p {dim = 8, theta = 1.0e4 : f64,
      scaling = #moe.rope_scaling<kind = linear, factor = 2.0 : f64>} : !x, !x, !x, !cache
    return %r, %s : !x, !x
  }
}
