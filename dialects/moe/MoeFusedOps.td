// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations that the quantize and fuse stages introduce (level L2). Each equals the composition it replaces.
/// Main source: docs/architecture.md; semantics are executable in lib/Reference.
#ifndef DIALECTS_MOE_MOEFUSEDOPS_TD
#define DIALECTS_MOE_MOEFUSEDOPS_TD

include "dialects/moe/MoeRecurrentOps.td"

def Moe_QuantizeActOp : Moe_Op<"quantize_act", [Pure]> {
  let summary = "quantizes activations to int8 per token and group";
  let description = [{
    y holds x as int8 codes with scales and sums (see `#moe.act`).

    - (C1) y has the shape of x and a `#moe.act` encoding; x has none

    Example: `%q = moe.quantize_act %x : tensor<?x256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>`
  }];
  let arguments = (ins Moe_Activation:$x);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

def Moe_NormQuantizeOp : Moe_Op<"norm_quantize", [Pure, AllTypesMatch<["x", "y"]>]> {
  let summary = "rms_norm over whole rows that also emits int8 activations";
  let description = [{
    y = rms_norm(x, w), q = quantize_act(y). y may be unused; then it is not stored. If q is unused, the canonical form is
    `moe.rms_norm`.

    - (C1) x and y have the same type; w has as many values as x has columns
    - (C2) q has the shape of x and a `#moe.act` encoding
    - (C3) eps is positive and finite

    Example:
    ```mlir
    %y, %q = moe.norm_quantize %x, %w {eps = 1.0e-6 : f32}
      : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32, #moe.act<group = 32>>
    ```
  }];
  let arguments = (ins Moe_Activation:$x, TensorRankOf<[F32], [1]>:$w, F32Attr:$eps, UnitAttr:$unit_offset);
  let results = (outs Moe_Activation:$y, Moe_Activation:$q);
  let hasCanonicalizeMethod = 1;
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($q)";
  let extraClassDeclaration = "int64_t getBlock() { return getW().getType().getDimSize(0); }";
}

def Moe_MultiLinearOp : Moe_Op<"multi_linear", [Pure, AttrSizedOperandSegments]> {
  let summary = "several matrix products of the same activation in one task region";
  let description = [{
    y_i = x W_iᵀ (+ bias_i), as `moe.linear` each (QKV; precision may differ by matrix). In canonical form every result is used; one
    that is left alone is a `moe.linear`.

    - (C1) there are as many results as weights, at least two
    - (C2) each x, W_i, y_i agrees as in `moe.linear` (C1) and (C2)
    - (C3) there is no bias, or one of [N_i] for each weight

    Example:
    ```mlir
    %q, %k = moe.multi_linear %x, %wq, %wk
      : tensor<?x256xf32>, tensor<256x256xf32>, tensor<64x256xf32> -> tensor<?x256xf32>, tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Moe_Activation:$x, Variadic<TensorRankOf<[F32], [2]>>:$weights, Variadic<TensorRankOf<[F32], [1]>>:$biases);
  let results = (outs Variadic<Moe_Activation>:$ys);
  let hasCanonicalizeMethod = 1;
  let assemblyFormat = "$x `,` $weights (`biases` `(` $biases^ `:` type($biases) `)`)? attr-dict `:` type($x) `,` type($weights) `->` type($ys)";
}

def Moe_RopeAppendOp : Moe_Op<"rope_append", [Pure, AttrSizedOperandSegments, AllTypesMatch<["q", "roped"]>, AllTypesMatch<["cache", "updated"]>]> {
  let summary = "head norms, rotary embedding and cache append in one step";
  let description = [{
    q' = rope(norm(q)), updated = cache_append(cache, rope(norm(k)), v), with the norms of `moe.rms_norm` per head where
    q_norm and k_norm are given.

    - (C1) q is [T, heads · qk_dim], k is [T, kv_heads · qk_dim], v is [T, kv_heads · v_dim], roped has the type of q
    - (C2) q_norm and k_norm are both given, of length qk_dim, or both absent
    - (C3) dim is even and at most qk_dim; theta is positive and finite
    - (C4) the cache value has one use: caches are linear

    Example:
    ```mlir
    %r, %c1 = moe.rope_append %q, %k, %v, %c0, %position norms(%qn, %kn : tensor<32xf32>, tensor<32xf32>)
      {dim = 32, theta = 1.0e4 : f64, eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<?x64xf32>, tensor<?x64xf32>,
      !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>
    ```
  }];
  let arguments = (ins Moe_Activation:$q, Moe_Activation:$k, Moe_Activation:$v, Moe_CacheType:$cache, Index:$position, Optional<TensorRankOf<[F32], [1]>>:$q_norm, Optional<TensorRankOf<[F32], [1]>>:$k_norm, I64Attr:$dim, F64Attr:$theta, DefaultValuedAttr<F32Attr, "1.0e-6f">:$eps, UnitAttr:$unit_offset, DefaultValuedAttr<Moe_RopeStyleAttr, "::mlir::moe::RopeStyle::half">:$style, OptionalAttr<Moe_RopeScalingAttr>:$scaling);
  let results = (outs Moe_Activation:$roped, Moe_CacheType:$updated);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $cache `,` $position (`norms` `(` $q_norm^ `,` $k_norm `:` type($q_norm) `,` type($k_norm) `)`)?
    attr-dict `:` type($q) `,` type($k) `,` type($v) `,` qualified(type($cache))
  }];
}

def Moe_RouterTopkOp : Moe_Op<"router_topk", [Pure]> {
  let summary = "router product, score and selection in one step";
  let description = [{
    (weights, ids) = route(linear(x, W)), attributes as in `moe.route`.

    - (C1) x is [T, H] without encoding, W is [E, H] in f32 or f16
    - (C2) weights and ids are [T, k], 1 <= k <= E

    Example:
    ```mlir
    %w, %ids = moe.router_topk %x, %router {k = 4, score = #moe.score<softmax>, renormalize}
      : tensor<?x256xf32>, tensor<16x256xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
    ```
  }];
  let arguments = (ins Moe_Activation:$x, TensorRankOf<[F32], [2]>:$w, I64Attr:$k, Moe_ScoreAttr:$score, UnitAttr:$renormalize, DefaultValuedAttr<F32Attr, "0.0f">:$renorm_eps, DefaultValuedAttr<F32Attr, "1.0f">:$factor);
  let results = (outs Moe_Activation:$weights, TensorRankOf<[I32], [2]>:$ids);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w) `->` type($weights) `,` type($ids)";
}

def Moe_PredictExpertsOp : Moe_Op<"predict_experts", [MemoryEffects<[MemWrite]>]> {
  let summary = "guesses which experts a later layer will need";
  let description = [{
    The guess is the k largest entries of linear(rms_norm(x, norm), W): norm and router of `layer`, applied to the residual
    sum x as it is before that layer has added its part. It is a hint to read those experts ahead; no value depends on it.
    Source: Eliseev and Mazur, "Fast Inference of Mixture-of-Experts Language Models with Offloading", arXiv:2312.17238.

    - (C1) x is [1, H] without encoding, norm has H values, W is [E, H] in f32 or f16
    - (C2) 1 <= k <= E
    - (C3) eps is positive and finite, the layer is from 0

    Example:
    ```mlir
    moe.predict_experts %x norm(%n) router(%w) {layer = 1, k = 4, eps = 1.0e-6 : f32}
      : tensor<1x256xf32>, tensor<256xf32>, tensor<16x256xf32>
    ```
  }];
  let arguments = (ins Moe_Activation:$x, TensorRankOf<[F32], [1]>:$norm, TensorRankOf<[F32], [2]>:$w, I64Attr:$layer, I64Attr:$k, F32Attr:$eps, UnitAttr:$unit_offset);
  let assemblyFormat = "$x `norm` `(` $norm `)` `router` `(` $w `)` attr-dict `:` type($x) `,` type($norm) `,` type($w)";
}

#endif
