// SPDX-License-Identifier: Apache-2.0
// Each constraint of moe.experts has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.experts (C1)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<?x4xf32>, %i: tensor<?x4xi32>, %g: tensor<16x128x256xf32>, %u: tensor<16x128x256xf32>, %d: tensor<16x128x128xf32>) {
  // expected-error @+1 {{expects gate and up [E, I, H], down [E, H, I], x and y [T, H], but got}}
  %y = moe.experts %x, %w, %i, %g, %u, %d {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x4xf32>, tensor<?x4xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32>, tensor<16x128x128xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.experts (C2)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<?x3xf32>, %i: tensor<?x4xi32>, %g: tensor<16x128x256xf32>, %u: tensor<16x128x256xf32>, %d: tensor<16x256x128xf32>) {
  // expected-error @+1 {{expects weights and ids of 4 columns, one row a token, but got}}
  %y = moe.experts %x, %w, %i, %g, %u, %d {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x3xf32>, tensor<?x4xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32>, tensor<16x256x128xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.experts (C2): too many
func.func @f(%x: tensor<?x256xf32>, %w: tensor<?x17xf32>, %i: tensor<?x17xi32>, %g: tensor<16x128x256xf32>, %u: tensor<16x128x256xf32>, %d: tensor<16x256x128xf32>) {
  // expected-error @+1 {{expects 1 to 16 experts per token, but got 17}}
  %y = moe.experts %x, %w, %i, %g, %u, %d {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x17xf32>, tensor<?x17xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32>, tensor<16x256x128xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.experts (C3): up of another precision than gate, without an activation of its own
func.func @f(%x: tensor<?x256xf32>, %w: tensor<?x4xf32>, %i: tensor<?x4xi32>, %g: tensor<16x128x256xf32>, %u: tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>, %d: tensor<16x256x128xf32>) {
  // expected-error @+1 {{expects an encoded activation with integer weights and only then, but got}}
  %y = moe.experts %x, %w, %i, %g, %u, %d {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x4xf32>, tensor<?x4xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>, tensor<16x256x128xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.experts (C3): x_up in groups that up has not
func.func @f(%x: tensor<?x256xf32>, %xu: tensor<?x256xf32, #moe.act<group = 64>>, %w: tensor<?x4xf32>, %i: tensor<?x4xi32>, %g: tensor<16x128x256xf32>, %u: tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>, %d: tensor<16x256x128xf32>) {
  // expected-error @+1 {{expects activation groups of 32 as in the weight, but got 64}}
  %y = moe.experts %x, %w, %i, %g, %u, %d x_up(%xu : tensor<?x256xf32, #moe.act<group = 64>>) {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x4xf32>, tensor<?x4xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>, tensor<16x256x128xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.experts (C3): x_up in the form of x
func.func @f(%x: tensor<?x256xf32>, %w: tensor<?x4xf32>, %i: tensor<?x4xi32>, %g: tensor<16x128x256xf32>, %u: tensor<16x128x256xf32>, %d: tensor<16x256x128xf32>) {
  // expected-error @+1 {{expects x_up of the shape of x and in another encoding, but got}}
  %y = moe.experts %x, %w, %i, %g, %u, %d x_up(%x : tensor<?x256xf32>) {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x4xf32>, tensor<?x4xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32>, tensor<16x256x128xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.experts (C3): a plain activation
func.func @f(%x: tensor<?x256xf32>, %w: tensor<?x4xf32>, %i: tensor<?x4xi32>, %g: tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>, %u: tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>, %d: tensor<16x256x128xf32>) {
  // expected-error @+1 {{expects an encoded activation with integer weights and only then, but got}}
  %y = moe.experts %x, %w, %i, %g, %u, %d {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x4xf32>, tensor<?x4xi32>, tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>, tensor<16x128x256xf32, #moe.q<scheme = i4, group = 32>>, tensor<16x256x128xf32> -> tensor<?x256xf32>
  return
}

// -----

// moe.experts (C4)
func.func @f(%x: tensor<?x256xf32>, %w: tensor<?x4xf32>, %i: tensor<?x4xi32>, %g: tensor<16x128x256xf32>, %u: tensor<16x128x256xf32>, %d: tensor<16x256x128xf32>, %r: tensor<?x128xf32>) {
  // expected-error @+1 {{expects a residual of type}}
  %y = moe.experts %x, %w, %i, %g, %u, %d residual(%r : tensor<?x128xf32>) {glu = #moe.glu<swiglu>} : tensor<?x256xf32>, tensor<?x4xf32>, tensor<?x4xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32>, tensor<16x256x128xf32> -> tensor<?x256xf32>
  return
}
