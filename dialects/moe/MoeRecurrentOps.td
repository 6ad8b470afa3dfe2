// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations of gated and recurrent layers: pointwise gates, and the parts of Gated DeltaNet. Their composition is
/// `moe.delta_step`. Main source: docs/architecture.md; semantics are executable in lib/Reference.
#ifndef DIALECTS_MOE_MOERECURRENTOPS_TD
#define DIALECTS_MOE_MOERECURRENTOPS_TD

include "dialects/moe/MoeOps.td"

//===-- Gates -----------------------------------------------------------------------------------------------------===//

def Moe_ActivationOp : Moe_Op<"activation", [Pure, AllTypesMatch<["x", "y"]>]> {
  let summary = "a function of each value";
  let description = [{
    y = σ(x) = 1 / (1 + exp(-x)) for `sigmoid`, x / (1 + exp(-x)) for `silu`.

    - (C1) x has no encoding

    Example: `%y = moe.activation %x {kind = #moe.activation<sigmoid>} : tensor<?x32xf32>`
  }];
  let arguments = (ins Moe_Activation:$x, Moe_ActivationAttr:$kind);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Moe_GluOp : Moe_Op<"glu", [Pure, AllTypesMatch<["gate", "up", "y"]>]> {
  let summary = "gated linear unit of a dense feed-forward network";
  let description = [{
    y = act(gate) ⊙ up, as inside `moe.experts`. Source: Shazeer, "GLU Variants Improve Transformer", 2020.

    - (C1) gate has no encoding

    Example: `%y = moe.glu %g, %u {glu = #moe.glu<swiglu>} : tensor<?x512xf32>`
  }];
  let arguments = (ins Moe_Activation:$gate, Moe_Activation:$up, Moe_GluKindAttr:$glu);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$gate `,` $up attr-dict `:` type($gate)";
}

def Moe_GateOp : Moe_Op<"gate", [Pure, AllTypesMatch<["x", "y"]>]> {
  let summary = "scales values by a gate";
  let description = [{
    y = x ⊙ act(g) (+ residual), with a gate for each value (output gate of attention) or one for each token (gate of a
    shared expert). The residual is added last.

    - (C1) x and g have no encoding; g is [T, N] as x, or [T, 1]
    - (C2) the residual has the type of y

    Example: `%y = moe.gate %x, %g {kind = #moe.activation<sigmoid>} : tensor<?x256xf32>, tensor<?x1xf32>`
  }];
  let arguments = (ins Moe_Activation:$x, Moe_Activation:$g, Optional<Moe_Activation>:$residual, Moe_ActivationAttr:$kind);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$x `,` $g (`residual` `(` $residual^ `:` type($residual) `)`)? attr-dict `:` type($x) `,` type($g)";
}

//===-- Gated DeltaNet --------------------------------------------------------------------------------------------===//

def Moe_CausalConv1dOp : Moe_Op<"causal_conv1d", [Pure, AllTypesMatch<["x", "y"]>, AllTypesMatch<["state", "updated"]>]> {
  let summary = "depthwise convolution over the tokens so far";
  let description = [{
    y[t, c] = act( Σ_j w[c, j] · x[t - K + 1 + j, c] ), j = 0 … K - 1 ascending by fma from 0; rows before the chunk come
    from the state [K - 1, C], which holds the last K - 1 rows (zeros before the first token). `updated` holds those at
    the chunk's end. Without `kind` there is no activation.

    - (C1) x is [T, C] without encoding, w is [C, K] in f32 or f16, K >= 2
    - (C2) the state is [K - 1, C] of f32
    - (C3) the state value has one use: states are linear

    Example:
    ```mlir
    %y, %s1 = moe.causal_conv1d %x, %w, %s0 {kind = #moe.activation<silu>}
      : tensor<?x64xf32>, tensor<64x4xf32>, !moe.state<shape = [3, 64], elem = f32>
    ```
  }];
  let arguments = (ins Moe_Activation:$x, TensorRankOf<[F32], [2]>:$w, Moe_StateType:$state, OptionalAttr<Moe_ActivationAttr>:$kind);
  let results = (outs Moe_Activation:$y, Moe_StateType:$updated);
  let assemblyFormat = "$x `,` $w `,` $state attr-dict `:` type($x) `,` type($w) `,` qualified(type($state))";
}

def Moe_L2NormOp : Moe_Op<"l2_norm", [Pure, AllTypesMatch<["x", "y"]>]> {
  let summary = "scales blocks to length 1";
  let description = [{
    For each block of `block` values of a row: y = x · 1/√(Σ x² + eps). The sum of squares follows rule N2.

    - (C1) x has no encoding; block divides its columns
    - (C2) eps is positive and finite

    Example: `%y = moe.l2_norm %x {block = 16, eps = 1.0e-6 : f32} : tensor<?x64xf32>`
  }];
  let arguments = (ins Moe_Activation:$x, I64Attr:$block, F32Attr:$eps);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Moe_DecayOp : Moe_Op<"decay", [Pure, AllTypesMatch<["a", "g"]>]> {
  let summary = "logarithm of the decay of a delta rule";
  let description = [{
    g = -exp(A_log[h]) · softplus(a + dt_bias), h = column / (columns / length of A_log); softplus(x) = log(1 + eˣ), and x
    for x > 20 (in f32 no case of its own: max(x, 0) + log(1 + e^-|x|) is x there). One column a head (scalar decay), or qk_dim columns a head (decay per channel).
    Source: Yang et al., "Gated Delta Networks", arXiv:2412.06464; Kimi Linear, arXiv:2510.26692 (per channel).

    - (C1) a has no encoding; the length of A_log divides its columns
    - (C2) dt_bias has as many values as a has columns

    Example: `%g = moe.decay %a, %log, %bias : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>`
  }];
  let arguments = (ins Moe_Activation:$a, TensorRankOf<[F32], [1]>:$a_log, TensorRankOf<[F32], [1]>:$dt_bias);
  let results = (outs Moe_Activation:$g);
  let assemblyFormat = "$a `,` $a_log `,` $dt_bias attr-dict `:` type($a) `,` type($a_log) `,` type($dt_bias)";
}

def Moe_DeltaRuleOp : Moe_Op<"delta_rule", [Pure, AllTypesMatch<["q", "k"]>, AllTypesMatch<["v", "o"]>, AllTypesMatch<["state", "updated"]>]> {
  let summary = "gated delta rule: a memory of keys and values that each token changes";
  let description = [{
    For each token, and each value head h with the key head κ(h) and the state S [Dk, Dv] (rows along the keys):
    S ← exp(g) S; δ = beta (v - Sᵀk); S ← S + k δᵀ; o = Sᵀ (scale · q). κ(h) = h / (Hv / Hk) for `grouped`, h mod Hk for
    `tiled`. g has a column for each value head, or Dk columns for each (decay of each row of S). Sizes: the state is
    [Hv, Dk, Dv]; q, k [T, Hk · Dk]; v, o [T, Hv · Dv]; beta [T, Hv].

    In f32, for each column j with d ascending: S[d, j] = S[d, j] · exp(g), r = fma(S[d, j], k[d], r) from 0;
    δ = beta · (v[j] - r); S[d, j] = fma(k[d], δ, S[d, j]), o[j] = fma(S[d, j], q[d] · scale, o[j]) from 0.
    Source: Yang et al., "Gated Delta Networks: Improving Mamba2 with Delta Rule", arXiv:2412.06464.

    - (C1) no operand has an encoding, all have T rows; the state is [Hv, Dk, Dv] of f32; v has Hv · Dv columns; q and k have Hk · Dk, where Hk divides Hv
    - (C2) beta has Hv columns, g has Hv or Hv · Dk
    - (C3) scale is positive and finite
    - (C4) the state value has one use: states are linear

    Example:
    ```mlir
    %o, %s1 = moe.delta_rule %q, %k, %v, %g, %beta, %s0 {scale = 0.25 : f32}
      : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>, !moe.state<shape = [4, 16, 16], elem = f32>
    ```
  }];
  let arguments = (ins Moe_Activation:$q, Moe_Activation:$k, Moe_Activation:$v, Moe_Activation:$g, Moe_Activation:$beta, Moe_StateType:$state, F32Attr:$scale, DefaultValuedAttr<Moe_HeadMapAttr, "::mlir::moe::HeadMap::grouped">:$head_map);
  let results = (outs Moe_Activation:$o, Moe_StateType:$updated);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $g `,` $beta `,` $state attr-dict
    `:` type($q) `,` type($v) `,` type($g) `,` type($beta) `,` qualified(type($state))
  }];
}

def Moe_GatedNormOp : Moe_Op<"gated_norm", [Pure, AllTypesMatch<["x", "z", "y"]>]> {
  let summary = "rms_norm of each head, scaled by a gate";
  let description = [{
    y = (rms_norm(x; w)) ⊙ act(z), blocks as in `moe.rms_norm` without offset.

    - (C1) x has no encoding; the length of w divides its columns
    - (C2) eps is positive and finite

    Example:
    ```mlir
    %y = moe.gated_norm %x, %z, %w {eps = 1.0e-6 : f32, kind = #moe.activation<silu>} : tensor<?x64xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins Moe_Activation:$x, Moe_Activation:$z, TensorRankOf<[F32], [1]>:$w, F32Attr:$eps, Moe_ActivationAttr:$kind);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$x `,` $z `,` $w attr-dict `:` type($x) `,` type($w)";
  let extraClassDeclaration = "int64_t getBlock() { return getW().getType().getDimSize(0); }";
}

def Moe_DeltaStepOp : Moe_Op<"delta_step", [Pure, AllTypesMatch<["q", "k"]>, AllTypesMatch<["v", "z", "y"]>, AllTypesMatch<["q_state", "q_updated"]>,
    AllTypesMatch<["k_state", "k_updated"]>, AllTypesMatch<["v_state", "v_updated"]>, AllTypesMatch<["state", "updated"]>]> {
  let summary = "everything between the projections of a Gated DeltaNet layer, in one step";
  let description = [{
    c_i = causal_conv1d(i; i_conv, i_state) with silu for i = q, k, v; o = delta_rule(l2_norm(c_q), l2_norm(c_k), c_v,
    decay(a; a_log, dt_bias), sigmoid(b)), y = gated_norm(o, z; w). One token is one task region on the device.

    - (C1) no operand has an encoding, all have T rows; each i and i_conv fits its i_state as in `moe.causal_conv1d`;
      the three have one K
    - (C2) q, k, v and the state agree as in `moe.delta_rule`; b has Hv columns, a has Hv or Hv · Dk
    - (C3) a_log and dt_bias fit a as in `moe.decay`; w is [Dv]
    - (C4) eps, l2_eps and scale are positive and finite
    - (C5) the state values have one use: states are linear

    Example:
    ```mlir
    %y, %q1, %k1, %v1, %s1 = moe.delta_step %q, %k, %v, %z, %a, %b conv(%wq, %wk, %wv) decay(%log, %bias) norm(%w)
      states(%q0, %k0, %v0, %s0) {eps = 1.0e-6 : f32, l2_eps = 1.0e-6 : f32, scale = 0.25 : f32, kind = #moe.activation<silu>}
      : tensor<?x32xf32>, tensor<?x64xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
        tensor<32x4xf32>, tensor<32x4xf32>, tensor<64x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<16xf32>,
        !moe.state<shape = [3, 32], elem = f32>, !moe.state<shape = [3, 32], elem = f32>,
        !moe.state<shape = [3, 64], elem = f32>, !moe.state<shape = [4, 16, 16], elem = f32>
    ```
  }];
  let arguments = (ins Moe_Activation:$q, Moe_Activation:$k, Moe_Activation:$v, Moe_Activation:$z, Moe_Activation:$a,
    Moe_Activation:$b, TensorRankOf<[F32], [2]>:$q_conv, TensorRankOf<[F32], [2]>:$k_conv,
    TensorRankOf<[F32], [2]>:$v_conv, TensorRankOf<[F32], [1]>:$a_log, TensorRankOf<[F32], [1]>:$dt_bias,
    TensorRankOf<[F32], [1]>:$w, Moe_StateType:$q_state, Moe_StateType:$k_state, Moe_StateType:$v_state,
    Moe_StateType:$state, F32Attr:$eps, F32Attr:$l2_eps, F32Attr:$scale, Moe_ActivationAttr:$kind,
    DefaultValuedAttr<Moe_HeadMapAttr, "::mlir::moe::HeadMap::grouped">:$head_map);
  let results = (outs Moe_Activation:$y, Moe_StateType:$q_updated, Moe_StateType:$k_updated, Moe_StateType:$v_updated,
    Moe_StateType:$updated);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $z `,` $a `,` $b `conv` `(` $q_conv `,` $k_conv `,` $v_conv `)`
    `decay` `(` $a_log `,` $dt_bias `)` `norm` `(` $w `)` `states` `(` $q_state `,` $k_state `,` $v_state `,` $state `)`
    attr-dict `:` type($q) `,` type($v) `,` type($a) `,` type($b) `,`
    type($q_conv) `,` type($k_conv) `,` type($v_conv) `,` type($a_log) `,` type($dt_bias) `,` type($w) `,`
    qualified(type($q_state)) `,` qualified(type($k_state)) `,` qualified(type($v_state)) `,` qualified(type($state))
  }];
}

#endif
