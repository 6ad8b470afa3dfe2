// SPDX-License-Identifier: Apache-2.0
/// \file
/// Operations of the `moe` dialect as imported (level L1). Their fused forms are in MoeFusedOps.td.
/// Main source: docs/architecture.md; semantics are executable in lib/Reference.
#ifndef DIALECTS_MOE_MOEOPS_TD
#define DIALECTS_MOE_MOEOPS_TD

include "dialects/moe/MoeAttributes.td"
include "dialects/moe/MoeTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Moe_Op<string mnemonic, list<Trait> traits = []> : Op<Moe_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

/// Activations: rank 2, one row a token, f32, encoded (`#moe.act`) or not.
def Moe_Activation : TensorRankOf<[F32], [2]>;
/// Matrices and vectors of weights, or one matrix for each expert.
def Moe_WeightTensor : TensorRankOf<[F32], [1, 2, 3]>;
def Moe_Ids : TensorRankOf<[I32], [1, 2]>;

def Moe_WeightOp : Moe_Op<"weight", [Symbol]> {
  let summary = "declares a weight and where its bytes lie";
  let description = [{
    One logical parameter of the model: a matrix [out, in], a vector [n], or a matrix for each expert [E, out, in]. No
    payload is in the IR. `role` drives the precision policy, `layer` is -1 outside layers. After the plan stage
    `placement` says where it is in the pack.

    - (C1) the type is a ranked f32 tensor of static shape, rank 1 to 3
    - (C2) the number of the source's pieces divides the first axis: each holds as many of its indices, in order
    - (C3) the group of a `#moe.q` encoding divides the last dimension
    - (C4) with the recipe `verbatim` the encoding is the one that holds the codes of the source's type

    Example:
    ```mlir
    moe.weight @layers.0.k : tensor<64x256xf32> role(attention_k) layer(0)
      source(<dtype = "bf16", files = [0], offsets = [4096]>)
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, Moe_RoleAttr:$role, DefaultValuedAttr<I64Attr, "-1">:$layer, Moe_SourceAttr:$source, OptionalAttr<Moe_RecipeAttr>:$recipe, OptionalAttr<AnyAttr>:$placement);
  let assemblyFormat = [{
    $sym_name `:` $type `role` `(` $role `)` (`layer` `(` $layer^ `)`)? `source` `(` $source `)`
    (`recipe` `(` $recipe^ `)`)? (`placement` `(` $placement^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
    /// What the checkpoint calls piece `piece` of the weight, or the symbol and the piece's number: for messages.
    std::string getLabel(int64_t piece = -1);
    /// The checkpoint's tensor that holds piece `piece` of the source.
    std::string getTensorName(int64_t piece);
    /// The encoding, or null for f32.
    ::mlir::moe::QuantAttr getQuant();
    /// Whether the codes and scales of the source are stored as they are.
    bool isVerbatim();
  }];
}

def Moe_ParamOp : Moe_Op<"param", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a weight";
  let description = [{
    Makes the weight `@weight` usable as a tensor.

    - (C1) `@weight` names a `moe.weight` of the module
    - (C2) the result type equals the weight's type

    Example: `%w = moe.param @layers.0.k : tensor<64x256xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Moe_WeightTensor:$value);
  let assemblyFormat = "$weight attr-dict `:` type($value)";
  let hasVerifier = 0;
}

def Moe_EmbedOp : Moe_Op<"embed", [Pure]> {
  let summary = "looks up a row for each token";
  let description = [{
    y[t, :] = table[tokens[t], :]. Shapes: tokens [T], table [V, H], y [T, H].

    - (C1) y has one row a token and as many columns as the table

    Example: `%x = moe.embed %tokens, %w : tensor<?xi32>, tensor<2048x256xf32> -> tensor<?x256xf32>`
  }];
  let arguments = (ins TensorRankOf<[I32], [1]>:$tokens, TensorRankOf<[F32], [2]>:$table);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$tokens `,` $table attr-dict `:` type($tokens) `,` type($table) `->` type($y)";
}

def Moe_LinearOp : Moe_Op<"linear", [Pure, AttrSizedOperandSegments]> {
  let summary = "matrix product with a weight";
  let description = [{
    y = x Wᵀ (+ bias) (+ residual). Shapes: x [T, K], W [N, K], bias [N], residual and y [T, N]. With an integer W, x is
    int8-encoded; per group of K in ascending order acc = fma(float(Σ code_w·code_x), scale_w·scale_x, acc), and with a
    minimum then acc = fma(minimum_w, float(Σ code_x)·scale_x, acc). With f32 or f16 W: acc = fma(w, x, acc), K ascending. The residual is added last.

    - (C1) x [T, K], W [N, K] and y [T, N] agree in K and N, x and y in T
    - (C2) W has integer codes if and only if x is encoded, with the same group
    - (C3) bias is [N], the residual has the type of y

    Example: `%y = moe.linear %x, %w : tensor<?x256xf32>, tensor<64x256xf32> -> tensor<?x64xf32>`
  }];
  let arguments = (ins Moe_Activation:$x, TensorRankOf<[F32], [2]>:$w, Optional<TensorRankOf<[F32], [1]>>:$bias, Optional<Moe_Activation>:$residual);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = [{
    $x `,` $w (`bias` `(` $bias^ `:` type($bias) `)`)? (`residual` `(` $residual^ `:` type($residual) `)`)? attr-dict
    `:` type($x) `,` type($w) `->` type($y)
  }];
}

def Moe_RmsNormOp : Moe_Op<"rms_norm", [Pure, AllTypesMatch<["x", "y"]>]> {
  let summary = "root-mean-square normalization";
  let description = [{
    For each block of G values of a row: y = (x · 1/√(mean(x²) + eps)) · w, where G is the length of w (a whole row, or a
    head). With `unit_offset` the factor is (1 + w). The sum of squares follows rule N2 (16 partial sums).
    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.

    - (C1) x and y have the same type
    - (C2) the length of w divides the columns of x
    - (C3) eps is positive and finite

    Example: `%y = moe.rms_norm %x, %w {eps = 1.0e-6 : f32} : tensor<?x256xf32>, tensor<256xf32>`
  }];
  let arguments = (ins Moe_Activation:$x, TensorRankOf<[F32], [1]>:$w, F32Attr:$eps, UnitAttr:$unit_offset);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$x `,` $w attr-dict `:` type($x) `,` type($w)";
  let extraClassDeclaration = "int64_t getBlock() { return getW().getType().getDimSize(0); }";
}

def Moe_RopeOp : Moe_Op<"rope", [Pure, AllTypesMatch<["x", "y"]>]> {
  let summary = "rotary position embedding";
  let description = [{
    Row t has the absolute position p = position + t. In each head of `head_dim` values the first `dim` are rotated in
    pairs by the angle p · theta^(-2i/dim): style half pairs i with i + dim/2, interleaved 2i with 2i + 1; `scaling`
    changes the frequencies (`#moe.rope_scaling`). The angle's cosine and sine come from tables made at compile time in double precision.
    Source: Su et al., "RoFormer", 2021.

    - (C1) x and y have the same type
    - (C2) head_dim divides the columns of x; dim is even and at most head_dim
    - (C3) theta is positive and finite

    Example:
    ```mlir
    %y = moe.rope %x, %position {head_dim = 32, dim = 32, theta = 1.0e4 : f64} : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Moe_Activation:$x, Index:$position, I64Attr:$head_dim, I64Attr:$dim, F64Attr:$theta, DefaultValuedAttr<Moe_RopeStyleAttr, "::mlir::moe::RopeStyle::half">:$style, OptionalAttr<Moe_RopeScalingAttr>:$scaling);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$x `,` $position attr-dict `:` type($x)";
}

def Moe_CacheAppendOp : Moe_Op<"cache_append", [Pure, AllTypesMatch<["cache", "updated"]>]> {
  let summary = "writes keys and values of new tokens into a cache";
  let description = [{
    The result holds what `cache` held, and k[t], v[t] at position + t. With `elem = i8` each (token, head) gets
    scale = max|x| / 127 and codes roundeven(x · (127 / max|x|)); f16 rounds to nearest even. `i4` transforms each key by
    normalized Hadamard matrices of the largest power of two that divides qk_dim, and gives each key and each group of 32
    columns of a value scale = f16(max|x| / 7), at most 65504, and codes roundeven(x · (1 / scale)) cut to -7 … 7.
    Source: Ashkboos et al., "QuaRot: Outlier-Free 4-Bit Inference in Rotated LLMs", arXiv:2404.00456.

    - (C1) k is [T, kv_heads · qk_dim] and v is [T, kv_heads · v_dim]
    - (C2) the cache value has one use: caches are linear

    Example:
    ```mlir
    %c1 = moe.cache_append %c0, %k, %v, %position
      : !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32>, tensor<?x64xf32>, tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Moe_CacheType:$cache, Moe_Activation:$k, Moe_Activation:$v, Index:$position);
  let results = (outs Moe_CacheType:$updated);
  let assemblyFormat = "$cache `,` $k `,` $v `,` $position attr-dict `:` qualified(type($cache)) `,` type($k) `,` type($v)";
}

def Moe_AttentionOp : Moe_Op<"attention", [Pure, AllTypesMatch<["cache", "updated"]>]> {
  let summary = "causal grouped-query attention over a cache";
  let description = [{
    The tokens' keys and values are already in the cache. Query head h attends with KV head h / (heads / kv_heads) to the
    positions 0 … position + t, or to those of them that the cache's window shows: o = softmax(scale · q kᵀ) v, in blocks
    of 64 positions with online softmax, in spans of 512 positions merged in ascending order (rule N6). With `i4` keys q
    is transformed like them. With `i8` and `i4` both products are sums of integers (rule N5): q has codes -127 … 127
    by its largest magnitude, for each head; in each block the softmax weights times the scales of their values have
    codes 0 … 127 by the largest of them. The cache is passed on because it is linear.
    Source: Ainslie et al., "GQA", 2023; Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.

    - (C1) kv_heads divides heads; q is [T, heads · qk_dim] and o is [T, heads · v_dim]
    - (C2) scale is positive and finite
    - (C3) the cache value has one use: caches are linear

    Example:
    ```mlir
    %o, %c2 = moe.attention %q, %c1, %position {heads = 8, scale = 0.176776695 : f32}
      : tensor<?x256xf32>, !moe.cache<kv_heads = 2, qk_dim = 32, v_dim = 32, capacity = 1024, elem = f32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Moe_Activation:$q, Moe_CacheType:$cache, Index:$position, I64Attr:$heads, F32Attr:$scale);
  let results = (outs Moe_Activation:$o, Moe_CacheType:$updated);
  let assemblyFormat = "$q `,` $cache `,` $position attr-dict `:` type($q) `,` qualified(type($cache)) `->` type($o)";
}

def Moe_RouteOp : Moe_Op<"route", [Pure]> {
  let summary = "selects the experts of each token";
  let description = [{
    s = score(logits); the k largest entries of s are chosen, ties to the lowest index, in descending order (the rank).
    With `renormalize` the weights are s / (Σ over the chosen + renorm_eps), then multiplied by `factor`.
    Shapes: logits [T, E]; weights f32 [T, k]; ids i32 [T, k].

    - (C1) weights and ids are [T, k]
    - (C2) 1 <= k <= E

    Example:
    ```mlir
    %w, %ids = moe.route %logits {k = 4, score = #moe.score<softmax>, renormalize}
      : tensor<?x16xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
    ```
  }];
  let arguments = (ins Moe_Activation:$logits, I64Attr:$k, Moe_ScoreAttr:$score, UnitAttr:$renormalize, DefaultValuedAttr<F32Attr, "0.0f">:$renorm_eps, DefaultValuedAttr<F32Attr, "1.0f">:$factor);
  let results = (outs Moe_Activation:$weights, TensorRankOf<[I32], [2]>:$ids);
  let assemblyFormat = "$logits attr-dict `:` type($logits) `->` type($weights) `,` type($ids)";
}

def Moe_ExpertsOp : Moe_Op<"experts", [Pure, AttrSizedOperandSegments]> {
  let summary = "routed feed-forward network";
  let description = [{
    y[t] = (residual[t] +) Σ_j weights[t, j] · down_e( act(gate_e x[t]) ⊙ up_e x[t] ), e = ids[t, j], summed in rank order
    by fma (rule N7). Shapes: x [T, H]; weights, ids [T, k]; gate, up [E, I, H]; down [E, H, I]; y [T, H]. A matrix
    with integer codes reads an int8-encoded activation: gate reads x, up reads `x_up` where it is given (the same values
    in another form, because the precision of up differs) and else x, down reads the hidden activation, quantized in its
    groups.

    - (C1) gate and up are [E, I, H], down is [E, H, I], x and y are [T, H]
    - (C2) weights and ids are [T, k], k <= E
    - (C3) the codes of gate are integers if and only if x is encoded, with the same group; likewise up and `x_up`, or
      up and x; `x_up` has the shape of x and another encoding
    - (C4) the residual has the type of y

    Example:
    ```mlir
    %y = moe.experts %x, %w, %ids, %gate, %up, %down {glu = #moe.glu<swiglu>}
      : tensor<?x256xf32>, tensor<?x4xf32>, tensor<?x4xi32>, tensor<16x128x256xf32>, tensor<16x128x256xf32>,
        tensor<16x256x128xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Moe_Activation:$x, Moe_Activation:$weights, TensorRankOf<[I32], [2]>:$ids, TensorRankOf<[F32], [3]>:$gate, TensorRankOf<[F32], [3]>:$up, TensorRankOf<[F32], [3]>:$down, Optional<Moe_Activation>:$x_up, Optional<Moe_Activation>:$residual, Moe_GluKindAttr:$glu);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = [{
    $x `,` $weights `,` $ids `,` $gate `,` $up `,` $down (`x_up` `(` $x_up^ `:` type($x_up) `)`)?
    (`residual` `(` $residual^ `:` type($residual) `)`)? attr-dict
    `:` type($x) `,` type($weights) `,` type($ids) `,` type($gate) `,` type($up) `,` type($down) `->` type($y)
  }];
}

#endif
