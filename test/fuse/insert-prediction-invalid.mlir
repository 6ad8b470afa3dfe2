// SPDX-License-Identifier: Apache-2.0
// A place that is none is refused, from the option or from the module.
// RUN: not %moe-opt %s \
// RUN:   --pass-pipeline="builtin.module(func.func(moe-insert-prediction{points=soon}))" 2>&1 \
// RUN:   | FileCheck %s
// RUN: %moe-opt %s \
// RUN:   --pass-pipeline="builtin.module(func.func(moe-insert-prediction))" --verify-diagnostics

// CHECK: error: expects points of on, far, early, late or off, but got 'soon'
module attributes {moe.options = {predict = "later"}} {
  // expected-error @+1 {{expects points of on, far, early, late or off, but got 'later'}}
  func.func @decode() {
    return
  }
}
