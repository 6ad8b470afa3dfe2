// SPDX-License-Identifier: Apache-2.0
// Each constraint of the rt operations has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// rt.arena (C1)
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects an offset from 0 that is a multiple of 64, but got 32}}
  %x = rt.arena %context[32] : memref<64x256xf32>
  return
}

// -----

// rt.resident (C1)
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects an offset from 0 that is a multiple of 64, but got -64}}
  %x = rt.resident %context[-64] : memref<18432xi8>
  return
}

// -----

// rt.kv (C1): not bytes
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects a one-dimensional view of bytes, but got}}
  %x = rt.kv %context[0] : memref<64x256xf32>
  return
}

// -----

// rt.kv (C1): offset
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects an offset from 0 that is a multiple of 64, but got 8}}
  %x = rt.kv %context[8] : memref<64xi8>
  return
}

// -----

// rt.state (C1): not f32
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects a view of f32, but got 'memref<64xi8>'}}
  %x = rt.state %context[0] : memref<64xi8>
  return
}

// -----

// rt.state (C1): offset
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects an offset from 0 that is a multiple of 64, but got 8}}
  %x = rt.state %context[8] : memref<64xf32>
  return
}

// -----

// rt.tokens (C1)
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects a one-dimensional view of i32, but got 'memref<4x4xi32>'}}
  %x = rt.tokens %context : memref<4x4xi32>
  return
}

// -----

// rt.kv_window (C1)
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects a view memref<4xi32>, but got 'memref<3xi32>'}}
  %x = rt.kv_window %context : memref<3xi32>
  return
}

// -----

// rt.read_rows (C1)
func.func @f(%context: !rt.context, %rows: memref<64x68xf32>) {
  // expected-error @+1 {{expects a one-dimensional destination of bytes, but got}}
  rt.read_rows %context table(0) into %rows : memref<64x68xf32>
  return
}

// -----

// rt.poll (C1)
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects a layer from 0, but got -1}}
  rt.poll %context layer(-1)
  return
}

// -----

// rt.compute (C1)
func.func @f(%x: memref<64x256xf32>, %codes: memref<64x256xi8>, %s: memref<64x8xf32>, %sums: memref<64x8xi32>) {
  // expected-error @+1 {{expects the key 'group' in the spec of kind quantize}}
  rt.compute quantize ins(%x : memref<64x256xf32>)
    outs(%codes, %s, %sums : memref<64x256xi8>, memref<64x8xf32>, memref<64x8xi32>) spec {}
  return
}

// -----

// rt.compute (C2)
func.func @f(%x: memref<64x256xf32>, %codes: memref<64x256xi8>) {
  // expected-error @+1 {{expects at least 1 ins and 3 outs for kind quantize, but got 1 and 1}}
  rt.compute quantize ins(%x : memref<64x256xf32>) outs(%codes : memref<64x256xi8>) spec {group = 32 : i64}
  return
}

// -----

// rt.parallel (C1)
func.func @f(%context: !rt.context) {
  // expected-error @+1 {{expects only rt.compute in its region, but got rt.poll}}
  rt.parallel {
    rt.poll %context layer(0)
  }
  return
}

// -----

// rt.experts (C1)
func.func @f(%context: !rt.context, %ids: memref<64x4xi32>) {
  // expected-error @+1 {{expects a body with two arguments, the record (bytes) and the pairs (i32)}}
  rt.experts %context layer(0) ids(%ids : memref<64x4xi32>) {
  ^bb0(%record : memref<65536xi8>):
    rt.poll %context layer(0)
  }
  return
}

// -----

// rt.experts (C2)
func.func @f(%context: !rt.context, %ids: memref<64x4xi32>) {
  // expected-error @+1 {{expects rt.compute of kinds gate_up and down, rt.parallel, or rt.launch, but got rt.poll}}
  rt.experts %context layer(0) ids(%ids : memref<64x4xi32>) {
  ^bb0(%record : memref<65536xi8>, %pairs : memref<256xi32>):
    rt.poll %context layer(0)
  }
  return
}

// -----

// rt.launch (C1)
func.func @f(%x: memref<64x256xf32>) {
  // expected-error @+1 {{expects tiles and a segment for each of its 1 kernels, and segments that add up to its 1 arg}}
  rt.launch [@kernels::@k] tiles [#rt.tiles<count = 1, per = token>] segments [2] args(%x : memref<64x256xf32>)
  return
}

// -----

// rt.launch (C2)
func.func @f(%x: memref<64x256xf32>) {
  // expected-error @+1 {{expects the name of a function in @kernels, but got @other::@k}}
  rt.launch [@other::@k] tiles [#rt.tiles<count = 1, per = token>] segments [1] args(%x : memref<64x256xf32>)
  return
}
