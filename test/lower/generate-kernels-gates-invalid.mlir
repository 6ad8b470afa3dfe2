// SPDX-License-Identifier: Apache-2.0
// Gates, and products with a bias, whose specs no kernel is generated for, or contradict their views, are refused.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-generate-kernels

module attributes {moe.target = {isa = "avx2"}} {
  func.func @glu(%g: memref<4x48xf32>, %h: memref<4x48xf32>) {
    // expected-error @+1 {{expects a glu of swiglu, but got 'geglu'}}
    rt.compute glu ins(%g, %g : memref<4x48xf32>, memref<4x48xf32>) outs(%h : memref<4x48xf32>)
      spec {glu = "geglu", group = 0 : i64}
    return
  }
}

// -----

module attributes {moe.target = {isa = "avx2"}} {
  func.func @group(%g: memref<4x48xf32>, %h: memref<4x48xf32>) {
    // expected-error @+1 {{expects at least 1 token and a group that is a multiple of 16 and divides the columns}}
    rt.compute glu ins(%g, %g : memref<4x48xf32>, memref<4x48xf32>) outs(%h : memref<4x48xf32>)
      spec {glu = "swiglu", group = 32 : i64}
    return
  }
}

// -----

module attributes {moe.target = {isa = "avx2"}} {
  func.func @activation(%x: memref<4x48xf32>) {
    // expected-error @+1 {{expects an activation of silu or sigmoid, but got 'tanh'}}
    rt.compute gate ins(%x, %x : memref<4x48xf32>, memref<4x48xf32>) outs(%x : memref<4x48xf32>)
      spec {activation = "tanh", group = 0 : i64, residual = false}
    return
  }
}

// -----

module attributes {moe.target = {isa = "avx2"}} {
  func.func @per_token(%x: memref<4x48xf32>, %g: memref<4x2xf32>) {
    // expected-error @+1 {{has operand 1 of type 'memref<4x2xf32>', which contradicts its spec}}
    rt.compute gate ins(%x, %g : memref<4x48xf32>, memref<4x2xf32>) outs(%x : memref<4x48xf32>)
      spec {activation = "silu", group = 0 : i64, residual = false}
    return
  }
}

// -----

module attributes {moe.target = {isa = "avx2"}} {
  func.func @bias(%w: memref<1024xi8>, %x: memref<4x16xf32>, %b: memref<8xf32>, %y: memref<4x16xf32>) {
    // expected-error @+1 {{has operand 2 of type 'memref<8xf32>', which contradicts its spec: the kernel takes 'memref<16xf32>'}}
    rt.compute linear ins(%w, %x, %b : memref<1024xi8>, memref<4x16xf32>, memref<8xf32>) outs(%y : memref<4x16xf32>)
      spec {rows = 16 : i64, columns = 16 : i64, encoding = "f32", bias = true, residual = false}
    return
  }
}
