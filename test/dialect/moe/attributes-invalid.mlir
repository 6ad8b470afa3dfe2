// SPDX-License-Identifier: Apache-2.0
// Attributes and types refuse sizes, groups and names that no later stage could handle.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expects a group of 32, 64 or 128 values, or 0 with f16, but got 48}}
func.func private @group(tensor<64x96xf32, #moe.q<scheme = i4, group = 48>>)

// -----

// expected-error @+1 {{expects a minimum with schemes i8 and i4 only, but got e4m3}}
func.func private @minimum(tensor<64x96xf32, #moe.q<scheme = e4m3, group = 32, minimum = true>>)

// -----

// expected-error @+1 {{expects a group of 32, 64 or 128 values, but got 16}}
func.func private @activation(tensor<?x96xf32, #moe.act<group = 16>>)

// -----

// expected-error @+1 {{expects positive sizes, but got kv_heads 0}}
func.func private @cache(!moe.cache<kv_heads = 0, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>)

// -----

// expected-error @+1 {{expects a window up to the capacity 1024 and, with one, fewer sinks than that, but got window 2048 and sinks 0}}
func.func private @window(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32, window = 2048>)

// -----

// expected-error @+1 {{but got window 0 and sinks 4}}
func.func private @sinks(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32, sinks = 4>)

// -----

// expected-error @+1 {{expects elements f32, f16, i8 or i4, but got 'i32'}}
func.func private @elem(!moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = i32>)

// -----

// expected-error @+1 {{expects at least one dimension, each positive}}
func.func private @state(!moe.state<shape = [32, 0], elem = f32>)

// -----

// expected-error @+1 {{expects at most 2^40 values, but got the shape [1099511627776, 1099511627776]}}
func.func private @state_size(!moe.state<shape = [1099511627776, 1099511627776], elem = f32>)

// -----

// expected-error @+1 {{expects elements f32 or f16, but got 'i8'}}
func.func private @state_elem(!moe.state<shape = [32], elem = i8>)

// -----

// expected-error @+1 {{expects dtype f32, f16, bf16, q8_0, q4_0, q4_1 or q6_k, but got f64}}
#source = #moe.source<dtype = "f64", files = [0], offsets = [0]>

// -----

// expected-error @+1 {{expects one file for each offset, but got 1 files and 2 offsets}}
#source = #moe.source<dtype = "f32", files = [0], offsets = [0, 4]>

// -----

// expected-error @+1 {{expects files and offsets from 0, but got file 0 at -4}}
#source = #moe.source<dtype = "f32", files = [0], offsets = [-4]>

// -----

// expected-error @+1 {{expects a positive finite factor of type f64, but got 0.000000e+00 : f64}}
#scaling = #moe.rope_scaling<kind = linear, factor = 0.0 : f64>

// -----

// expected-error @+1 {{expects a positive finite factor of type f64, but got 8.000000e+00 : f32}}
#scaling = #moe.rope_scaling<kind = linear, factor = 8.0 : f32>

// -----

// expected-error @+1 {{expects low, high and original with llama3 only}}
#scaling = #moe.rope_scaling<kind = linear, factor = 8.0 : f64, original = 8192>

// -----

// expected-error @+1 {{expects f64 factors 0 < low < high and an original context of at least 1, but got low 4.000000e+00 : f64, high 1.000000e+00 : f64, original 8192}}
#scaling = #moe.rope_scaling<kind = llama3, factor = 8.0 : f64, low = 4.0 : f64, high = 1.0 : f64, original = 8192>

// -----

// expected-error @+1 {{expects f64 factors 0 < low < high and an original context of at least 1, but got}}
#scaling = #moe.rope_scaling<kind = llama3, factor = 8.0 : f64, low = 1.0 : f64, high = 4.0 : f64>
