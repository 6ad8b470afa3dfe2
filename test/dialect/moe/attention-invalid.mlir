// SPDX-License-Identifier: Apache-2.0
// Each constraint of moe.cache_append and moe.attention has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.cache_append (C1)
func.func @f(%k: tensor<?x32xf32>, %v: tensor<?x64xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index) {
  // expected-error @+1 {{expects keys with 64 and values with 64 columns, but got}}
  %d = moe.cache_append %c, %k, %v, %p : !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, tensor<?x32xf32>, tensor<?x64xf32>
  return
}

// -----

// moe.cache_append (C2)
func.func private @use(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)
func.func @f(%k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index) {
  // expected-error @+1 {{expects the cache to be used once, but it has 2 uses}}
  %d = moe.cache_append %c, %k, %v, %p : !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, tensor<?x64xf32>, tensor<?x64xf32>
  func.call @use(%c) : (!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> ()
  return
}

// -----

// moe.attention (C1): heads
func.func @f(%q: tensor<?x256xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index) {
  // expected-error @+1 {{expects a number of heads that is a multiple of the 2 KV heads, but got 3}}
  %o, %d = moe.attention %q, %c, %p {heads = 3, scale = 0.1 : f32} : tensor<?x256xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32> -> tensor<?x256xf32>
  return
}

// -----

// moe.attention (C1): columns
func.func @f(%q: tensor<?x256xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index) {
  // expected-error @+1 {{expects queries with 128 and a result with 128 columns, but got}}
  %o, %d = moe.attention %q, %c, %p {heads = 4, scale = 0.1 : f32} : tensor<?x256xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32> -> tensor<?x256xf32>
  return
}

// -----

// moe.attention (C2)
func.func @f(%q: tensor<?x256xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index) {
  // expected-error @+1 {{expects a positive finite scale, but got}}
  %o, %d = moe.attention %q, %c, %p {heads = 8, scale = 0.0 : f32} : tensor<?x256xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32> -> tensor<?x256xf32>
  return
}

// -----

// moe.attention (C3)
func.func private @use(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)
func.func @f(%q: tensor<?x256xf32>, %c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, %p: index) {
  // expected-error @+1 {{expects the cache to be used once, but it has 2 uses}}
  %o, %d = moe.attention %q, %c, %p {heads = 8, scale = 0.1 : f32} : tensor<?x256xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32> -> tensor<?x256xf32>
  func.call @use(%c) : (!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>) -> ()
  return
}
