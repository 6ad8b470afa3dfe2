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
