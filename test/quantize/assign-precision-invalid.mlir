// SPDX-License-Identifier: Apache-2.0
// Unknown presets and groups are refused; a group that does not divide a weight's columns names the weight.
// RUN: not %moe-opt %s --moe-assign-precision="preset=int3" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PRESET
// RUN: not %moe-opt %s --moe-assign-precision="group=48" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GROUP
// RUN: not %moe-opt %s --moe-assign-precision="group=64" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COLUMNS

// PRESET: expects a precision preset f32, f16, int8, int6, int4, int8m, int4m, mixed, source, but got 'int3'; 'int3' has 3 bits: 4 bits are the floor
// GROUP: expects a group of auto, 32, 64 or 128, but got '48'
// COLUMNS: 'moe.weight' op 'down' has 96 columns, which group 64 does not divide; choose a group that does, or f16
moe.weight @down : tensor<256x96xf32> role(ffn_down) source(<dtype = "bf16", files = [0], offsets = [0]>)
