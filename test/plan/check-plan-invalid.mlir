// SPDX-License-Identifier: Apache-2.0
// The checker finds what a planner could get wrong: shared bytes, views beyond the arena or the resident segment.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-check-plan

// expected-error @+1 {{expects the module attribute 'rt.plan'; run moe-plan-memory first}}
module {
}

// -----

module attributes {rt.plan = {arena_bytes = 4096 : i64, resident_bytes = 0 : i64}} {
  func.func @shared(%context: !rt.context) {
    // expected-note @+1 {{that view}}
    %x = rt.arena %context[0] : memref<4x64xf32>
    // expected-error @+1 {{shares bytes 512 to 1024 with a view that is alive at the same time}}
    %y = rt.arena %context[512] : memref<4x64xf32>
    rt.compute norm ins(%x, %x : memref<4x64xf32>, memref<4x64xf32>) outs(%y : memref<4x64xf32>)
      spec {eps = 1.0e-6 : f32, unit_offset = false, group = 0 : i64, emit_float = true}
    return
  }
}

// -----

module attributes {rt.plan = {arena_bytes = 512 : i64, resident_bytes = 0 : i64}} {
  func.func @beyond_arena(%context: !rt.context) {
    // expected-error @+1 {{ends at byte 1024, but the arena has 512}}
    %x = rt.arena %context[0] : memref<4x64xf32>
    return
  }
}

// -----

module attributes {rt.plan = {arena_bytes = 512 : i64, resident_bytes = 4096 : i64}} {
  func.func @beyond_resident(%context: !rt.context) {
    // expected-error @+1 {{ends at byte 4160, but the resident segment has 4096}}
    %x = rt.resident %context[4096] : memref<64xi8>
    return
  }
}
