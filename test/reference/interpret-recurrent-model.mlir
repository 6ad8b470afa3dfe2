// SPDX-License-Identifier: Apache-2.0
// A model whose memory is a state: tokens go through it one by one or in chunks of two, and the text is the same.
// RUN: %moe-interpret %s --ids 1,2,0,3,1 --greedy 4 --logits %t.npy | FileCheck %s
// RUN: sed 's/moe.chunk = 2/moe.chunk = 1/' %s > %t.mlir
// RUN: %moe-interpret %t.mlir --ids 1,2,0,3,1 --greedy 4 --logits %t.one.npy | FileCheck %s
// RUN: cmp %t.npy %t.one.npy

// The table's rows are unit vectors; the convolution gives 1 · the token before + 2 · the token, two at a time. The head
// prefers the id after the last token: 1 -> 2 -> 3 -> 0 -> 1.
// CHECK: 2,3,0,1
!state = !moe.state<shape = [1, 4], elem = f32>
module attributes {moe.chunk = 2 : i64} {
  func.func @prefill(%tokens: tensor<?xi32>, %position: index, %s0: !state) -> (tensor<?x4xf32>, !state) {
    %table = arith.constant dense<[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]>
      : tensor<4x4xf32>
    %w = arith.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : tensor<4x2xf32>
    %x = moe.embed %tokens, %table : tensor<?xi32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %y, %s1 = moe.causal_conv1d %x, %w, %s0 : tensor<?x4xf32>, tensor<4x2xf32>, !state
    return %y, %s1 : tensor<?x4xf32>, !state
  }
  func.func @decode(%tokens: tensor<?xi32>, %position: index, %s0: !state) -> (tensor<?x4xf32>, !state) {
    %table = arith.constant dense<[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]>
      : tensor<4x4xf32>
    %w = arith.constant dense<[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]> : tensor<4x2xf32>
    %x = moe.embed %tokens, %table : tensor<?xi32>, tensor<4x4xf32> -> tensor<?x4xf32>
    %y, %s1 = moe.causal_conv1d %x, %w, %s0 : tensor<?x4xf32>, tensor<4x2xf32>, !state
    return %y, %s1 : tensor<?x4xf32>, !state
  }
  func.func @head(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %w = arith.constant dense<[[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]>
      : tensor<4x4xf32>
    %y = moe.linear %x, %w : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}
