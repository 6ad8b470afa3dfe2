// SPDX-License-Identifier: Apache-2.0
// Each constraint of moe.rope and moe.rope_append has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.rope (C1)
func.func @f(%x: tensor<?x256xf32>, %p: index) {
  // expected-error @+1 {{failed to verify that all of {x, y} have same type}}
  %y = "moe.rope"(%x, %p) {head_dim = 32, dim = 32, theta = 1.0e4 : f64} : (tensor<?x256xf32>, index) -> tensor<?x128xf32>
  return
}

// -----

// moe.rope (C2): head_dim
func.func @f(%x: tensor<?x256xf32>, %p: index) {
  // expected-error @+1 {{expects a head_dim that divides the 256 columns and an even dim up to it, but got head_dim 48}}
  %y = moe.rope %x, %p {head_dim = 48, dim = 32, theta = 1.0e4 : f64} : tensor<?x256xf32>
  return
}

// -----

// moe.rope (C2): odd dim
func.func @f(%x: tensor<?x256xf32>, %p: index) {
  // expected-error @+1 {{but got head_dim 32 and dim 31}}
  %y = moe.rope %x, %p {head_dim = 32, dim = 31, theta = 1.0e4 : f64} : tensor<?x256xf32>
  return
}

// -----

// moe.rope (C3)
func.func @f(%x: tensor<?x256xf32>, %p: index) {
  // expected-error @+1 {{expects a positive finite theta, but got}}
  %y = moe.rope %x, %p {head_dim = 32, dim = 32, theta = -1.0 : f64} : tensor<?x256xf32>
  return
}

// -----

// moe.rope_append (C1)
func.func private @use(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)
func.func @f(%q: tensor<?x250xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index, %n: tensor<32xf32>) {
  // expected-error @+1 {{expects queries in heads of 32}}
  %r, %d = moe.rope_append %q, %k, %v, %c, %p norms(%n, %n : tensor<32xf32>, tensor<32xf32>) {dim = 32, theta = 1.0e4 : f64} : tensor<?x250xf32>, tensor<?x64xf32>, tensor<?x64xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
  func.call @use(%d) : (!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> ()
  return
}

// -----

// moe.rope_append (C2)
func.func private @use(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)
func.func @f(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index, %n: tensor<16xf32>) {
  // expected-error @+1 {{expects both norms or none, of length 32}}
  %r, %d = moe.rope_append %q, %k, %v, %c, %p norms(%n, %n : tensor<16xf32>, tensor<16xf32>) {dim = 32, theta = 1.0e4 : f64} : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
  func.call @use(%d) : (!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> ()
  return
}

// -----

// moe.rope_append (C3): dim
func.func private @use(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)
func.func @f(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index, %n: tensor<32xf32>) {
  // expected-error @+1 {{expects an even dim up to 32, but got 64}}
  %r, %d = moe.rope_append %q, %k, %v, %c, %p norms(%n, %n : tensor<32xf32>, tensor<32xf32>) {dim = 64, theta = 1.0e4 : f64} : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
  func.call @use(%d) : (!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> ()
  return
}

// -----

// moe.rope_append (C3): theta
func.func private @use(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)
func.func @f(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index, %n: tensor<32xf32>) {
  // expected-error @+1 {{expects a positive finite theta, but got}}
  %r, %d = moe.rope_append %q, %k, %v, %c, %p norms(%n, %n : tensor<32xf32>, tensor<32xf32>) {dim = 32, theta = 0.0 : f64} : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
  func.call @use(%d) : (!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> ()
  return
}

// -----

// moe.rope_append (C4)
func.func private @use(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)
func.func @f(%q: tensor<?x256xf32>, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index) {
  // expected-error @+1 {{expects the cache to be used once, but it has 2 uses}}
  %r, %d = moe.rope_append %q, %k, %v, %c, %p {dim = 32, theta = 1.0e4 : f64} : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
  func.call @use(%c) : (!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> ()
  return
}
