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

module attributes {rt.plan = {arena_bytes = 512 : i64, state_bytes = 768 : i64}} {
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

module attributes {rt.plan = {arena_bytes = 4096 : i64, resident_bytes = 512 : i64, state_bytes = 192 : i64}} {
  func.func @written_twice(%context: !rt.context) {
    %x = rt.arena %context[0] : memref<4x16xf32>
    %w = rt.resident %context[0] : memref<256xi8>
    // expected-error @+1 {{expects one step that writes it, but got 2}}
    %s = rt.state %context[0] : memref<3x16xf32>
    rt.compute conv ins(%x, %w : memref<4x16xf32>, memref<256xi8>) outs(%x, %s : memref<4x16xf32>, memref<3x16xf32>)
      spec {silu = true, encoding = "f32"}
    rt.compute conv ins(%x, %w : memref<4x16xf32>, memref<256xi8>) outs(%x, %s : memref<4x16xf32>, memref<3x16xf32>)
      spec {silu = true, encoding = "f32"}
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

// -----

// expected-error @+1 {{expects at most 512 bytes of recurrent state, where its last view ends, but got 1099511627776}}
module attributes {rt.plan = {arena_bytes = 512 : i64, state_bytes = 1099511627776 : i64}} {
  func.func @state_too_large(%context: !rt.context) {
    %s = rt.state %context[0] : memref<2x64xf32>
    return
  }
}

// -----

module attributes {moe.target = {family = "x86", isa = "avx2"},
                   rt.plan = {arena_bytes = 512 : i64, resident_bytes = 512 : i64}} {
  // expected-error @+1 {{expects a placement of the 64 bytes that it has, but got 128}}
  moe.weight @norm : tensor<16xf32> role(norm) source(<dtype = "bf16", files = [0], offsets = [0]>)
    placement(#rt.resident_place<offset = 0, bytes = 128>)
}

// -----

module attributes {moe.target = {family = "x86", isa = "avx2"},
                   rt.plan = {arena_bytes = 512 : i64, resident_bytes = 512 : i64}} {
  moe.weight @norm : tensor<16xf32> role(norm) source(<dtype = "bf16", files = [0], offsets = [0]>)
    placement(#rt.resident_place<offset = 0, bytes = 64>)
  func.func @no_weight_there(%context: !rt.context) {
    %x = rt.resident %context[0] : memref<16xf32>
    // expected-error @+1 {{expects a weight or table of 64 bytes at 64, but there is none}}
    %y = rt.resident %context[64] : memref<16xf32>
    return
  }
}

// -----

module attributes {moe.target = {family = "x86", isa = "avx2"},
                   rt.plan = {arena_bytes = 512 : i64, resident_bytes = 512 : i64}} {
  moe.weight @norm : tensor<16xf32> role(norm) source(<dtype = "bf16", files = [0], offsets = [0]>)
    placement(#rt.resident_place<offset = 0, bytes = 64>)
  func.func @another_weight(%context: !rt.context) {
    // expected-error @+1 {{expects a weight or table of 32 bytes at 0, but got one of 64}}
    %x = rt.resident %context[0] : memref<8xf32>
    return
  }
}

// -----

// expected-error @+1 {{expects at most 1024 bytes of arena, where its last view ends, but got 1099511627776}}
module attributes {rt.plan = {arena_bytes = 1099511627776 : i64, resident_bytes = 0 : i64}} {
  func.func @arena_too_large(%context: !rt.context) {
    %x = rt.arena %context[0] : memref<4x64xf32>
    return
  }
}
