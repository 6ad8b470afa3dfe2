// SPDX-License-Identifier: Apache-2.0
// Each constraint of the gates and of the norms of Gated DeltaNet has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.activation (C1)
func.func @f(%x: tensor<?x32xf32, #moe.act<group = 32>>) {
  // expected-error @+1 {{expects activations without encoding, but got 'tensor<?x32xf32, #moe.act<group = 32>>'}}
  %y = moe.activation %x {kind = #moe.activation<silu>} : tensor<?x32xf32, #moe.act<group = 32>>
  return
}

// -----

// moe.glu (C1)
func.func @f(%g: tensor<?x32xf32, #moe.act<group = 32>>) {
  // expected-error @+1 {{expects activations without encoding, but got}}
  %y = moe.glu %g, %g {glu = #moe.glu<swiglu>} : tensor<?x32xf32, #moe.act<group = 32>>
  return
}

// -----

// moe.gate (C1): encoding
func.func @f(%x: tensor<?x32xf32>, %g: tensor<?x32xf32, #moe.act<group = 32>>) {
  // expected-error @+1 {{expects activations without encoding, but got}}
  %y = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<?x32xf32>, tensor<?x32xf32, #moe.act<group = 32>>
  return
}

// -----

// moe.gate (C1): columns
func.func @f(%x: tensor<?x32xf32>, %g: tensor<?x2xf32>) {
  // expected-error @+1 {{expects a gate of the shape of 'tensor<?x32xf32>' or with one column, but got 'tensor<?x2xf32>'}}
  %y = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<?x32xf32>, tensor<?x2xf32>
  return
}

// -----

// moe.gate (C1): rows
func.func @f(%x: tensor<2x32xf32>, %g: tensor<3x1xf32>) {
  // expected-error @+1 {{expects as many rows as in 'tensor<2x32xf32>', but got 'tensor<3x1xf32>'}}
  %y = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<2x32xf32>, tensor<3x1xf32>
  return
}

// -----

// moe.gate (C2)
func.func @f(%x: tensor<?x32xf32>, %g: tensor<?x1xf32>, %r: tensor<?x16xf32>) {
  // expected-error @+1 {{expects a residual of type 'tensor<?x32xf32>', but got 'tensor<?x16xf32>'}}
  %y = moe.gate %x, %g residual(%r : tensor<?x16xf32>) {kind = #moe.activation<sigmoid>} : tensor<?x32xf32>, tensor<?x1xf32>
  return
}

// -----

// moe.l2_norm (C1): encoding
func.func @f(%x: tensor<?x32xf32, #moe.act<group = 32>>) {
  // expected-error @+1 {{expects activations without encoding, but got}}
  %y = moe.l2_norm %x {block = 16, eps = 1.0e-6 : f32} : tensor<?x32xf32, #moe.act<group = 32>>
  return
}

// -----

// moe.l2_norm (C1): block
func.func @f(%x: tensor<?x32xf32>) {
  // expected-error @+1 {{expects a block that divides the 32 columns, but got 12}}
  %y = moe.l2_norm %x {block = 12, eps = 1.0e-6 : f32} : tensor<?x32xf32>
  return
}

// -----

// moe.l2_norm (C2)
func.func @f(%x: tensor<?x32xf32>) {
  // expected-error @+1 {{expects a positive finite eps, but got}}
  %y = moe.l2_norm %x {block = 16, eps = 0.0 : f32} : tensor<?x32xf32>
  return
}

// -----

// moe.gated_norm (C1): encoding
func.func @f(%x: tensor<?x32xf32, #moe.act<group = 32>>, %w: tensor<16xf32>) {
  // expected-error @+1 {{expects activations without encoding, but got}}
  %y = moe.gated_norm %x, %x, %w {eps = 1.0e-6 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32, #moe.act<group = 32>>, tensor<16xf32>
  return
}

// -----

// moe.gated_norm (C1): block
func.func @f(%x: tensor<?x32xf32>, %w: tensor<12xf32>) {
  // expected-error @+1 {{expects a weight whose length divides the 32 columns, but got 12}}
  %y = moe.gated_norm %x, %x, %w {eps = 1.0e-6 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<12xf32>
  return
}

// -----

// moe.gated_norm (C2)
func.func @f(%x: tensor<?x32xf32>, %w: tensor<16xf32>) {
  // expected-error @+1 {{expects a positive finite eps, but got}}
  %y = moe.gated_norm %x, %x, %w {eps = -1.0 : f32, kind = #moe.activation<silu>} : tensor<?x32xf32>, tensor<16xf32>
  return
}
