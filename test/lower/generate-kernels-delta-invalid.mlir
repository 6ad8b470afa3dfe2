// SPDX-License-Identifier: Apache-2.0
// Steps of recurrent layers whose sizes no kernel is generated for, or contradict each other, are refused.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-generate-kernels

module attributes {moe.target = {isa = "avx2"}} {
  func.func @long(%x: memref<4x16xf32>, %w: memref<1088xi8>, %s: memref<16x16xf32>) {
    // expected-error @+1 {{conv expects at least 1 token, 1 to 2^28 channels and a length of 2 to 16, but got 4 tokens}}
    rt.compute conv ins(%x, %w : memref<4x16xf32>, memref<1088xi8>) outs(%x, %s : memref<4x16xf32>, memref<16x16xf32>)
      spec {silu = true, encoding = "f32"}
    return
  }
}

// -----

module attributes {moe.target = {isa = "avx2"}} {
  func.func @weights(%x: memref<4x16xf32>, %w: memref<128xi8>, %s: memref<3x16xf32>) {
    // 16 rows of 4 columns are 256 bytes.
    // expected-error @+1 {{has operand 1 of type 'memref<128xi8>', which contradicts its spec}}
    rt.compute conv ins(%x, %w : memref<4x16xf32>, memref<128xi8>) outs(%x, %s : memref<4x16xf32>, memref<3x16xf32>)
      spec {silu = true, encoding = "f32"}
    return
  }
}

// -----

module attributes {moe.target = {isa = "avx2"}} {
  func.func @heads(%q: memref<4x32xf32>, %v: memref<4x48xf32>, %b: memref<4x3xf32>, %log: memref<3xf32>,
      %s: memref<3x16x16xf32>) {
    // expected-error @+1 {{delta rule expects at least 1 token, up to 65536 value heads in a multiple of the key heads}}
    rt.compute delta_rule ins(%q, %q, %v, %b, %b, %log, %log : memref<4x32xf32>, memref<4x32xf32>, memref<4x48xf32>,
      memref<4x3xf32>, memref<4x3xf32>, memref<3xf32>, memref<3xf32>) outs(%v, %s : memref<4x48xf32>, memref<3x16x16xf32>)
      spec {key_heads = 2 : i64, value_heads = 3 : i64, qk_dim = 16 : i64, v_dim = 16 : i64, l2_eps = 1.0e-6 : f32,
            scale = 0.25 : f32, head_map = "grouped"}
    return
  }
}

// -----

module attributes {moe.target = {isa = "avx2"}} {
  func.func @group(%o: memref<4x32xf32>, %w: memref<16xf32>, %codes: memref<4x32xi8>, %scales: memref<4x1xf32>,
      %sums: memref<4x1xi32>) {
    // expected-error @+1 {{gated norm expects a group that is a multiple of 16 and divides the head, but got group 32}}
    rt.compute gated_norm ins(%o, %o, %w : memref<4x32xf32>, memref<4x32xf32>, memref<16xf32>)
      outs(%codes, %scales, %sums : memref<4x32xi8>, memref<4x1xf32>, memref<4x1xi32>)
      spec {value_heads = 2 : i64, v_dim = 16 : i64, eps = 1.0e-6 : f32, activation = "silu", group = 32 : i64}
    return
  }
}
