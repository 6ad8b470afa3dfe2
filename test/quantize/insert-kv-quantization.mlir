// SPDX-License-Identifier: Apache-2.0
// Every KV cache takes the element type, in signatures and in values; nothing else changes.
// RUN: %moe-opt %s --moe-insert-kv-quantization="elem=int8" | FileCheck %s -DELEM=i8
// RUN: %moe-opt %s --moe-insert-kv-quantization="elem=f16" | FileCheck %s -DELEM=f16
// RUN: %moe-opt %s --moe-insert-kv-quantization="elem=f32" | FileCheck %s -DELEM=f32
// RUN: %moe-opt %s --moe-insert-kv-quantization="elem=int4" | FileCheck %s -DELEM=i4
// RUN: not %moe-opt %s --moe-insert-kv-quantization="elem=int2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WRONG

// WRONG: expects KV elements f32, f16, int8 or int4, but got 'int2'

!cache = !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>

// CHECK-LABEL: func.func @append(
// CHECK-SAME: !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = [[ELEM]]>
func.func @append(%c: !cache, %k: tensor<?x64xf32>, %v: tensor<?x64xf32>, %p: index) -> !cache {
  // CHECK: moe.cache_append
  // CHECK-SAME: elem = [[ELEM]]>, tensor<?x64xf32>, tensor<?x64xf32>
  %d = moe.cache_append %c, %k, %v, %p : !cache, tensor<?x64xf32>, tensor<?x64xf32>
  return %d : !cache
}
