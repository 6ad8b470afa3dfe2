// SPDX-License-Identifier: Apache-2.0
// A module without what a level needs is refused: attributes, entry points, operations that should be gone, by name.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-verify-level="level=L1"

// expected-error @+1 {{expects the module attribute 'moe.files', which the import step records}}
module {
}

// -----

// expected-error @+1 {{expects the entry point @prefill of a model}}
module attributes {moe.files = [], moe.model = {}, moe.tokenizer = "", moe.generation = {}, moe.target = {},
    moe.options = {}} {
}

// -----

module attributes {moe.files = [], moe.model = {}, moe.tokenizer = "", moe.generation = {}, moe.target = {},
    moe.options = {}} {
  func.func private @prefill()
  func.func private @decode()
  func.func private @head()
  func.func @fused(%x: tensor<?x256xf32>) -> tensor<?x256xf32, #moe.act<group = 32>> {
    // expected-error @+1 {{'moe.quantize_act' op should be gone at level L1}}
    %q = moe.quantize_act %x : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
    return %q : tensor<?x256xf32, #moe.act<group = 32>>
  }
}

// -----

module attributes {moe.files = [], moe.model = {}, moe.tokenizer = "", moe.generation = {}, moe.target = {},
    moe.options = {}} {
  func.func private @prefill()
  func.func private @decode()
  func.func private @head()
  func.func @parts_are_of_level_1(%x: tensor<?x4xf32>, %g: tensor<?x1xf32>) -> tensor<?x4xf32> {
    %y = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<?x4xf32>, tensor<?x1xf32>
    return %y : tensor<?x4xf32>
  }
  func.func @fused(%x: tensor<?x4xf32>, %a: tensor<?x1xf32>, %w: tensor<4x2xf32>, %one: tensor<1xf32>,
      %n: tensor<4xf32>, %q: !moe.state<shape = [1, 4], elem = f32>, %k: !moe.state<shape = [1, 4], elem = f32>,
      %v: !moe.state<shape = [1, 4], elem = f32>, %s: !moe.state<shape = [1, 4, 4], elem = f32>) -> tensor<?x4xf32> {
    // expected-error @+1 {{'moe.delta_step' op should be gone at level L1}}
    %y, %q1, %k1, %v1, %s1 = moe.delta_step %x, %x, %x, %x, %a, %a conv(%w, %w, %w) decay(%one, %one) norm(%n)
      states(%q, %k, %v, %s) {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.5 : f32, kind = #moe.activation<silu>}
      : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<4x2xf32>, tensor<4x2xf32>,
        tensor<4x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<4xf32>, !moe.state<shape = [1, 4], elem = f32>,
        !moe.state<shape = [1, 4], elem = f32>, !moe.state<shape = [1, 4], elem = f32>,
        !moe.state<shape = [1, 4, 4], elem = f32>
    return %y : tensor<?x4xf32>
  }
}
