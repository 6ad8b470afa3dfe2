// SPDX-License-Identifier: Apache-2.0
// The preset source keeps the codes of block types (recipe verbatim), floats as they are, and encodes q6_k; a rule to
// another encoding rounds.
// RUN: moe-opt %s --moe-assign-precision=preset=source | FileCheck %s
// RUN: moe-opt %s --moe-assign-precision=preset=int8 | FileCheck %s --check-prefix=INT8

// CHECK: moe.weight @a : tensor<64x256xf32, #moe.q<scheme = i8, group = 32>> role( attention_v)
// CHECK-SAME: recipe(<method = "verbatim">)
// INT8: moe.weight @a : {{.*}} recipe(<method = "verbatim">)
moe.weight @a : tensor<64x256xf32> role(attention_v) source(<dtype = "q8_0", files = [0], offsets = [0]>)
// CHECK: moe.weight @b : tensor<64x256xf32, #moe.q<scheme = i4, group = 32>> {{.*}} recipe(<method = "verbatim">)
// INT8: moe.weight @b : {{.*}} recipe(<method = "round_to_nearest">)
moe.weight @b : tensor<64x256xf32> role(attention_v) source(<dtype = "q4_0", files = [0], offsets = [0]>)
// CHECK: moe.weight @c : tensor<64x256xf32, #moe.q<scheme = {{.*}}> {{.*}} recipe(<method = "verbatim">)
moe.weight @c : tensor<64x256xf32> role(attention_v) source(<dtype = "q4_1", files = [0], offsets = [0]>)
// CHECK: moe.weight @d : tensor<64x256xf32, #moe.q<scheme = i8, group = 32>> {{.*}} recipe(<method = "round_to_nearest">)
moe.weight @d : tensor<64x256xf32> role(attention_v) source(<dtype = "q6_k", files = [0], offsets = [0]>)
// CHECK: moe.weight @e : tensor<64x256xf32> role( attention_v)
// CHECK-NOT: recipe
moe.weight @e : tensor<64x256xf32> role(attention_v) source(<dtype = "bf16", files = [0], offsets = [0]>)
// CHECK: moe.weight @f : tensor<256xf32> role( norm)
moe.weight @f : tensor<256xf32> role(norm) source(<dtype = "f32", files = [0], offsets = [0]>)
