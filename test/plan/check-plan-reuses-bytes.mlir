// SPDX-License-Identifier: Apache-2.0
// Views may share bytes when their lives do not meet.
// RUN: %moe-opt %s --moe-check-plan | FileCheck %s

// CHECK-LABEL: @reuse
module attributes {rt.plan = {arena_bytes = 2048 : i64, resident_bytes = 0 : i64}} {
  func.func @reuse(%context: !rt.context) {
    %x = rt.arena %context[0] : memref<4x64xf32>
    %y = rt.arena %context[1024] : memref<4x64xf32>
    %z = rt.arena %context[0] : memref<4x64xf32>
    rt.compute norm ins(%x, %x : memref<4x64xf32>, memref<4x64xf32>) outs(%y : memref<4x64xf32>)
      spec {eps = 1.0e-6 : f32, unit_offset = false, group = 0 : i64, emit_float = true}
    // CHECK: rt.compute
    // CHECK: rt.compute
    rt.compute norm ins(%y, %y : memref<4x64xf32>, memref<4x64xf32>) outs(%z : memref<4x64xf32>)
      spec {eps = 1.0e-6 : f32, unit_offset = false, group = 0 : i64, emit_float = true}
    return
  }
}
