// SPDX-License-Identifier: Apache-2.0
// Products of one activation become one task region, those with a bias in one of their own; a bias that is no parameter
// and a product of another activation stay.
// RUN: %moe-opt %s --pass-pipeline="builtin.module(func.func(moe-fuse-multi-linear))" \
// RUN:   | FileCheck %s

moe.weight @q : tensor<256x256xf32> role(attention_q) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @k : tensor<64x256xf32> role(attention_k) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @v : tensor<64x256xf32> role(attention_v) source(<dtype = "bf16", files = [0], offsets = [0]>)

// CHECK-LABEL: @qkv
func.func @qkv(%x: tensor<?x256xf32>, %z: tensor<?x256xf32>)
    -> (tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[Y:.*]]:3 = moe.multi_linear
  // CHECK: %[[O:.*]] = moe.linear
  // CHECK: return %[[Y]]#0, %[[Y]]#1, %[[Y]]#2, %[[O]]
  %q = moe.param @q : tensor<256x256xf32>
  %k = moe.param @k : tensor<64x256xf32>
  %yq = moe.linear %x, %q : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %yk = moe.linear %x, %k : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  %v = moe.param @v : tensor<64x256xf32>
  %yv = moe.linear %x, %v : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  %other = moe.linear %z, %v : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return %yq, %yk, %yv, %other : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}

// CHECK-LABEL: @bias
func.func @bias(%x: tensor<?x256xf32>, %b: tensor<64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NOT: moe.multi_linear
  // CHECK: return
  %k = moe.param @k : tensor<64x256xf32>
  %a = moe.linear %x, %k bias(%b : tensor<64xf32>) : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  %c = moe.linear %x, %k : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return %a, %c : tensor<?x64xf32>, tensor<?x64xf32>
}

moe.weight @q_bias : tensor<256xf32> role(bias) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @k_bias : tensor<64xf32> role(bias) source(<dtype = "bf16", files = [0], offsets = [0]>)

// CHECK-LABEL: @biases
func.func @biases(%x: tensor<?x256xf32>) -> (tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-DAG: %[[BQ:.*]] = moe.param @q_bias
  // CHECK-DAG: %[[BK:.*]] = moe.param @k_bias
  // CHECK: %[[Y:.*]]:2 = moe.multi_linear {{.*}} biases(%[[BQ]], %[[BK]] : tensor<256xf32>, tensor<64xf32>)
  // CHECK: %[[V:.*]] = moe.linear
  // CHECK: return %[[Y]]#0, %[[Y]]#1, %[[V]]
  %q = moe.param @q : tensor<256x256xf32>
  %bq = moe.param @q_bias : tensor<256xf32>
  %yq = moe.linear %x, %q bias(%bq : tensor<256xf32>) : tensor<?x256xf32>, tensor<256x256xf32> -> tensor<?x256xf32>
  %v = moe.param @v : tensor<64x256xf32>
  %yv = moe.linear %x, %v : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  %k = moe.param @k : tensor<64x256xf32>
  %bk = moe.param @k_bias : tensor<64xf32>
  %yk = moe.linear %x, %k bias(%bk : tensor<64xf32>) : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>
  return %yq, %yk, %yv : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}

!q = tensor<64x256xf32, #moe.q<scheme = i4, group = 32>>
!k = tensor<64x256xf32, #moe.q<scheme = i8, group = 32>>
!v = tensor<64x256xf32, #moe.q<scheme = i8, group = 64>>
moe.weight @q4 : !q role(attention_q) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @k8 : !k role(attention_k) source(<dtype = "bf16", files = [0], offsets = [0]>)
moe.weight @v8 : !v role(attention_v) source(<dtype = "bf16", files = [0], offsets = [0]>)

// Encodings may differ within a region; another group is another activation.
// CHECK-LABEL: @mixed
func.func @mixed(%x: tensor<?x256xf32, #moe.act<group = 32>>, %z: tensor<?x256xf32, #moe.act<group = 64>>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[Y:.*]]:2 = moe.multi_linear {{.*}}scheme = i4, group = 32{{.*}}scheme = i8, group = 32
  // CHECK: %[[V:.*]] = moe.linear
  // CHECK: return %[[Y]]#0, %[[Y]]#1, %[[V]]
  %q = moe.param @q4 : !q
  %k = moe.param @k8 : !k
  %v = moe.param @v8 : !v
  %yq = moe.linear %x, %q : tensor<?x256xf32, #moe.act<group = 32>>, !q -> tensor<?x64xf32>
  %yk = moe.linear %x, %k : tensor<?x256xf32, #moe.act<group = 32>>, !k -> tensor<?x64xf32>
  %yv = moe.linear %z, %v : tensor<?x256xf32, #moe.act<group = 64>>, !v -> tensor<?x64xf32>
  return %yq, %yk, %yv : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}
