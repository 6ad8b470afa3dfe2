// SPDX-License-Identifier: Apache-2.0
// KV caches and activations that the device has no kernel or no place for are refused by name.
// RUN: %moe-opt %s --moe-plan-memory --split-input-file --verify-diagnostics

module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  // expected-error @+1 {{a KV cache with head_dim 20 has no kernel; supported are multiples of 8 up to 1024}}
  func.func @prefill(%c: !moe.cache<kv_heads = 2, qk_dim = 20, v_dim = 32, capacity = 128, elem = f32>) {
    return
  }
}

// -----

module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  // expected-error @+1 {{expects caches with a capacity that is a multiple of 64 up to 2^30, but got}}
  func.func @prefill(%c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 100, elem = f32>) {
    return
  }
}

// -----

module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  // expected-error @+1 {{expects caches of one capacity, window and number of sinks, but got}}
  func.func @prefill(%c: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 128, elem = f32>,
      %d: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 128, elem = f32, window = 64>) {
    return
  }
}

// -----

module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  // expected-error @+1 {{expects states of f32, but got '!moe.state<shape = [3, 16], elem = f16>'}}
  func.func @prefill(%s: !moe.state<shape = [3, 16], elem = f16>) {
    return
  }
}

// -----

module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  // expected-error @+1 {{expects recurrent states of at most 2^40 bytes together, but got}}
  func.func @prefill(%s: !moe.state<shape = [1048576, 1048576], elem = f32>) {
    return
  }
}

// -----

module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  func.func @prefill(%s: !moe.state<shape = [3, 16], elem = f32>) {
    return
  }
  // expected-error @+1 {{expects the states of @prefill in their order}}
  func.func @decode(%s: !moe.state<shape = [3, 32], elem = f32>) {
    return
  }
}

// -----

!cache = !moe.cache<kv_heads = 65536, qk_dim = 1024, v_dim = 1024, capacity = 1073741824, elem = f32>
module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  // expected-error @+1 {{expects a KV cache of at most 2^62 bytes, but got 16777216 blocks of}}
  func.func @prefill(%a: !cache, %b: !cache, %c: !cache, %d: !cache, %e: !cache, %f: !cache, %g: !cache, %h: !cache,
      %i: !cache) {
    return
  }
}

// -----

module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  func.func @prefill(%g: tensor<?x64xf32>, %u: tensor<?x64xf32>) {
    // expected-error @+1 {{has an activation other than swiglu, which has no step on the device yet}}
    %y = moe.glu %g, %u {glu = #moe.glu<geglu>} : tensor<?x64xf32>
    return
  }
}

// -----

!cache = !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 128, elem = f32>
module attributes {moe.model = {hidden_size = 64 : i64, vocab_size = 64 : i64}, moe.chunk = 4 : i64, rt.pack = {}} {
  func.func @prefill(%q: tensor<?x64xf32>, %k: tensor<?x64xf32>, %c: !cache, %p: index) -> tensor<?x64xf32> {
    // expected-error @+1 {{has a rotary style that has no step on the device yet}}
    %r, %d = moe.rope_append %q, %k, %k, %c, %p {dim = 32, theta = 1.0e4 : f64, style = #moe.rope_style<interleaved>}
      : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, !cache
    return %r : tensor<?x64xf32>
  }
}
