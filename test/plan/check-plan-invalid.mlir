// SPDX-License-Identifier: Apache-2.0
// The checker finds what a planner or an editor could get wrong: shared bytes, views beyond their regions, and a module
// that says other things of the model than its steps.
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

// -----

module attributes {rt.plan = {arena_bytes = 512 : i64, state_bytes = 512 : i64}} {
  func.func @beyond_state(%context: !rt.context) {
    // expected-error @+1 {{ends at byte 576, but the recurrent state has 512}}
    %s = rt.state %context[64] : memref<2x64xf32>
    return
  }
}

// -----

module attributes {rt.plan = {arena_bytes = 512 : i64, state_bytes = 1024 : i64}} {
  func.func @prefill(%context: !rt.context) {
    // expected-note @+1 {{that view}}
    %s = rt.state %context[0] : memref<2x64xf32>
    return
  }
  func.func @decode(%context: !rt.context) {
    // expected-error @+1 {{shares bytes of the recurrent state with another one}}
    %s = rt.state %context[256] : memref<2x64xf32>
    return
  }
}

// -----

module attributes {rt.plan = {arena_bytes = 4096 : i64, resident_bytes = 512 : i64, state_bytes = 1024 : i64}} {
  func.func @written_twice(%context: !rt.context) {
    %x = rt.arena %context[0] : memref<4x16xf32>
    %w = rt.resident %context[0] : memref<256xi8>
    // expected-error @+1 {{expects one step that writes it, but got 2}}
    %s = rt.state %context[0] : memref<3x16xf32>
    rt.compute conv ins(%x, %w : memref<4x16xf32>, memref<256xi8>) outs(%x, %s : memref<4x16xf32>, memref<3x16xf32>)
      spec {silu = true}
    rt.compute conv ins(%x, %w : memref<4x16xf32>, memref<256xi8>) outs(%x, %s : memref<4x16xf32>, memref<3x16xf32>)
      spec {silu = true}
    return
  }
}

// -----

// expected-error @+1 {{expects a moe.context of 65 to 128, for which the caches are planned, but got 129}}
module attributes {moe.context = 129 : i64, rt.plan = {kv_capacity = 128 : i64}} {
}

// -----

// expected-error @+1 {{expects a moe.window of 50 as in the caches, but got 200}}
module attributes {moe.window = 200 : i64, rt.plan = {kv_window = 50 : i64}} {
}

// -----

module attributes {moe.model = {top_k = 2 : i64}, rt.pack = {num_tables = 1 : i64},
                   rt.plan = {arena_bytes = 4096 : i64, resident_bytes = 0 : i64}} {
  func.func @no_such_table(%context: !rt.context) {
    %rows = rt.arena %context[0] : memref<1024xi8>
    // expected-error @+1 {{expects a table of 0 to 0, but got -1}}
    rt.read_rows %context table(-1) into %rows : memref<1024xi8>
    return
  }
}
