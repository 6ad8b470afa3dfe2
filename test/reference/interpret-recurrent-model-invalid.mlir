// SPDX-License-Identifier: Apache-2.0
// A model whose memory cannot be made is refused, with the argument at fault.
// RUN: not %moe-interpret %s --ids 1 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: sed 's/!moe.state<shape = .2., elem = f16>/index/' %s > %t.mlir
// RUN: not %moe-interpret %t.mlir --ids 1 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not %moe-interpret %s --entry @prefill 2>&1 | FileCheck %s --check-prefix=ENTRY

// HALF: argument 2 of @prefill expects a state of f32 elements
// INDEX: argument 2 of @prefill expects a cache or a state, but got index
// ENTRY: @prefill expects 3 arguments, but got 0
!memory = !moe.state<shape = [2], elem = f16>
func.func @prefill(%tokens: tensor<?xi32>, %position: index, %s0: !memory) {
  return
}
func.func @decode() {
  return
}
func.func @head() {
  return
}
