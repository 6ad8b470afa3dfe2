// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attributes and enumerations of the `moe` dialect: encodings, sources and roles of weights, router scores.
/// Main source: docs/architecture.md.
#ifndef DIALECTS_MOE_MOEATTRIBUTES_TD
#define DIALECTS_MOE_MOEATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "dialects/moe/MoeDialect.td"

class Moe_Enum<string enumName, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<enumName, text, cases> {
  let cppNamespace = "::mlir::moe";
  let genSpecializedAttr = 0;
}

class Moe_Attr<string cppName, string attrMnemonic> : AttrDef<Moe_Dialect, cppName> {
  let mnemonic = attrMnemonic;
}

def Moe_Scheme : Moe_Enum<"Scheme", "how one value of a weight is stored", [
  I32EnumAttrCase<"f16", 0>, I32EnumAttrCase<"i8", 1>, I32EnumAttrCase<"i6", 2>, I32EnumAttrCase<"i4", 3>,
  I32EnumAttrCase<"e4m3", 4>, I32EnumAttrCase<"e2m1", 5>, I32EnumAttrCase<"iq4nl", 6>]>;

def Moe_QuantAttr : Moe_Attr<"Quant", "q"> {
  let summary = "encoding of a quantized weight";
  let description = [{
    Says how a weight is stored: `scheme` for one value, `group` values along the last axis that share a scale (0: no
    scale, `f16` only), and whether each group has a `minimum` beside its scale (`i8` and `i4` only), so that value =
    scale * code + minimum. The tensor type stays `f32`: values are real, the encoding says how they are kept. Products
    with integer schemes take activations encoded as `#moe.act`, products with `f16` take plain ones.

    Example: `tensor<512x256xf32, #moe.q<scheme = i4, group = 32>>`
  }];
  let parameters = (ins EnumParameter<Moe_Scheme>:$scheme, "int64_t":$group, DefaultValuedParameter<"bool", "false">:$minimum);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether products take int8 activations.
    bool isInteger() const;
  }];
}

def Moe_ActAttr : Moe_Attr<"Act", "act"> {
  let summary = "encoding of an activation quantized to int8 on the fly";
  let description = [{
    Each token's values are int8 codes with one f32 scale, and the int32 sum of the codes, per `group` of the last axis:
    scale = max|x| / 127, code = roundeven(x * (127 / max|x|)); a group with max|x| < 1e-30 is all zero.

    Example: `tensor<?x256xf32, #moe.act<group = 32>>`
  }];
  let parameters = (ins "int64_t":$group);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Moe_SourceAttr : Moe_Attr<"Source", "source"> {
  let summary = "where the bytes of a weight lie";
  let description = [{
    The weight's values in pieces, each of which holds as many indices of the first axis, in order. Piece i starts at
    byte `offsets[i]` of file `files[i]`, an index into the module attribute `moe.files`, and is dense row-major
    `dtype`: f32, f16, bf16, or a block type of gguf files: q8_0, q4_0, q4_1, q6_k (docs/gguf.md).
    `name` is what the checkpoint calls the tensor, with `{}` for the number of a matrix; behind a colon stands which
    part of the tensor it is, such as `q_proj.weight:gate`. Messages and precision rules use it.

    An entry of `moe.files` is `{path, size, hash}`. With a `kind` beside them no such file exists: `"random:SEED"` says
    that the values are a function of the seed, the tensor's name and their index (docs/synthetic-models.md), and offsets
    count from the tensor's begin.

    Example: `#moe.source<dtype = "bf16", files = [0], offsets = [4096], name = "lm_head.weight">`
  }];
  let parameters = (ins "::mlir::StringAttr":$dtype, ArrayRefParameter<"int64_t">:$files, ArrayRefParameter<"int64_t">:$offsets, OptionalParameter<"::mlir::StringAttr">:$name);
  let assemblyFormat = "`<` `dtype` `=` $dtype `,` `files` `=` `[` $files `]` `,` `offsets` `=` `[` $offsets `]` (`,` `name` `=` $name^)? `>`";
  let genVerifyDecl = 1;
}

def Moe_RecipeAttr : Moe_Attr<"Recipe", "recipe"> {
  let summary = "how the stored values are derived from the source";
  let description = [{
    Makes quantization repeatable: the `method` by name, `round_to_nearest`, or `verbatim` for the codes and scales of a
    source of type q8_0, q4_0 or q4_1 (docs/gguf.md).

    Example: `#moe.recipe<method = "round_to_nearest">`
  }];
  let parameters = (ins "::mlir::StringAttr":$method);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Moe_Role : Moe_Enum<"Role", "what a weight is for; drives the precision policy", [
  I32EnumAttrCase<"embedding", 0>, I32EnumAttrCase<"head", 1>, I32EnumAttrCase<"norm", 2>,
  I32EnumAttrCase<"attention_q", 3>, I32EnumAttrCase<"attention_k", 4>, I32EnumAttrCase<"attention_v", 5>,
  I32EnumAttrCase<"attention_o", 6>, I32EnumAttrCase<"router", 7>, I32EnumAttrCase<"expert_gate", 8>,
  I32EnumAttrCase<"expert_up", 9>, I32EnumAttrCase<"expert_down", 10>, I32EnumAttrCase<"ffn_gate", 11>,
  I32EnumAttrCase<"ffn_up", 12>, I32EnumAttrCase<"ffn_down", 13>, I32EnumAttrCase<"shared_gate", 14>,
  I32EnumAttrCase<"shared_up", 15>, I32EnumAttrCase<"shared_down", 16>, I32EnumAttrCase<"recurrent", 17>,
  I32EnumAttrCase<"bias", 18>, I32EnumAttrCase<"attention_gate", 19>, I32EnumAttrCase<"delta_q", 20>,
  I32EnumAttrCase<"delta_k", 21>, I32EnumAttrCase<"delta_v", 22>, I32EnumAttrCase<"delta_gate", 23>,
  I32EnumAttrCase<"delta_out", 24>, I32EnumAttrCase<"shared_router", 25>,
  I32EnumAttrCase<"recurrent_decay", 26>, I32EnumAttrCase<"recurrent_beta", 27>, I32EnumAttrCase<"recurrent_conv", 28>]>;

def Moe_Score : Moe_Enum<"Score", "what a router makes of its logits before selecting", [
  I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"softmax", 1>, I32EnumAttrCase<"sigmoid", 2>]>;

def Moe_GluKind : Moe_Enum<"GluKind", "activation of a gated linear unit", [
  I32EnumAttrCase<"swiglu", 0>, I32EnumAttrCase<"geglu", 1>, I32EnumAttrCase<"reglu", 2>,
  I32EnumAttrCase<"swiglu_clamped", 3>]>;

def Moe_ActivationKind : Moe_Enum<"ActivationKind", "a function of each value", [
  I32EnumAttrCase<"silu", 0>, I32EnumAttrCase<"sigmoid", 1>]>;

def Moe_HeadMap : Moe_Enum<"HeadMap", "which key head a value head of a delta rule reads", [
  I32EnumAttrCase<"grouped", 0>, I32EnumAttrCase<"tiled", 1>]>;

def Moe_RopeScalingKind : Moe_Enum<"RopeScalingKind", "how a rotary embedding is stretched", [
  I32EnumAttrCase<"linear", 0>, I32EnumAttrCase<"llama3", 1>]>;

def Moe_RopeScalingAttr : Moe_Attr<"RopeScaling", "rope_scaling"> {
  let summary = "stretches a rotary embedding beyond the context that it was trained with";
  let description = [{
    Changes the frequencies f = theta^(-2i/dim). `linear`: f / factor. `llama3`: with the wavelength w = 2π / f, f stays
    where w < original / high, is f / factor where w > original / low, and between them is (1 - s) f / factor + s f with
    s = (original / w - low) / (high - low). Source: transformers, `modeling_rope_utils.py`.

    Example: `#moe.rope_scaling<kind = llama3, factor = 8.0 : f64, low = 1.0 : f64, high = 4.0 : f64, original = 8192>`
  }];
  let parameters = (ins EnumParameter<Moe_RopeScalingKind>:$kind, "::mlir::FloatAttr":$factor, OptionalParameter<"::mlir::FloatAttr">:$low, OptionalParameter<"::mlir::FloatAttr">:$high, DefaultValuedParameter<"int64_t", "0">:$original);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Moe_RopeStyle : Moe_Enum<"RopeStyle", "which elements a rotary embedding pairs", [
  I32EnumAttrCase<"half", 0>, I32EnumAttrCase<"interleaved", 1>]>;

def Moe_ScoreAttr : EnumAttr<Moe_Dialect, Moe_Score, "score"> { let assemblyFormat = "`<` $value `>`"; }
def Moe_RoleAttr : EnumAttr<Moe_Dialect, Moe_Role, "role">;
def Moe_GluKindAttr : EnumAttr<Moe_Dialect, Moe_GluKind, "glu"> { let assemblyFormat = "`<` $value `>`"; }
def Moe_ActivationAttr : EnumAttr<Moe_Dialect, Moe_ActivationKind, "activation"> { let assemblyFormat = "`<` $value `>`"; }
def Moe_HeadMapAttr : EnumAttr<Moe_Dialect, Moe_HeadMap, "head_map"> { let assemblyFormat = "`<` $value `>`"; }
def Moe_RopeStyleAttr : EnumAttr<Moe_Dialect, Moe_RopeStyle, "rope_style"> { let assemblyFormat = "`<` $value `>`"; }

#endif
